"""What a rule finds: a place, its severity, whom it affects and the way there."""

from __future__ import annotations

import hashlib
import shlex
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
class Assumption:
    """Something that was not understood and has to hold; it stands at a place."""

    text: str
    path: str
    line: int


@dataclass(frozen=True)
class Configuration:
    """A server that reaches a finding: what differs from the defaults.

    Attributes:
        platform: `cuda`, `hip`, `npu`, `cpu`, ...
        capability: the least compute capability that it needs (`10.0`), or None.
        architecture: a model class's name as `config.json` has it, or None for any.
        options: (`--flag`, value) in order; a switch that takes no value has "".
        environment: (variable, value) that have to be set.
        assumes: what was not understood; empty for an error.
    """

    platform: str
    capability: str | None = None
    architecture: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    assumes: tuple[Assumption, ...] = ()

    @property
    def command_line(self) -> str:
        """The options as they are typed in a shell."""
        return " ".join(
            shlex.join((flag, value) if value else (flag,))
            for flag, value in self.options
        )


@dataclass(frozen=True)
class Excluded:
    """A call that would fail, and what keeps every server from it.

    Attributes:
        rule: the code of the rule that it would be a finding of.
        symbol: `Class.method`; `affected` is the class's qualified name.
        facts: what excludes the servers, one for each kind of them.
    """

    rule: str
    symbol: str
    affected: str
    facts: tuple[Assumption, ...]


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
        paths, family: the path sets that reach it and the receivers' family.
        configuration: a server that reaches it, where one was searched for.
        fixable: the recipe that mends it, or None.
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
    paths: tuple[str, ...] = ("spec-decode",)
    family: str = "kv-pool"
    configuration: Configuration | None = None
    fixable: str | None = None

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
