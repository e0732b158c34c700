"""The proof, from the parent's side: start the worker, read events, make a report."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from kvcodemod.verify.outcome import (
    CaseResult,
    Failure,
    PoolUse,
    Problem,
    ProofReport,
    Runtime,
    Step,
)
from kvcodemod.verify.process import Ended, run_worker
from kvcodemod.verify.subject import Wrapper

SEED = 0
"""The same every time: a proof that fails fails again."""

TIMEOUT = 900.0
"""Seconds; a release takes well under one minute on one core."""


def run_proof(
    package: Path,
    subjects: Sequence[Wrapper],
    *,
    python: str = sys.executable,
    device: str = "auto",
    extra_path: Iterable[Path] = (),
    on_event: Callable[[Step], None] | None = None,
    timeout: float = TIMEOUT,
    long_permutations: bool = False,
) -> ProofReport:
    """Prove that every wrapper of a tree moves rows as gather-then-scatter would.

    Args:
        package: the `sglang` folder to import; its parent goes first on the path.
        subjects: the wrapper classes and their call sites, from static analysis.
        python: the target's Python, the one its server runs with.
        device: `auto`, `cpu` (Triton's interpreter) or `cuda`.
        extra_path: folders that go ahead of that Python's own packages.
        on_event: called with each step, for progress.
        timeout: seconds for the whole proof.
        long_permutations: also try permutations longer than the stock move's cap, which
            only a tree that moves every pool by the injected kernel can pass.

    Returns:
        The report. What a person can cause is a `Problem` in it, never an exception.
    """
    start = time.monotonic()
    package = package.resolve()
    request = {
        "package": str(package),
        "extra_path": [str(path.resolve()) for path in extra_path],
        "device": device,
        "seed": SEED,
        "long_permutations": long_permutations,
        "wrappers": [wrapper.to_json() for wrapper in subjects],
    }
    reader = _Reader(on_event)
    notes: list[str] = []
    problem: Problem | None = None
    executable = shutil.which(python)
    if not subjects:
        text = f"{package} has no pool of the MiniMax family"
        problem = Problem("nothing-to-prove", text)
    elif executable is None:
        problem = _no_python(python, "there is no such program")
    else:
        problem = _attempt(executable, request, reader, timeout)
        fallback = (
            device == "auto"
            and problem is not None
            and problem.kind in ("missing-dependency", "unsuitable-dependency")
            and reader.runtime is not None
            and reader.runtime.device == "cuda"
        )
        if fallback and problem is not None:
            notes.append(f"not checked on the GPU: {problem.message}")
            reader = _Reader(on_event)
            left = timeout - (time.monotonic() - start)
            problem = _attempt(executable, {**request, "device": "cpu"}, reader, left)
    return ProofReport(
        package=str(package),
        python=executable or python,
        runtime=reader.runtime,
        cases=tuple(reader.cases),
        problem=problem,
        notes=(*notes, *reader.notes),
        seconds=time.monotonic() - start,
    )


class _Reader:
    """Turns the worker's lines into results; keeps what is no event for a message."""

    def __init__(self, on_event: Callable[[Step], None] | None) -> None:
        self.on_event = on_event
        self.cases: list[CaseResult] = []
        self.runtime: Runtime | None = None
        self.problem: Problem | None = None
        self.total = 0
        self.now = ""
        self.done = False
        self.noise: list[str] = []
        self.notes: list[str] = []

    def line(self, text: str) -> None:
        """Take one line of the worker's output."""
        try:
            event = json.loads(text)
            kind = event["event"]
        except (ValueError, TypeError, KeyError):
            if text.strip():
                self.noise.append(text.strip()[:200])
            return
        if kind == "start":
            names = ("device", "python", "torch", "triton")
            self.runtime = Runtime(**{name: str(event[name]) for name in names})
        elif kind == "plan":
            self.total = event["cases"]
        elif kind == "stage":
            self._step(event["text"])
        elif kind == "case-start":
            self._step(f"{event['wrapper']}: {event['name']}")
        elif kind == "case":
            self.cases.append(_case(event))
            if event.get("note"):
                self.notes.append(event["note"])
        elif kind == "problem":
            self.problem = _problem(event)
        elif kind == "done":
            self.done = True

    def _step(self, text: str) -> None:
        self.now = text
        if self.on_event is not None:
            self.on_event(Step(text, len(self.cases), self.total))


def _attempt(
    python: str, request: dict[str, Any], reader: _Reader, timeout: float
) -> Problem | None:
    try:
        ended = run_worker(python, json.dumps(request), reader.line, timeout)
    except OSError as error:
        return _no_python(python, error.strerror or str(error))
    if reader.problem is not None:
        return reader.problem
    if reader.done:
        return None
    during = f" during: {reader.now}" if reader.now else ""
    if ended.timed_out:
        return Problem(
            "timeout",
            f"the proof took more than {timeout:.0f} seconds and was stopped{during}",
        )
    return _died(python, ended, reader, during)


def _died(python: str, ended: Ended, reader: _Reader, during: str) -> Problem:
    last = [line for line in ended.stderr.splitlines() if line.strip()][-1:]
    said = f"; its last words: {last[0].strip()[:300]}" if last else ""
    if ended.code < 0:
        try:
            name = signal.Signals(-ended.code).name
        except ValueError:
            name = f"signal {-ended.code}"
        hint = "the machine may be out of memory" if name == "SIGKILL" else ""
        return Problem("crash", f"the worker was killed by {name}{during}{said}", hint)
    if reader.runtime is None and not reader.now:
        words = f"; it printed: {reader.noise[0]}" if reader.noise else said
        text = f"{python} did not run the proof's worker (exit {ended.code}){words}"
        return Problem(
            "protocol", text, "give --python a Python of version 3.10 or newer"
        )
    return Problem("crash", f"the worker ended with exit {ended.code}{during}{said}")


def _no_python(python: str, why: str) -> Problem:
    text = f"the Python {python!r} cannot be started: {why}"
    return Problem("python", text, "give --python the Python that runs this SGLang")


def _case(event: dict[str, Any]) -> CaseResult:
    return CaseResult(
        wrapper=event["wrapper"],
        name=event["name"],
        status=event["status"],
        moves=event["moves"],
        pools=tuple(PoolUse(**pool) for pool in event["pools"]),
        failures=tuple(Failure(**failure) for failure in event["failures"]),
        seconds=event["seconds"],
    )


def _problem(event: dict[str, Any]) -> Problem:
    hint = ""
    name = event.get("dependency")
    if name:
        wanted = event.get("required") or name
        have = f"{name} {event['version']}" if event.get("version") else name
        if event["kind"] == "missing-dependency":
            hint = f"install it for that Python: pip install '{wanted}'"
        else:
            states = f"; this SGLang asks for {wanted}" if event.get("required") else ""
            hint = f"{have} may not suit this release{states}"
    return Problem(event["kind"], event["message"], event.get("hint") or hint)
