"""Checks of options for speculative decoding that keep a server from starting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kvcodemod.facts.conditions.options import (
    Options,
    check_of,
    options_of,
    switched_on,
)
from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.syntax.expressions import identifiers

_LONGEST = 100
"""Characters of a condition that are shown."""


@dataclass(frozen=True)
class Refused:
    """One refusal at start-up.

    Attributes:
        switches: options that are on where the check is made.
        allowed: for a check of the algorithm, the ones that get through; None where
            it is no such check.
        refused: the algorithms that it turns away by name.
        only: the algorithms for which the check is made; None where it is for all.
        trees: whether it turns tree drafts (top-k above one) away.
    """

    path: str
    line: int
    switches: frozenset[str]
    allowed: frozenset[str] | None
    refused: frozenset[str]
    only: frozenset[str] | None
    trees: bool
    text: str


def checks(program: Program, code: Code) -> Iterator[Refused]:
    """Every such check in a function, in order of place."""
    words = program.names.path_words
    for statement, options in program.located(code.node):
        check = check_of(statement)
        if check is None:
            continue
        test, raises = check
        if any(_speculative(name, words) for name in identifiers(test)):
            found = _check(code.path, statement.lineno, test, raises, options, words)
            if found is not None:
                yield found


def _check(
    path: str,
    line: int,
    test: ast.expr,
    raises: bool,
    options: Options,
    words: tuple[str, ...],
) -> Refused | None:
    allowed: frozenset[str] | None = None
    refused: frozenset[str] = frozenset()
    trees = False
    for part in _alternatives(test, raises):
        if not isinstance(part, ast.Compare) or len(part.ops) != 1:
            continue
        names = identifiers(part.left)
        if not any(_speculative(name, words) for name in names):
            continue
        # `==` lets through where it is asserted, `!=` where it raises
        lets = isinstance(part.ops[0], ast.Eq | ast.In | ast.Is) != raises
        values = _constants(part.comparators[0])
        if any("algorithm" in name for name in names):
            said = frozenset(v.lower() for v in values if isinstance(v, str))
            if lets:
                allowed = said if allowed is None else allowed & said
            elif values == {None}:
                allowed = frozenset()
            else:
                refused |= said
        elif any(name.endswith("topk") for name in names) and lets:
            trees |= 1 in values
    if allowed is None and not refused and not trees:
        return None
    text = ast.unparse(test)
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
    word = "refused if" if raises else "refused unless"
    on = switched_on((*options, *options_of(test)[0]) if raises else options)
    return Refused(
        path=path,
        line=line,
        switches=on,
        allowed=allowed,
        refused=refused,
        only=_only(options),
        trees=trees,
        text=f"{word} {short}",
    )


def _only(options: Options) -> frozenset[str] | None:
    """The algorithm that a check is made for, where it stands under such a test."""
    named = [
        str(ast.literal_eval(option.value)).lower()
        for option in options
        if option.op == "==" and "algorithm" in option.name and option.value != "None"
    ]
    return frozenset(named) if named else None


def _speculative(name: str, words: tuple[str, ...]) -> bool:
    return any(name == word or name.startswith(f"{word}_") for word in words)


def _alternatives(test: ast.expr, raises: bool) -> Iterator[ast.expr]:
    """The parts of a condition each of which refuses by itself."""
    wanted = ast.Or if raises else ast.And
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, wanted):
            for value in test.values:
                yield from _alternatives(value, raises)
        else:
            yield from test.values  # `spec and topk != 1`: the last one decides
    else:
        yield test


def _constants(node: ast.expr) -> set[object]:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {
        part.value if isinstance(part, ast.Constant) else part.attr  # Algorithm.EAGLE
        for part in parts
        if isinstance(part, ast.Constant | ast.Attribute)
    }
