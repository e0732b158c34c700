"""The second process: its results, its end, and what happens where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lint_trees import files
from trees import write_tree

CASES = Path(__file__).with_name("ahead_cases.py")


def _holds(case: str, *arguments: str, cache: Path | None = None) -> None:
    env = {**os.environ, **({"XDG_CACHE_HOME": str(cache)} if cache else {})}
    done = subprocess.run(
        [sys.executable, str(CASES), case, *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "case", ["results", "one_core", "threads", "untracked_threads", "fails", "closed"]
)
def test_a_second_process(case: str) -> None:
    _holds(case)


@pytest.mark.parametrize("case", ["one_process_or_two", "changed_under_the_run"])
def test_a_lint_with_two_processes(case: str, tmp_path: Path) -> None:
    tree = {**files(), "srt/models/llama.py": "x = 1\n"}
    folder = write_tree(tmp_path / "tree", tree)
    _holds(case, str(folder), cache=tmp_path / "cache")
