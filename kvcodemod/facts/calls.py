"""The calls of one function, each with what is known where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kvcodemod.facts.modules import dotted
from kvcodemod.facts.narrowing import Conditions, Facts
from kvcodemod.facts.options import Options, leaves, options_of, passed
from kvcodemod.facts.values import Guard

_CATCHES = frozenset(
    {"NotImplementedError", "RuntimeError", "Exception", "BaseException"}
)
_CATCHES_MISSING = frozenset({"AttributeError", "Exception", "BaseException"})


@dataclass(frozen=True, eq=False)
class Site:
    """One call, what holds there and the handlers around it."""

    call: ast.Call
    facts: Facts
    options: Options
    handlers: tuple[Guard, ...]


@dataclass(frozen=True)
class _Here:
    facts: Facts = ()
    options: Options = ()
    handlers: tuple[Guard, ...] = ()

    def also(self, facts: Facts, options: Options) -> _Here:
        if not facts and not options:
            return self
        return _Here((*self.facts, *facts), (*self.options, *options), self.handlers)


def call_sites(
    body: Sequence[ast.stmt], conditions: Conditions, path: str
) -> list[Site]:
    """Every call of a function body, nested functions included, in source order."""
    return list(_Walk(conditions, path).block(body, _Here()))


class _Walk:
    def __init__(self, conditions: Conditions, path: str) -> None:
        self.conditions = conditions
        self.path = path

    def block(self, body: Sequence[ast.stmt], here: _Here) -> Iterator[Site]:
        for statement in body:
            yield from self.statement(statement, here)
            here = here.also(self._after(statement), passed(statement))

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

    def statement(self, node: ast.stmt, here: _Here) -> Iterator[Site]:
        if isinstance(node, ast.If | ast.While):
            yield from self.expression(node.test, here)
            yes, no = self._branches(node.test, here)
            yield from self.block(node.body, yes)
            yield from self.block(node.orelse, no)
        elif isinstance(node, ast.Try):
            caught = (*here.handlers, *self._handlers(node))
            yield from self.block(node.body, replace(here, handlers=caught))
            for handler in node.handlers:
                yield from self.block(handler.body, here)
            yield from self.block(node.orelse, here)
            yield from self.block(node.finalbody, here)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                yield from self.expression(item.context_expr, here)
            yield from self.block(node.body, here)
        elif isinstance(node, ast.For | ast.AsyncFor):
            yield from self.expression(node.iter, here)
            yield from self.block(node.body, here)
            yield from self.block(node.orelse, here)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self.block(node.body, here)
        elif isinstance(node, ast.Match):
            yield from self.expression(node.subject, here)
            for case in node.cases:
                yield from self.block(case.body, here)
        elif not isinstance(node, ast.ClassDef):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from self.expression(child, here)

    def expression(self, node: ast.AST, here: _Here) -> Iterator[Site]:
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                yield from self.expression(value, here)
                yes, no = self._branches(value, here)
                here = yes if isinstance(node.op, ast.And) else no
            return
        if isinstance(node, ast.IfExp):
            yes, no = self._branches(node.test, here)
            yield from self.expression(node.test, here)
            yield from self.expression(node.body, yes)
            yield from self.expression(node.orelse, no)
            return
        if isinstance(node, ast.Call):
            yield Site(node, here.facts, here.options, here.handlers)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name | ast.Constant | ast.expr_context):
                continue
            yield from self.expression(child, here)

    def _branches(self, test: ast.expr, here: _Here) -> tuple[_Here, _Here]:
        true, false = self.conditions.both(test)
        when, unless = options_of(test)
        return here.also(true, when), here.also(false, unless)

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


def catches(guard: Guard, error: str) -> bool:
    """Whether a handler guard keeps an error of that name from going on."""
    caught = {name.strip() for name in guard.text.removeprefix("except ").split(",")}
    wider = {
        "NotImplementedError": _CATCHES,
        "AttributeError": _CATCHES_MISSING,
    }.get(error, frozenset({error, "Exception", "BaseException"}))
    return bool(caught & (wider | {error}))
