"""What a rule is: its page, its examples and its check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kvcodemod.facts.paths.reach import Reach
from kvcodemod.findings import Finding, Severity


@dataclass(frozen=True)
class Example:
    """A small tree: file below `sglang/` -> text; it tests and documents the rule."""

    title: str
    files: dict[str, str]


@dataclass(frozen=True)
class Rule:
    """One rule. The words are its page; the examples are its tests.

    Attributes:
        code, name: `KVC001`, `unsupported-pool-method`.
        severity: what an unguarded finding is.
        summary: one line.
        what, why, mend, limits: what it finds, why that is bad, how to mend it, and
            what it cannot see.
        fails, passes: examples with and without a finding.
        check: finds.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    what: str
    why: str
    mend: str
    limits: str
    fails: tuple[Example, ...]
    passes: tuple[Example, ...]
    check: Callable[[Reach], Iterable[Finding]]
