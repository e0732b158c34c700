"""The kernel's values, in processes of their own: by Triton's interpreter and by torch.

The interpreter must be on before Triton is imported, and the tests of the machine code
need it off, so the cases stand in `kernel_value_cases.py` and run in subprocesses.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from needs import need

need("torch")
need("triton")
need("hypothesis")

import kernel_launches as launches  # noqa: E402

CASES = Path(__file__).with_name("kernel_value_cases.py")
pytestmark = pytest.mark.slow


def run(
    interpreted: bool, module: Path | None = None, only: str = ""
) -> tuple[int, str]:
    """Run the cases, on another copy of the module if given; exit code and output."""
    settings = {"TRITON_INTERPRET": "1" if interpreted else "0"}
    if module is not None:
        settings["KERNEL_MODULE"] = str(module)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(CASES),
    ]
    command += ["-x", "-k", only] if only else []
    done = subprocess.run(
        command,
        env={**os.environ, **settings},
        cwd=CASES.parent,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("route", ["interpreter", "torch"])
def test_every_case_passes(route: str) -> None:
    code, output = run(route == "interpreter")
    assert code == 0, output
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None, output
    assert int(passed[1]) > 100, output
    assert "skipped" not in output, output


@pytest.mark.parametrize(
    ("change", "interpreted", "only"),
    [
        pytest.param(
            ("if plan is None:", "if plan is False:"), False, "no_plan", id="no-plan"
        ),
        pytest.param(
            (
                "block[tgt_loc.long()] = block[src_loc.long()]",
                "for t, s in zip(tgt_loc.split(256), src_loc.split(256)):"
                " block[t.long()] = block[s.long()]",
            ),
            False,
            "patterns",
            id="chunks-of-pairs",
        ),
        pytest.param(
            ("not buf.is_contiguous()", "False"), False, "refused", id="not-contiguous"
        ),
        pytest.param(
            ("base + src.to(tl.int64)", "base + src"), True, "gigabytes", id="32-bit"
        ),
        pytest.param((" & (byte < units * UNIT)", ""), True, "patterns", id="columns"),
        pytest.param(
            ("live = pair < pairs", "live = pair <= pairs"),
            True,
            "patterns",
            id="pairs",
        ),
        pytest.param(("pair * src_step", "pair * 2"), True, "any_move", id="stride"),
        pytest.param(
            ('tile["UNITS"]), len(rows))', 'tile["UNITS"]), 1)'),
            True,
            "layouts",
            id="one-buffer",
        ),
    ],
)
def test_a_defect_fails_the_cases(
    change: tuple[str, str], interpreted: bool, only: str, tmp_path: Path
) -> None:
    code, output = run(interpreted, launches.mutated(tmp_path, change), only)
    # A test failed, or a wild address ended the process; otherwise they did not run.
    assert code in (1, -signal.SIGSEGV), output
    assert code != 1 or re.search(r"[1-9]\d* failed", output), output
