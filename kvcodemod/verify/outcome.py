"""What a proof found, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["passed", "failed", "unchecked"]


@dataclass(frozen=True)
class Failure:
    """One buffer that is wrong after a move, or a call that raised."""

    place: str
    """`Wrapper.sub_pool.buffer[layer]`, or as much of it as is known."""
    pool: str
    """The sub-pool's attribute; empty when the wrapper itself is at fault."""
    pattern: str
    """The slot pattern that was moved; empty when nothing was."""
    reason: str
    """The kind of mistake, the same text for every case that shows it."""
    detail: str


@dataclass(frozen=True)
class PoolUse:
    """One sub-pool that a case compared."""

    name: str
    cls: str
    buffers: int


@dataclass(frozen=True)
class CaseResult:
    """One way to build a wrapper, and what all moves in it did."""

    wrapper: str
    name: str
    status: Status
    moves: int
    pools: tuple[PoolUse, ...]
    failures: tuple[Failure, ...]
    seconds: float


@dataclass(frozen=True)
class Problem:
    """Why the proof could not be run to its end."""

    kind: Literal[
        "nothing-to-prove",
        "python",
        "missing-dependency",
        "unsuitable-dependency",
        "wrong-package",
        "import-error",
        "crash",
        "timeout",
        "protocol",
    ]
    message: str
    hint: str = ""
    """What to do about it."""


@dataclass(frozen=True)
class Runtime:
    """Where the proof ran."""

    device: str
    python: str
    torch: str
    triton: str


@dataclass(frozen=True)
class Step:
    """Progress: what runs now, and how much of it is done."""

    text: str
    done: int = 0
    total: int = 0
    """0 while the number of cases is not known yet."""


@dataclass(frozen=True)
class ProofReport:
    """The whole outcome."""

    package: str
    python: str
    runtime: Runtime | None
    cases: tuple[CaseResult, ...]
    problem: Problem | None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def status(self) -> Status:
        """`failed` on any difference; `passed` only when everything was checked."""
        if any(case.status == "failed" for case in self.cases):
            return "failed"
        unchecked = any(case.status == "unchecked" for case in self.cases)
        if self.problem is not None or unchecked or not self.cases:
            return "unchecked"
        return "passed"

    @property
    def passed(self) -> bool:
        """Whether every case of every wrapper passed."""
        return self.status == "passed"
