"""What a rule finds: a place, its severity, whom it affects and the way there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning"]
Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True)
class Step:
    """One step of the evidence: a place and what happens there."""

    path: str
    line: int
    symbol: str
    note: str


@dataclass(frozen=True)
class Finding:
    """One place that a person would edit.

    Attributes:
        rule, name: the code and the name of the rule.
        message: one sentence; `reason` says why it matters, `fix` how to mend it.
        symbol: `Class.method` or a function.
        affected: qualified names of the classes that it hits, sorted.
        trace: from speculative decoding to the finding.
        guards: what keeps it from happening, where something does.
        key: the code that it is about, for a fingerprint that survives line moves.
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    path: str
    line: int
    column: int
    symbol: str
    affected: tuple[str, ...]
    trace: tuple[Step, ...]
    reason: str = ""
    fix: str | None = None
    guards: tuple[Step, ...] = ()
    key: str = ""
    suppressed: str | None = field(default=None)

    @property
    def fingerprint(self) -> str:
        """The same for the same defect, wherever in its file it stands."""
        text = "\0".join(
            (self.rule, self.path, self.symbol, " ".join(self.key.split()))
        )
        return hashlib.blake2b(
            text.encode(errors="surrogatepass"), digest_size=10
        ).hexdigest()


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sorted by place, so that no run differs from another."""
    return tuple(
        sorted(findings, key=lambda f: (f.path, f.line, f.column, f.rule, f.message))
    )
