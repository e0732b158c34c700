"""Conditions on options (`page_size == 1`, `enable_x`) and what contradicts what."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kvcodemod.facts.syntax.parsing import dotted

Op = Literal["truth", "==", "!=", "<", "<=", ">", ">="]
_OPS: dict[type[ast.cmpop], Op] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "==",
    ast.IsNot: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_NOT: dict[Op, Op] = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip


@dataclass(frozen=True, order=True)
class Option:
    """One condition on a named option."""

    name: str
    op: Op
    value: str

    def negated(self) -> Option:
        """The opposite condition."""
        if self.op == "truth":
            other = "False" if self.value == "True" else "True"
            return Option(self.name, "truth", other)
        return Option(self.name, _NOT[self.op], self.value)

    @property
    def text(self) -> str:
        """As a person would write it."""
        if self.op == "truth":
            return self.name if self.value == "True" else f"not {self.name}"
        return f"{self.name} {self.op} {self.value}"


TELLING = frozenset({ast.Assert, ast.If})
"""The statements behind which more may be known than before."""

Options = tuple[Option, ...]


def switched_on(options: Iterable[Option]) -> frozenset[str]:
    """The names of the options that are on: true, not None, or above a number."""
    return frozenset(
        option.name
        for option in options
        if (option.op, option.value) in (("truth", "True"), ("!=", "None"))
        or option.op == ">"
    )


def options_of(test: ast.expr) -> tuple[Options, Options]:
    """What a condition says about options where it is true, and where it is false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        true, false = options_of(test.operand)
        return false, true
    if isinstance(test, ast.BoolOp):
        pairs = [options_of(value) for value in test.values]
        if isinstance(test.op, ast.And):
            return tuple(o for true, _ in pairs for o in true), ()
        return (), tuple(o for _, false in pairs for o in false)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        name = _name(test.left)
        op = _OPS.get(type(test.ops[0]))
        right = test.comparators[0]
        if name and op and _plain(right):
            assert isinstance(right, ast.Constant)
            option = Option(name, op, repr(right.value))
            return (option,), (option.negated(),)
        return (), ()
    name = _name(test)
    if name:
        option = Option(name, "truth", "True")
        return (option,), (option.negated(),)
    return (), ()


def _name(node: ast.expr) -> str | None:
    """The option that an expression reads.

    A telling name (`page_size`) is the same option on every object; a plain one
    (`ndim`, `enabled`) belongs to its object.
    """
    if isinstance(node, ast.Call):
        if node.args or node.keywords:
            return None
        node = node.func
    name = dotted(node)
    if isinstance(node, ast.Attribute):
        return node.attr if "_" in node.attr.strip("_") else name
    return name if name and "_" in name.strip("_") else None


def constant(node: ast.expr) -> str | None:
    """A plain constant as it is compared, or None for any other expression."""
    if not _plain(node):
        return None
    assert isinstance(node, ast.Constant)
    return repr(node.value)


def _plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (
        node.value is None or type(node.value) in (bool, int, str)
    )


def passed(statement: ast.stmt) -> Options:
    """What is known about options once a statement has been passed."""
    if statement.__class__ not in TELLING:
        return ()
    if isinstance(statement, ast.Assert):
        return options_of(statement.test)[0]
    if isinstance(statement, ast.If):
        true, false = options_of(statement.test)
        if leaves(statement.body):
            return false
        if statement.orelse and leaves(statement.orelse):
            return true
    return ()


def check_of(statement: ast.stmt) -> tuple[ast.expr, bool] | None:
    """The test of an `assert` or an `if ...: raise`, and whether it is the latter."""
    if isinstance(statement, ast.Assert):
        return statement.test, False
    if isinstance(statement, ast.If) and any(
        isinstance(inner, ast.Raise) for inner in statement.body
    ):
        return statement.test, True
    return None


def located(
    body: Sequence[ast.stmt], options: Options = ()
) -> Iterator[tuple[ast.stmt, Options]]:
    """Every statement of a body, nested ones included, with what holds there."""
    for statement in body:
        yield statement, options
        if isinstance(statement, ast.If):
            true, false = options_of(statement.test)
            yield from located(statement.body, (*options, *true))
            yield from located(statement.orelse, (*options, *false))
        elif isinstance(statement, ast.Try):
            for handler in statement.handlers:
                yield from located(handler.body, options)
            for block in (statement.body, statement.orelse, statement.finalbody):
                yield from located(block, options)
        elif isinstance(statement, ast.For | ast.While | ast.AsyncFor):
            yield from located(statement.body, options)
            yield from located(statement.orelse, options)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            yield from located(statement.body, options)
        options = (*options, *passed(statement))


def leaves(block: list[ast.stmt]) -> bool:
    """Whether control never gets past a block."""
    return bool(block) and isinstance(
        block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break
    )


def contradict(some: Iterable[Option], others: Iterable[Option]) -> bool:
    """Whether no value of some option satisfies both sides."""
    mine: dict[str, list[Option]] = {}
    for option in some:
        mine.setdefault(option.name, []).append(option)
    theirs: dict[str, list[Option]] = {}
    for option in others:
        if option.name in mine:
            theirs.setdefault(option.name, []).append(option)
    return any(
        not _satisfiable([*mine[name], *options]) for name, options in theirs.items()
    )


def _satisfiable(options: list[Option]) -> bool:
    candidates: list[object] = [True, False, None, "\0other"]
    for option in options:
        if option.op != "truth":
            value = ast.literal_eval(option.value)
            candidates.append(value)
            if isinstance(value, int) and not isinstance(value, bool):
                candidates.extend((value - 1, value + 1))
    return any(all(_holds(o, c) for o in options) for c in candidates)


def _holds(option: Option, candidate: object) -> bool:
    if option.op == "truth":
        return bool(candidate) is (option.value == "True")
    value = ast.literal_eval(option.value)
    if option.op in ("==", "!="):
        same = candidate == value and isinstance(candidate, bool) == isinstance(
            value, bool
        )
        return same is (option.op == "==")
    if not isinstance(value, int | float) or not isinstance(candidate, int | float):
        return False
    if isinstance(candidate, bool):
        return False
    return {
        "<": candidate < value,
        "<=": candidate <= value,
        ">": candidate > value,
        ">=": candidate >= value,
    }[option.op]
