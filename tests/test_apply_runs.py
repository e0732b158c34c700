"""Rewritten fixtures are run: every buffer of every sub-pool moves as it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from apply_trees import LAYERED, SHAPES, apply, edit, shape
from needs import need

RUNNER = Path(__file__).with_name("apply_runner.py")


def test_every_shape_moves_every_buffer(tmp_path: Path) -> None:
    """And what is broken on purpose is noticed, in the same run."""
    need("torch")
    need("triton")
    folders = []
    for name in SHAPES:
        for flag, kernel in (("always", "all"), ("spec-only", "pools")):
            folder = tmp_path / f"{name}-{flag}-{kernel}"
            package = shape(name, folder)
            done = apply("--copy-flag", flag, "--kernel", kernel, package)
            assert done.code == 0, done.err
            folders.append(folder)
    left_out = shape("direct", tmp_path / "left-out")
    forgot = shape("mapped", tmp_path / "forgot")
    for package in (left_out, forgot):
        assert apply(package).code == 0
        folders.append(package.parent)
    edit(left_out / LAYERED, ("self.index_kv_pool, self.index_k_pool)", "None)"))
    edit(
        forgot / "srt/mem_cache/mapped.py",
        ("self.to_device_slots(tgt_loc)", "tgt_loc"),
    )
    env = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(RUNNER), *map(str, folders)]
    run = subprocess.run(command, capture_output=True, text=True, env=env)
    assert not run.stderr, run.stderr[-3000:]
    assert run.stdout.splitlines() == [
        f"{left_out.parent}: plain: index_kv_pool is wrong",
        f"{left_out.parent}: plain: index_k_pool is wrong",
        f"{forgot.parent}: packed=False mapped=True: main_pool is wrong",
    ]
    assert run.returncode == 1
