"""`kvcodemod verify`: the exit code for every outcome of a proof."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from trees import write_tree

from kvcodemod.cli import main, verify
from kvcodemod.verify.outcome import CaseResult, Failure, Problem, ProofReport

FAILURE = Failure("main_pool", "W.main_pool.k_buffer[0]", "nothing was moved", "", "")


def case(status: str) -> CaseResult:
    failures = (FAILURE,) if status == "failed" else ()
    return CaseResult("W", "case", status, 1, (), failures, 0.1)  # type: ignore[arg-type]


def report(cases: list[CaseResult], problem: Problem | None = None) -> ProofReport:
    return ProofReport("sglang", "python", None, tuple(cases), problem)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (report([case("passed")]), 0),
        (report([case("passed"), case("failed")]), 1),
        (report([case("failed")], Problem("crash", "the worker died")), 1),
        (report([case("passed")], Problem("crash", "the worker died")), 3),
        (report([], Problem("missing-dependency", "no torch")), 3),
        (report([case("unchecked")]), 3),
        (report([], Problem("nothing-to-prove", "no pool of the family")), 0),
    ],
)
def test_exit_codes(
    outcome: ProofReport, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path, {})
    monkeypatch.setattr(verify, "run_proof", lambda *_, **__: outcome)
    done = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert done.exit_code == code, done.output


def test_a_tree_without_the_family_is_named_and_clean(tmp_path: Path) -> None:
    write_tree(tmp_path, {"srt/pool.py": "class KVCache:\n    pass\n"})
    done = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert done.exit_code == 0
    assert "no pool" in done.output


def test_a_file_that_matters_and_does_not_parse(tmp_path: Path) -> None:
    text = "class KVCache:\n    pass\n\nclass Pool(KVCache):\n    def broken(:\n"
    write_tree(tmp_path, {"srt/pool.py": text})
    done = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert done.exit_code == 3
    assert "sglang/srt/pool.py:5" in done.output
