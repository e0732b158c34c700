"""Takes the planned edits out of a rewritten function again: the old one is left.

By the standard library alone, so that an error of the editor cannot hide here too.
"""

from __future__ import annotations

import ast
import copy
import io
import tokenize
from collections.abc import Iterator, Sequence

from kvcodemod.facts.syntax.bodies import walk_own, without_docstring
from kvcodemod.facts.syntax.parsing import Function, dotted
from kvcodemod.rewrite.edits import (
    AddParameter,
    DelegateMove,
    Edit,
    ForwardFlag,
    PassFlag,
)
from kvcodemod.rewrite.texts import text_of

_LAYOUT = frozenset(
    {
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)


def same_but_for(old: Function, new: Function, edits: Sequence[Edit]) -> str:
    """Why `new` is not `old` with just these edits; empty where it is.

    One edit passes an argument in all calls of a callee.
    """
    new = copy.deepcopy(new)  # to be taken to pieces
    done: set[str] = set()
    for edit in edits:
        if isinstance(edit, DelegateMove):
            if not _delegates(old, new, text_of(edit)):
                return "its body is not what was planned"
            new.body = old.body
        elif isinstance(edit, AddParameter):
            if not _without_parameter(new, edit.name):
                return f"the parameter {edit.name} is missing"
        elif isinstance(edit, PassFlag | ForwardFlag):
            callee = edit.callee if isinstance(edit, PassFlag) else "super().__init__"
            if callee in done:
                continue
            done.add(callee)
            if not _without_argument(new, edit):
                return f"the argument {edit.name} is missing"
        elif not _without_end(new, text_of(edit)):
            return f"the statements of {edit.kind} are missing"
    return "" if ast.dump(old) == ast.dump(new) else "more than was planned is changed"


def _delegates(old: Function, new: Function, text: str) -> bool:
    """Whether the new body is the old docstring, if there was one, and `text`."""
    kept = len(old.body) - len(without_docstring(old.body))
    return _dumps(new.body) == _dumps([*old.body[:kept], *ast.parse(text).body])


def _without_parameter(new: Function, name: str) -> bool:
    spec = new.args
    for args, defaults in (
        (spec.args, spec.defaults),
        (spec.kwonlyargs, spec.kw_defaults),
    ):
        if args and args[-1].arg == name and defaults:
            default = defaults.pop()
            return (
                ast.unparse(args.pop()) == f"{name}: bool"
                and default is not None
                and ast.unparse(default) == "False"
            )
    return False


def _without_argument(new: Function, edit: PassFlag | ForwardFlag) -> bool:
    value = edit.value if isinstance(edit, PassFlag) else edit.name
    planned = ast.dump(ast.parse(value, mode="eval").body)
    for call in _calls(new, edit):
        given = [k for k in call.keywords if k.arg == edit.name]
        if len(given) != 1 or ast.dump(given[0].value) != planned:
            return False
        call.keywords.remove(given[0])
    return True


def _calls(new: Function, edit: PassFlag | ForwardFlag) -> Iterator[ast.Call]:
    for node in walk_own(new):
        if not isinstance(node, ast.Call):
            continue
        func = node.func
        if isinstance(edit, PassFlag):
            wanted = ast.unparse(func) == edit.callee
        else:
            wanted = (
                isinstance(func, ast.Attribute)
                and func.attr == "__init__"
                and isinstance(func.value, ast.Call)
                and dotted(func.value.func) == "super"
            )
        if wanted:
            yield node


def _without_end(new: Function, text: str) -> bool:
    planned = _dumps(ast.parse(text).body)
    found = _dumps(new.body[-len(planned) :])
    del new.body[-len(planned) :]
    return found == planned


def _dumps(body: Sequence[ast.stmt]) -> list[str]:
    return [ast.dump(statement) for statement in body]


def only_inserted(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether every token of the old lines, comments too, is still there, in order."""
    rest = iter(_tokens(new))
    return all(any(token == other for other in rest) for token in _tokens(old))


def comments(lines: Sequence[str]) -> list[str]:
    """The comments on some lines that hold whole statements."""
    return [token for token in _tokens(lines) if token.startswith("#")]


def _tokens(lines: Sequence[str]) -> Iterator[str]:
    text = "\n".join(lines) + "\n"
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            yield token.string
