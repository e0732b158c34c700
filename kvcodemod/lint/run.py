"""Runs rules on a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kvcodemod.config import DEFAULT_NAMES, Names
from kvcodemod.facts.reach import Reach
from kvcodemod.findings import Finding, in_order
from kvcodemod.lint.rule import Rule
from kvcodemod.tree.source import SourceError, SourceTree


@dataclass(frozen=True)
class Result:
    """What a run found.

    Attributes:
        broken: files that matter and could not be read or parsed: nothing that is said
            about the tree is complete.
        failed: rules that did not run to the end, and why.
        pools, entries: how many pool classes there are, and functions in the entry
            folders that can lead to one.
    """

    findings: tuple[Finding, ...]
    broken: tuple[SourceError, ...]
    failed: tuple[str, ...]
    pools: int
    entries: int


def run_rules(
    tree: SourceTree, rules: Iterable[Rule], names: Names = DEFAULT_NAMES
) -> Result:
    """All findings of the rules, sorted by place.

    A rule that raises is named in `failed` and does not take the others with it.
    """
    reach = Reach(tree, names)
    found: list[Finding] = []
    failed: list[str] = []
    for rule in rules:
        try:
            found.extend(rule.check(reach))
        except Exception as error:  # a plugin may fail in any way
            failed.append(f"{rule.code}: {type(error).__name__}: {error}")
    return Result(
        findings=in_order(found),
        broken=reach.broken,
        failed=tuple(failed),
        pools=len(reach.program.pools),
        entries=len(reach.chains.entries),
    )
