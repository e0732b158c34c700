"""Runs rules on a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kvcodemod.config import DEFAULT_NAMES, Names
from kvcodemod.facts.paths.reach import Reach
from kvcodemod.facts.prefilter.scan import Scan
from kvcodemod.facts.syntax.nesting import too_deep
from kvcodemod.findings import Excluded, Finding, in_order
from kvcodemod.lint.evidence import excluded
from kvcodemod.lint.rule import Rule
from kvcodemod.tree.source import SourceError, SourceTree


@dataclass(frozen=True)
class Result:
    """What a run found.

    Attributes:
        broken: files that matter and could not be read or parsed: nothing that is said
            about the tree is complete.
        failed: rules that did not run to the end, and why.
        pools: how many pool classes there are.
        entries: how many functions of the entry folders can lead to one, and
        entry_files: how many files there are in those folders.
        parts: pieces of text one of which stands in every file that names a pool;
        near: these files, and some others.
        excluded: what would be a finding, if any server got there.
        unparsable: file -> a message, for files that have no say and do not parse, as
            far as they were looked at.
    """

    findings: tuple[Finding, ...]
    broken: tuple[SourceError, ...]
    failed: tuple[str, ...]
    pools: int
    entries: int
    entry_files: int
    parts: tuple[str, ...]
    near: tuple[str, ...]
    unparsable: dict[str, str]
    excluded: tuple[Excluded, ...] = ()


def run_rules(
    tree: SourceTree,
    rules: Iterable[Rule],
    names: Names = DEFAULT_NAMES,
    scan: Scan | None = None,
) -> Result:
    """All findings of the rules, sorted by place.

    A rule that raises is named in `failed` and does not take the others with it.
    """
    rules = tuple(rules)
    reach = Reach(tree, names, scan)
    try:
        broken = reach.broken
        found, failed = ([], []) if broken else _run(rules, reach)
    except RecursionError:
        broken = (too_deep(tree),)
        return Result((), broken, (), 0, 0, 0, parts=(), near=(), unparsable={})
    return Result(
        findings=in_order(found),
        broken=broken,
        failed=tuple(failed),
        pools=len(reach.program.pools),
        entries=len(reach.chains.entries),
        entry_files=sum(
            path.partition("/")[2].startswith(names.entry_folders)
            for path in tree.paths
        ),
        parts=(*reach.program.parts, *reach.also_parts),
        near=tuple(sorted({*reach.program.near, *reach.also_near})),
        unparsable=scan.unparsable if scan and not broken else {},
        excluded=_excluded(rules, reach) if not broken and not failed else (),
    )


def _excluded(rules: Iterable[Rule], reach: Reach) -> tuple[Excluded, ...]:
    """What no server gets to, of what the rules look for."""
    codes = {rule.code for rule in rules}
    return tuple(item for item in excluded(reach) if item.rule in codes)


def _run(rules: Iterable[Rule], reach: Reach) -> tuple[list[Finding], list[str]]:
    found: list[Finding] = []
    failed: list[str] = []
    for rule in rules:
        try:
            found.extend(_checked(rule.check(reach)))
        except RecursionError:
            failed.append(f"{rule.code}: {too_deep(reach.tree)}")
        except Exception as error:  # a plugin may fail in any way
            failed.append(f"{rule.code}: {type(error).__name__}: {error}")
    return found, failed


def _checked(items: Iterable[Finding]) -> list[Finding]:
    given = list(items)
    for item in given:
        if not isinstance(item, Finding):
            raise TypeError(f"it gave {type(item).__name__}, not a Finding")
    return given
