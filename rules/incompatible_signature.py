"""KVC003: an override does not accept what speculative decoding passes."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.facts.paths.reach import Reach, Reached
from kvcodemod.findings import Finding, Step
from kvcodemod.lint.evidence import (
    best,
    classes_text,
    column_of,
    configuration,
    definition,
    doubts,
    grouped,
    guard_steps,
    hit,
    short,
    trace,
)
from kvcodemod.lint.rule import Example, Rule

from .unsupported_pool_method import tree


def _with_parameters(parameters: str) -> dict[str, str]:
    files = tree("self.parts[tgt_loc] = self.parts[src_loc]")
    head, found, rest = files["srt/mem_cache/pools.py"].rpartition(
        "(self, tgt_loc, src_loc)"
    )
    assert found
    return {**files, "srt/mem_cache/pools.py": f"{head}(self, {parameters}){rest}"}


def check(reach: Reach) -> Iterator[Finding]:
    """One finding for each definition that a call does not fit."""
    unfit = [r for r in reach.reached if r.kind == "signature" and r.method is not None]
    for _, group in grouped(unfit, definition):
        yield _finding(reach, group)


def _finding(reach: Reach, group: list[Reached]) -> Finding:
    shown = best(group)
    method = shown.method
    assert method is not None
    affected = tuple(sorted({r.cls for r in hit(group)}))
    guards = guard_steps(shown.chain.guards)
    unsure = bool(guards or doubts(shown))
    name = f"{short(method.owner)}.{method.name}"
    where = shown.chain.hops[-1]
    return Finding(
        rule=RULE.code,
        name=RULE.name,
        severity="warning" if unsure else "error",
        confidence="medium" if unsure else "high",
        message=(
            f"`{name}` does not accept the call in `{where.symbol}`: {shown.problem} "
            f"({classes_text(affected)})"
        ),
        path=method.path,
        line=method.line,
        column=column_of(reach, method.path, method.line),
        symbol=name,
        affected=affected,
        trace=trace(
            shown,
            Step(method.path, method.line, name, f"defined here: {shown.problem}"),
        ),
        reason=("The call ends in TypeError amid a batch, with these classes only."),
        fix=(
            f"Give `{name}` the parameters that the call at {where.path}:{where.line} "
            "passes, as its siblings have them."
        ),
        guards=guards,
        configuration=configuration(reach, shown),
        key=f"{method.owner}.{method.name}",
    )


RULE = Rule(
    code="KVC003",
    name="incompatible-signature",
    severity="error",
    summary="An override does not accept what speculative decoding passes.",
    what=(
        "A call on a path that starts in speculative decoding passes arguments, by "
        "position or by name, that the method of a class which a server can hold does "
        "not take, or leaves one out that it needs."
    ),
    why="The call ends in TypeError, and only with this one pool.",
    mend="Give the override the parameters that its siblings have.",
    limits="Calls with `*args` or `**kwargs` are judged as far as the rest goes.",
    fails=(
        Example("an override lacks a parameter", _with_parameters("tgt_loc")),
        Example("an override wants one more", _with_parameters("tgt_loc, src_loc, n")),
    ),
    passes=(
        Example("same parameters", _with_parameters("tgt_loc, src_loc")),
        Example("one more with a default", _with_parameters("tgt_loc, src_loc, n=0")),
    ),
    check=check,
)
