"""How a method body ends: does it work, raise NotImplementedError, or do nothing?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Literal

from kvcodemod.facts.syntax.memo import kept
from kvcodemod.facts.syntax.parsing import Function

Verdict = Literal["ok", "raises", "raises-conditionally", "noop"]
_FALLS, _LEAVES, _REFUSES = "falls", "leaves", "refuses"


def without_docstring(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body after its docstring."""
    first = body[0] if body else None
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return list(body[1:])
    return list(body)


def verdict(node: Function) -> Verdict:
    """What a body does, in the words of the `matrix` contract.

    `raises`: the first statement is `raise NotImplementedError`, or every path ends
    in one. `raises-conditionally`: some path does. `noop`: nothing but a docstring,
    `pass` or `...`.
    """
    body = without_docstring(node.body)
    if all(_is_nothing(statement) for statement in body):
        return "noop"
    if is_refusal(body[0]) or _outcomes(body) == {_REFUSES}:
        return "raises"
    if any(True for _ in refusals(node)):
        return "raises-conditionally"
    return "ok"


def refusals(node: Function) -> Iterator[ast.Raise]:
    """The `raise NotImplementedError` of a body, nested functions left out."""
    for child in walk_own(node):
        if isinstance(child, ast.Raise) and is_refusal(child):
            yield child


_CLOSED = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda})
_NO_NODES = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "name", "lineno", "kind", "type_comment"}
    | {"module", "level", "simple", "is_async", "conversion", "rest", "asname", "tag"}
    | {"kwd_attrs"}
)


class _Fields(dict[type, tuple[str, ...]]):
    """Class of node -> its fields that can hold nodes of interest, last one first."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields: tuple[str, ...] = ()
        if kind not in (ast.Name, ast.Constant, ast.Global, ast.Nonlocal):
            every = getattr(kind, "_fields", ())
            fields = tuple(f for f in reversed(every) if f not in _NO_NODES)
        self[kind] = fields
        return fields


_FIELDS = _Fields()


@kept
def walk_own(function: Function) -> tuple[ast.AST, ...]:
    """Every node inside a function, without those of nested functions and classes.

    In source order, without contexts and operators.
    """
    # the innermost loop of the whole analysis: no call for a node
    found: list[ast.AST] = []
    todo: list[ast.AST] = [*reversed(function.body)]
    while todo:
        node = todo.pop()
        found.append(node)
        kind = node.__class__
        if kind in _CLOSED:
            continue
        for name in _FIELDS[kind]:
            value = getattr(node, name, None)
            if value.__class__ is list:
                if None in value:  # a key of `{**a}`, a default that is not there
                    value = [part for part in value if part is not None]
                todo += value[::-1]
            elif value is not None:
                todo.append(value)
    return tuple(found)


def children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node in source order, without contexts and operators."""
    found: list[ast.AST] = []
    for name in reversed(_FIELDS[node.__class__]):
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [part for part in value if part is not None]
        elif value is not None:
            found.append(value)
    return found


def walk_all(node: ast.AST) -> Iterator[ast.AST]:
    """A node and everything in it, in no particular order: a fast `ast.walk`."""
    todo = [node]
    while todo:
        part = todo.pop()
        yield part
        todo.extend(children(part))


def is_refusal(statement: ast.stmt) -> bool:
    """Whether a statement is `raise NotImplementedError[(...)]`."""
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = (
        statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    )
    name = raised.attr if isinstance(raised, ast.Attribute) else None
    if isinstance(raised, ast.Name):
        name = raised.id
    return name == "NotImplementedError"


def refusal_text(node: Function) -> str:
    """The literal words of the first refusal, or an empty string."""
    for statement in refusals(node):
        words = [
            part.value
            for part in ast.walk(statement)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        return "".join(words)
    return ""


def _is_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _outcomes(block: Sequence[ast.stmt]) -> set[str]:
    """How control can leave a block: falls through, leaves otherwise, or refuses."""
    result: set[str] = set()
    for statement in block:
        ends = _ends(statement)
        result |= ends - {_FALLS}
        if _FALLS not in ends:
            return result
    return result | {_FALLS}


def _ends(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Raise):
        return {_REFUSES if is_refusal(statement) else _LEAVES}
    if isinstance(statement, ast.Return | ast.Break | ast.Continue):
        return {_LEAVES}
    if isinstance(statement, ast.If):
        return _outcomes(statement.body) | _outcomes(statement.orelse)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return _outcomes(statement.body)
    if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
        return _outcomes(statement.body) | _outcomes(statement.orelse) | {_FALLS}
    if isinstance(statement, ast.Match):
        ends = {_FALLS}
        for case in statement.cases:
            ends |= _outcomes(case.body)
        return ends
    if isinstance(statement, ast.Try):
        ends = _outcomes(statement.body + statement.orelse)
        for handler in statement.handlers:
            ends |= _outcomes(handler.body)
        last = _outcomes(statement.finalbody)
        return ends if _FALLS in last else last
    return {_FALLS}
