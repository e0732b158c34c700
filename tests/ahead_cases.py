"""What `test_ahead.py` runs, each case in a process of its own that has one thread.

`python ahead_cases.py CASE [PATH ...]`: ends with 0 if the case holds.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from kvcodemod.cli import main
from kvcodemod.facts.prefilter.scan import Scan
from kvcodemod.lint import session
from kvcodemod.tree import ahead
from kvcodemod.tree.ahead import Ahead
from kvcodemod.tree.source import SourceTree

PARENT = os.getpid()


def elsewhere() -> Iterator[object]:
    yield {"a": [os.getpid() != PARENT]}
    yield "\udc80"


def _all(second: Ahead) -> list[object]:
    found = []
    while True:
        try:
            found.append(second.next())
        except StopIteration:
            return found


def results() -> None:
    assert _all(Ahead(elsewhere, cores=2)) == [{"a": [True]}, "\udc80"]


def one_core() -> None:
    assert _all(Ahead(elsewhere, cores=1)) == [{"a": [False]}, "\udc80"]


def threads() -> None:
    """Another thread may hold a lock that nobody would release in the copy."""
    stop = threading.Event()
    threading.Thread(target=stop.wait).start()
    assert _all(Ahead(elsewhere, cores=2)) == [{"a": [False]}, "\udc80"]
    stop.set()


def untracked_threads() -> None:
    import _thread

    _thread.start_new_thread(time.sleep, (60,))
    assert threading.active_count() == 1
    assert _all(Ahead(elsewhere, cores=2)) == [{"a": [False]}, "\udc80"]


def fails() -> None:
    def work() -> Iterator[int | list[int]]:
        yield 1
        yield [2]
        if os.getpid() != PARENT:
            raise ValueError
        yield 3

    assert _all(Ahead(work, cores=2)) == [1, [2], 3]


def closed() -> None:
    def work() -> Iterator[int]:
        yield os.getpid()
        time.sleep(600)

    second = Ahead(work, cores=2)
    child = second.next()
    second.close()
    try:
        os.kill(child, 0)
    except ProcessLookupError:
        return
    raise AssertionError("the second process is still there")


def _lint(folder: str, *options: str) -> str:
    arguments = ["lint", folder, "--output-format", "json", *options]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def one_process_or_two(folder: str) -> None:
    ahead.core_count = lambda: 2
    first = _lint(folder, "--no-cache")
    ahead.core_count = lambda: 1
    assert _lint(folder, "--no-cache") == first

    def refuse() -> int:
        raise OSError

    ahead.core_count = lambda: 2
    os.fork = refuse
    assert _lint(folder, "--no-cache") == first


def changed_under_the_run(folder: str) -> None:
    file = Path(folder, "sglang/srt/mem_cache/pools.py")
    text = file.read_text()
    real = session.run_rules
    runs: list[int] = []

    def run_rules(tree: SourceTree, rules: object, names: object, scan: Scan) -> object:
        runs.append(1)
        if len(runs) == 1:
            assert scan.digests  # all is read and hashed
            file.write_text(f"{text}\n# before it is parsed\n")
        return real(tree, rules, names, scan)  # type: ignore[arg-type]

    ahead.core_count = lambda: 2
    session.run_rules = run_rules  # type: ignore[assignment]
    first = _lint(folder)
    file.write_text(text)
    assert json.loads(_lint(folder)) == json.loads(first)
    assert len(runs) == 2  # nothing was kept of the first
    _lint(folder)
    assert len(runs) == 2


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
