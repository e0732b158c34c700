"""A move of the real pools, rewritten with `--kernel all`, does no host work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import need
from proof_env import extra_path
from releases import pristine
from test_verify_releases import apply

need("torch")
need("triton")

pytestmark = [pytest.mark.proof, pytest.mark.release, pytest.mark.slow]

HOST_WORK = Path(__file__).with_name("host_work_driver.py")


@pytest.mark.parametrize("version", ["0.5.15", "0.5.23"])
def test_a_move_of_the_real_pool_does_no_host_work(
    version: str, tmp_path: Path
) -> None:
    package = apply(version, tmp_path, "--kernel", "all")
    folders = [package.parent, *extra_path(version), Path(__file__).parent]
    path = os.pathsep.join(str(folder) for folder in folders)
    environment = {**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, str(HOST_WORK)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["index_k_pool"] == {"operations": [], "launches": 1}
    # main K and V have one row size, index K another, index K and V share it
    assert seen["wrapper"] == {"operations": [], "launches": 2}
    # the recorder does see what a move must not do
    assert "aten.zeros.default" in seen["control"]
    assert "aten._local_scalar_dense.default" in seen["control"]


def test_the_untouched_release_has_no_such_kernel() -> None:
    text = (pristine("0.5.23") / "sglang/srt/mem_cache/memory_pool.py").read_text()
    assert "move_kv_rows" not in text
