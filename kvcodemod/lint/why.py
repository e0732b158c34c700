"""Whether a server gets to a method of a class, and which one; or what keeps all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kvcodemod.config import DEFAULT_NAMES, Names
from kvcodemod.facts.paths.reach import Reach
from kvcodemod.findings import Assumption, Configuration, Excluded, Step
from kvcodemod.lint.evidence import best, configuration, excluded, guard_steps, trace
from kvcodemod.lint.session import unread_pools
from kvcodemod.tree.source import SourceError, SourceTree

Outcome = Literal["fails", "excluded", "not called", "works"]


class NoSuchClassError(Exception):
    """The tree has no pool or allocator of that name."""


@dataclass(frozen=True)
class Answer:
    """What is known about a method on a class.

    Attributes:
        outcome: `fails`, where a server gets to it or nothing is known to keep one from
            it; `excluded`, where it would fail and something does; `not called`, where
            no path leads to it; `works`, where it does not fail.
        configuration, trace, guards: how it is reached; `facts`: what excludes it.
    """

    symbol: str
    outcome: Outcome
    configuration: Configuration | None = None
    trace: tuple[Step, ...] = ()
    guards: tuple[Step, ...] = ()
    facts: tuple[Assumption, ...] = ()


def why(
    tree: SourceTree, cls: str, method: str, names: Names = DEFAULT_NAMES
) -> Answer | tuple[SourceError, ...]:
    """The answer for one class and method; or the files that cannot be read.

    Raises:
        NoSuchClassError: there is no such class.
    """
    reach = Reach(tree, names, only=(cls, method))
    broken = reach.broken or (() if reach.program.pools else unread_pools(tree, names))
    if broken:
        return broken
    symbol = f"{cls}.{method}"
    if not any(name.rpartition(".")[2] == cls for name in reach.program.members):
        raise NoSuchClassError(f"no pool or allocator is called {cls}")
    if reach.reached:
        shown = best(reach.reached)
        hop = shown.chain.hops[-1]
        last = Step(hop.path, hop.line, hop.symbol, f"fails here on `{cls}`")
        return Answer(
            symbol,
            "fails",
            configuration(reach, shown),
            (*trace(shown, last)[:-2], last),
            guard_steps(shown.chain.guards),
        )
    found: tuple[Excluded, ...] = excluded(reach)
    if found:
        facts = dict.fromkeys(fact for item in found for fact in item.facts)
        return Answer(symbol, "excluded", facts=tuple(facts))
    called = any(
        call.method == method and any(n.rpartition(".")[2] == cls for n, _ in call.held)
        for call in reach.chains.every_call()
    )
    return Answer(symbol, "works" if called else "not called")
