"""Where a method refuses with NotImplementedError, and under which conditions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvcodemod.facts.conditions.options import Options, options_of, passed
from kvcodemod.facts.syntax.bodies import is_refusal
from kvcodemod.facts.syntax.parsing import Function


@dataclass(frozen=True)
class Refusal:
    """One `raise NotImplementedError`: its line, its conditions and its words."""

    line: int
    conditions: tuple[str, ...]
    options: Options
    words: str


def refusals_of(function: Function) -> tuple[Refusal, ...]:
    """Every refusal of a function, in source order, nested functions left out."""
    return tuple(_block(function.body, (), ()))


def _block(
    body: Sequence[ast.stmt], conditions: tuple[str, ...], options: Options
) -> Iterator[Refusal]:
    for statement in body:
        if isinstance(statement, ast.Raise):
            if is_refusal(statement):
                yield Refusal(statement.lineno, conditions, options, _words(statement))
        elif isinstance(statement, ast.If):
            text = ast.unparse(statement.test)
            true, false = options_of(statement.test)
            yield from _block(statement.body, (*conditions, text), (*options, *true))
            yield from _block(
                statement.orelse, (*conditions, f"not ({text})"), (*options, *false)
            )
        elif isinstance(statement, ast.Try):
            for block in (statement.body, statement.orelse, statement.finalbody):
                yield from _block(block, conditions, options)
            for handler in statement.handlers:
                text = ast.unparse(handler.type) if handler.type else "any error"
                yield from _block(handler.body, (*conditions, f"on {text}"), options)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                text = (
                    f"{ast.unparse(statement.subject)} is {ast.unparse(case.pattern)}"
                )
                yield from _block(case.body, (*conditions, text), options)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            yield from _block(statement.body, conditions, options)
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            yield from _block(statement.body, (*conditions, "in a loop"), options)
            yield from _block(statement.orelse, conditions, options)
        options = (*options, *passed(statement))


def _words(statement: ast.Raise) -> str:
    return "".join(
        part.value
        for part in ast.walk(statement)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
