"""What of the findings counts: comments, patterns and the baseline, in this order."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kvcodemod.findings import Finding, in_order
from kvcodemod.lint.baseline import (
    Entry,
    acceptable,
    compare,
    entry_of,
    pruned,
)
from kvcodemod.lint.per_file import ignore_per_file
from kvcodemod.lint.registry import Registry
from kvcodemod.lint.suppressions import suppress
from kvcodemod.settings import Settings
from kvcodemod.tree.source import SourceTree


@dataclass(frozen=True)
class Gated:
    """The outcome.

    Attributes:
        findings: what counts.
        suppressed: what does not; each says why in `suppressed`.
        stale: entries of the baseline that nothing answers to any more.
        idle: patterns of `per-file-ignores` that match no file.
    """

    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    stale: tuple[Entry, ...]
    idle: tuple[str, ...]


def gate(
    tree: SourceTree,
    findings: Iterable[Finding],
    registry: Registry,
    active: Collection[str],
    settings: Settings,
    entries: Iterable[Entry] = (),
) -> Gated:
    """Hold the findings of the rules that ran against everything that accepts some."""
    known = {code: rule.name for code, rule in registry.rules.items()}
    heard = suppress(tree, findings, known, active)
    folder = settings.file.parent if settings.file else None
    ignored = ignore_per_file(
        tree, heard.findings, settings.per_file_ignores, registry.matching, folder
    )
    fresh = acceptable(ignored.findings)
    others = [f for f in ignored.findings if f not in fresh]
    compared = compare(fresh, entries, active)
    return Gated(
        findings=in_order([*compared.new, *others]),
        suppressed=in_order(
            [*heard.suppressed, *ignored.suppressed, *compared.accepted]
        ),
        stale=compared.stale,
        idle=ignored.idle,
    )


def accepted(gated: Gated, entries: Iterable[Entry], add: bool) -> tuple[Entry, ...]:
    """What the baseline should hold: nothing stale, and what is new if asked."""
    kept = pruned(entries, gated.stale)
    new = [entry_of(f) for f in acceptable(gated.findings)] if add else []
    return (*kept, *new)


def fails(findings: Iterable[Finding], fail_on: str) -> bool:
    """Whether a run with these findings ends with exit code 1."""
    if fail_on == "never":
        return False
    return any(f.severity == "error" or fail_on == "warning" for f in findings)
