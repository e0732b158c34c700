"""Run the worker as a subprocess and read its lines, within a time limit."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WORKER = Path(__file__).resolve().parent / "worker.py"

_UNSET = ("ASCEND_USE_FIA", "TRITON_INTERPRET", "__PYVENV_LAUNCHER__")
_SET = {
    # The tree under proof stays as it is: no `__pycache__` in it.
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONUTF8": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Ended:
    """How the worker's process ended."""

    code: int
    """The exit status; negative: minus the signal's number."""
    timed_out: bool
    stderr: str
    """The last part of what it and the target printed."""


def run_worker(
    python: str, request: str, on_line: Callable[[str], None], timeout: float
) -> Ended:
    """Start the worker, hand it the request, and give each line to `on_line`.

    Raises:
        OSError: `python` cannot be started.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(),
            start_new_session=True,
        )
        try:
            timed_out = not _talk(process, request, on_line, timeout)
        finally:
            _end(process)
        errors.seek(max(0, errors.tell() - 20_000))
        text = errors.read().decode("utf-8", "replace")
    return Ended(process.returncode, timed_out, text)


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SGLANG_") and name not in _UNSET
    }
    return {**kept, **_SET}


def _talk(
    process: subprocess.Popen[bytes],
    request: str,
    on_line: Callable[[str], None],
    timeout: float,
) -> bool:
    """Read until the worker closes its side; False when time ran out first."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(request.encode())
        process.stdin.close()
    deadline = time.monotonic() + timeout
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if not selector.select(left):
                continue
            data = os.read(process.stdout.fileno(), 65_536)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                on_line(line.decode("utf-8", "replace"))
            if not data:
                if rest:
                    on_line(rest.decode("utf-8", "replace"))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, deadline - time.monotonic()))
                return process.returncode is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing running: the worker is the leader of its own process group."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
