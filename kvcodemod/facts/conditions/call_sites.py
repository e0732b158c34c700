"""The calls of one function, each with what is known where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kvcodemod.facts.conditions.guards import Guard
from kvcodemod.facts.conditions.options import (
    TELLING,
    Options,
    leaves,
    options_of,
    passed,
)
from kvcodemod.facts.conditions.receiver_tests import Conditions, Facts
from kvcodemod.facts.syntax.bodies import children
from kvcodemod.facts.syntax.parsing import dotted

_CATCHES = frozenset(
    {"NotImplementedError", "RuntimeError", "Exception", "BaseException"}
)
_CATCHES_MISSING = frozenset({"AttributeError", "Exception", "BaseException"})


_SIMPLE = frozenset({ast.Expr, ast.Assign, ast.AugAssign, ast.Return})


Tests = tuple[tuple[ast.expr, bool], ...]
"""Conditions in the order in which they are asked, with how each came out."""


@dataclass(frozen=True, eq=False)
class Site:
    """One call, what holds there, the handlers around it and the tests before it."""

    call: ast.Call
    facts: Facts
    options: Options
    handlers: tuple[Guard, ...]
    tests: Tests = ()


@dataclass(frozen=True)
class _Here:
    facts: Facts = ()
    options: Options = ()
    handlers: tuple[Guard, ...] = ()
    tests: Tests = ()

    def also(self, facts: Facts, options: Options, tests: Tests = ()) -> _Here:
        if not facts and not options and not tests:
            return self
        return _Here(
            (*self.facts, *facts),
            (*self.options, *options),
            self.handlers,
            (*self.tests, *tests),
        )


def call_sites(
    body: Sequence[ast.stmt], conditions: Conditions, path: str
) -> list[Site]:
    """Every call of a function body, nested functions included, in source order."""
    walk = _Walk(conditions, path)
    walk.block(body, _Here())
    return walk.found


def tests_before(body: Sequence[ast.stmt], name: str, line: int) -> Tests | None:
    """The tests before a name, or an attribute of it, on a line; None if not there."""
    walk = _Walk(Conditions("", str, {}), "", name)
    walk.block(body, _Here())
    return next((tests for node, tests in walk.named if node.lineno == line), None)


def tests_of_values(body: Sequence[ast.stmt]) -> dict[int, Tests]:
    """For each assigned or returned expression, by identity: the tests before it."""
    walk = _Walk(Conditions("", str, {}), "")
    walk.block(body, _Here())
    return walk.values


class _Walk:
    def __init__(self, conditions: Conditions, path: str, name: str = "") -> None:
        self.conditions = conditions
        self.path = path
        self.name = name
        self.named: list[tuple[ast.expr, Tests]] = []
        self.found: list[Site] = []
        self.values: dict[int, Tests] = {}

    def block(self, body: Sequence[ast.stmt], here: _Here) -> None:
        for statement in body:
            self.statement(statement, here)
            if statement.__class__ in TELLING:
                here = here.also(
                    self._after(statement), passed(statement), tests_passed(statement)
                )

    def _after(self, statement: ast.stmt) -> Facts:
        """What is known about receivers once a statement has been passed."""
        if isinstance(statement, ast.Assert):
            return self.conditions.both(statement.test)[0]
        if isinstance(statement, ast.If):
            true, false = self.conditions.both(statement.test)
            if leaves(statement.body):
                return false
            if statement.orelse and leaves(statement.orelse):
                return true
        return ()

    def statement(self, node: ast.stmt, here: _Here) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return) and node.value:
            self.values[id(node.value)] = here.tests
        if node.__class__ in _SIMPLE:
            for child in children(node):
                self.expression(child, here)
        elif isinstance(node, ast.If | ast.While):
            self.expression(node.test, here)
            yes, no = self._branches(node.test, here)
            self.block(node.body, yes)
            self.block(node.orelse, no)
        elif isinstance(node, ast.Try):
            caught = (*here.handlers, *self._handlers(node))
            self.block(node.body, replace(here, handlers=caught))
            for handler in node.handlers:
                self.block(handler.body, here)
            self.block(node.orelse, here)
            self.block(node.finalbody, here)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self.expression(item.context_expr, here)
            self.block(node.body, here)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.expression(node.iter, here)
            self.block(node.body, here)
            self.block(node.orelse, here)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.block(node.body, here)
        elif isinstance(node, ast.Match):
            self.expression(node.subject, here)
            for case in node.cases:
                self.block(case.body, here)
        elif not isinstance(node, ast.ClassDef):
            for child in children(node):
                if isinstance(child, ast.expr):
                    self.expression(child, here)

    def expression(self, node: ast.AST, here: _Here) -> None:
        kind = node.__class__
        if self.name and isinstance(node, ast.Name | ast.Attribute):
            said = node.id if isinstance(node, ast.Name) else node.attr
            if said == self.name:
                self.named.append((node, here.tests))
        if kind is ast.Name or kind is ast.Constant:
            return
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self.expression(value, here)
                yes, no = self._branches(value, here)
                here = yes if isinstance(node.op, ast.And) else no
            return
        if isinstance(node, ast.IfExp):
            yes, no = self._branches(node.test, here)
            self.expression(node.test, here)
            self.expression(node.body, yes)
            self.expression(node.orelse, no)
            return
        if isinstance(node, ast.Call):
            self.found.append(
                Site(node, here.facts, here.options, here.handlers, here.tests)
            )
        for child in children(node):
            self.expression(child, here)

    def _branches(self, test: ast.expr, here: _Here) -> tuple[_Here, _Here]:
        true, false = self.conditions.both(test)
        when, unless = options_of(test)
        return (
            here.also(true, when, ((test, True),)),
            here.also(false, unless, ((test, False),)),
        )

    def _handlers(self, node: ast.Try) -> Iterator[Guard]:
        for handler in node.handlers:
            if handler.type is None:
                names = ["BaseException"]
            else:
                parts = (
                    handler.type.elts
                    if isinstance(handler.type, ast.Tuple)
                    else [handler.type]
                )
                names = [(dotted(p) or "").rpartition(".")[2] for p in parts]
            if any(isinstance(s, ast.Raise) for s in handler.body):
                continue  # it goes on to the caller after all
            text = f"except {', '.join(names)}"
            yield Guard("handler", self.path, handler.lineno, text)


def tests_passed(statement: ast.stmt) -> Tests:
    """What a statement has asked once it has been passed, and how it came out."""
    if isinstance(statement, ast.Assert):
        return ((statement.test, True),)
    if isinstance(statement, ast.If):
        if leaves(statement.body):
            return ((statement.test, False),)
        if statement.orelse and leaves(statement.orelse):
            return ((statement.test, True),)
    return ()


def catches(guard: Guard, error: str) -> bool:
    """Whether a handler guard keeps an error of that name from going on."""
    caught = {name.strip() for name in guard.text.removeprefix("except ").split(",")}
    wider = {
        "NotImplementedError": _CATCHES,
        "AttributeError": _CATCHES_MISSING,
    }.get(error, frozenset({error, "Exception", "BaseException"}))
    return bool(caught & (wider | {error}))
