"""Writes files, dies by SIGKILL at every step in turn, and checks what is left.

A small program of its own, as it forks hundreds of times, and as the process of the
tests can have grown too large for a copy of it. Arguments: a package folder and a task:

- `write`, `fail` (a write that is put back) or `finish` (an interrupted one): ends with
  0 and prints which states it met, or with a traceback;
- `begin`: leaves a write behind that was killed between its two files;
- `apply`: `kvcodemod apply`, which is killed behind the first file that it replaces.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kvcodemod.cli import main
from kvcodemod.tree import write
from kvcodemod.tree.locate import Package

PATHS = ("sglang/a.py", "sglang/deep/b.py")
OLD = {p: f"old {p}".encode() * 50 for p in PATHS}
NEW = {p: f"new {p}".encode() * 70 for p in PATHS}


class Deadly:
    """Dies before or behind the n-th of all calls that are made through it."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, 0

    def step(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.step()
            result = real(*args, **kwargs)
            self.step()
            return result

        setattr(owner, name, call)


def no_fsync(handle: int) -> None:
    """A killed process loses nothing without it, and a busy disk is slow at it."""


def arm(at: int) -> None:
    deadly = Deadly(at)
    for name in ("open", "fsync", "fchmod", "close"):
        deadly.watch(os, name)
    for name in ("replace", "unlink", "open", "read_bytes"):
        deadly.watch(Path, name)


def fail_at_second_file() -> None:
    """The second replacement fails, so that the first one is put back."""
    real, done = write._replace, []

    def failing(source: Path, target: Path) -> None:
        if source.name.endswith(write.STAGED):
            done.append(target)
            if len(done) == 2:
                raise OSError(28, "No space left on device")
        real(source, target)

    write._replace = failing


def in_fork(task: Callable[[], None]) -> int | None:
    """The exit code of a forked process that does `task`; None if it was killed."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            task()
            code = 0
        except write.WriteError:
            code = 4
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def die_at_second_file() -> None:
    real, done = write._replace, []

    def dying(source: Path, target: Path) -> None:
        if done:
            os.kill(os.getpid(), signal.SIGKILL)
        done.append(target)
        real(source, target)

    write._replace = dying


def begin(package: Package) -> None:
    """Leave a write behind that was killed between its two files."""

    def task() -> None:
        die_at_second_file()
        write.write_all(package, OLD, NEW)

    assert in_fork(task) is None


def kill_apply(package: Package) -> None:
    """Leave an apply behind that was killed between its first two files."""

    def task() -> None:
        die_at_second_file()
        main(["apply", str(package.root)])

    assert in_fork(task) is None


def contents(package: Package) -> dict[str, bytes]:
    return {path: (package.parent / path).read_bytes() for path in PATHS}


def clean(package: Package) -> None:
    names = sorted(path.name for path in package.root.rglob("*"))
    assert names == ["__init__.py", "a.py", "b.py", "deep", "srt"], names
    assert not write.pending(package)


def one(package: Package, task: str, at: int) -> tuple[str, bool]:
    """What one death leaves behind, and whether there was none."""
    for path, data in OLD.items():
        (package.parent / path).write_bytes(data)
    if task == "finish":
        begin(package)

    def work() -> None:
        if task == "fail":
            fail_at_second_file()
        arm(at)
        if task == "finish":
            write.finish_pending(package)
        else:
            write.write_all(package, OLD, NEW)

    code = in_fork(work)
    found = contents(package)
    assert all(found[p] in (OLD[p], NEW[p]) for p in PATHS), "a file is not whole"
    state = "".join("new " if found[p] == NEW[p] else "old " for p in PATHS)
    if code is not None:
        assert code == (4 if task == "fail" else 0), code
        assert found == (OLD if task == "fail" else NEW)
        clean(package)
        return f"{state}at the end", True
    waits = write.pending(package)
    if waits:
        write.finish_pending(package)
    after = contents(package)
    assert after in (OLD, NEW), "neither all old nor all new"
    if task != "fail" and waits:
        assert after == NEW
    if after == OLD:  # nothing had been begun: begin anew
        write.write_all(package, OLD, NEW)
    assert contents(package) == NEW
    clean(package)
    kind = "pending" if waits else "not pending"
    return f"{state}{kind} -> {'new' if after == NEW else 'old'}", False


def run(folder: str, task: str) -> None:
    os.fsync = no_fsync  # type: ignore[assignment]
    root = Path(folder)
    package = Package(root, root.parent, None)
    if task in ("begin", "apply"):
        return begin(package) if task == "begin" else kill_apply(package)
    states: dict[str, int] = {}
    for at in range(1, 2000):
        state, alive = one(package, task, at)
        states[state] = states.get(state, 0) + 1
        if alive:
            break
    for state in sorted(states):
        print(f"{state}: {states[state]}")


if __name__ == "__main__":
    run(*sys.argv[1:])
