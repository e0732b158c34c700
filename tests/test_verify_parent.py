"""The proof's parent side: what a person can cause is a message, never a traceback."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from pathlib import Path

import pytest

from kvcodemod.verify.outcome import ProofReport, Step
from kvcodemod.verify.run import run_proof
from kvcodemod.verify.subject import CallSite, Wrapper

WRAPPER = Wrapper(
    "sglang.pools",
    "Pool",
    "sglang/pools.py",
    7,
    (CallSite("sglang/a.py", 3, ("size", "page_size"), 1, True),),
)

START = {
    "event": "start",
    "device": "cpu",
    "python": "3.11.7",
    "torch": "2.9",
    "triton": "3.5",
}
CASE = {
    "event": "case",
    "wrapper": "Pool",
    "name": "a",
    "status": "passed",
    "moves": 3,
    "pools": [{"name": "main_pool", "cls": "Main", "buffers": 2}],
    "failures": [],
    "seconds": 0.5,
}
FAILURE = {
    "pattern": "chained",
    "place": "Pool.main_pool.k_buffer[1]",
    "pool": "main_pool",
    "reason": "rows differ",
    "detail": "2 rows differ",
}


def fake_python(folder: Path, body: str) -> str:
    """A program that stands in for the target's Python; it may read `request`."""
    path = folder / "fake-python"
    head = f"#!{sys.executable}\nimport json, os, signal, sys, time\n"
    head += "request = json.loads(sys.stdin.read())\n"
    head += "say = lambda event: print(json.dumps(event), flush=True)\n"
    path.write_text(head + textwrap.dedent(body))
    path.chmod(0o755)
    return str(path)


def prove(folder: Path, body: str, **options: object) -> ProofReport:
    python = fake_python(folder, body)
    return run_proof(folder / "sglang", [WRAPPER], python=python, **options)  # type: ignore[arg-type]


def test_events_become_a_report(tmp_path: Path) -> None:
    bad = {**CASE, "name": "b", "status": "failed", "failures": [FAILURE]}
    steps: list[Step] = []
    body = f"""
    say({START!r})
    say({{"event": "plan", "cases": 2}})
    say({{"event": "case-start", "wrapper": "Pool", "name": "a"}})
    say({CASE!r})
    say({{"event": "case-start", "wrapper": "Pool", "name": "b"}})
    say({bad!r})
    say({{"event": "done"}})
    """
    report = prove(tmp_path, body, on_event=steps.append)
    assert report.problem is None
    assert report.status == "failed"
    assert [case.status for case in report.cases] == ["passed", "failed"]
    assert report.cases[1].failures[0].place == "Pool.main_pool.k_buffer[1]"
    assert report.runtime is not None
    assert report.runtime.triton == "3.5"
    assert steps == [Step("Pool: a", 0, 2), Step("Pool: b", 1, 2)]


def test_request_names_wrappers_and_call_sites(tmp_path: Path) -> None:
    body = f"""
    open({str(tmp_path / "seen")!r}, "w").write(json.dumps(request))
    say({START!r}); say({CASE!r}); say({{"event": "done"}})
    """
    report = prove(
        tmp_path, body, extra_path=[tmp_path], device="cpu", long_permutations=True
    )
    assert report.passed
    seen = json.loads((tmp_path / "seen").read_text())
    assert seen["package"] == str(tmp_path / "sglang")
    assert seen["extra_path"] == [str(tmp_path)]
    assert seen["device"] == "cpu"
    assert seen["long_permutations"] is True
    call = {
        "place": "sglang/a.py:3",
        "keywords": ["size", "page_size"],
        "positional": 1,
        "extra_keywords": True,
    }
    assert seen["wrappers"] == [
        {
            "module": "sglang.pools",
            "qualname": "Pool",
            "place": "sglang/pools.py:7",
            "calls": [call],
        }
    ]


def test_the_child_gets_no_layout_switches_and_writes_no_bytecode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGLANG_USE_HND_KVCACHE", "1")
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    body = f"""
    open({str(tmp_path / "seen")!r}, "w").write(json.dumps(dict(os.environ)))
    say({CASE!r}); say({{"event": "done"}})
    """
    prove(tmp_path, body)
    seen = json.loads((tmp_path / "seen").read_text())
    assert "SGLANG_USE_HND_KVCACHE" not in seen
    assert "TRITON_INTERPRET" not in seen
    assert seen["PYTHONDONTWRITEBYTECODE"] == "1"


def test_nothing_to_prove(tmp_path: Path) -> None:
    report = run_proof(tmp_path, [])
    assert report.status == "unchecked"
    assert report.problem is not None
    assert report.problem.kind == "nothing-to-prove"


@pytest.mark.parametrize("name", ["no-such-python-anywhere", "folder", "plain-file"])
def test_python_that_cannot_be_started(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain-file").write_text("text")
    report = run_proof(tmp_path, [WRAPPER], python=str(tmp_path / name))
    assert report.status == "unchecked"
    assert report.problem is not None
    assert report.problem.kind == "python"
    assert name in report.problem.message
    assert "--python" in report.problem.hint


def test_python_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"\x7fELF not really")
    path.chmod(0o755)
    report = run_proof(tmp_path, [WRAPPER], python=str(path))
    assert report.problem is not None
    assert report.problem.kind == "python"


def test_a_program_that_is_no_python(tmp_path: Path) -> None:
    path = tmp_path / "greeter"
    path.write_text("#!/bin/sh\necho hello there\n")
    path.chmod(0o755)
    report = run_proof(tmp_path, [WRAPPER], python=str(path))
    assert report.problem is not None
    assert report.problem.kind == "protocol"
    assert "hello there" in report.problem.message


def test_noise_among_the_events_is_no_harm(tmp_path: Path) -> None:
    body = f"""
    print("Welcome to this interpreter!")
    print("[1, 2]"); print('"event"'); print("{{}}"); print("\\x00\\xff")
    say({START!r})
    print("WARNING: something", flush=True)
    say({CASE!r})
    say({{"event": "something-new"}})
    say({{"event": "done"}})
    """
    report = prove(tmp_path, body)
    assert report.passed


def test_killed_by_a_signal(tmp_path: Path) -> None:
    body = f"""
    say({START!r})
    say({{"event": "case-start", "wrapper": "Pool", "name": "odd rows"}})
    sys.stderr.write("about to fall\\n"); sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGSEGV)
    """
    report = prove(tmp_path, body)
    assert report.status == "unchecked"
    assert report.problem is not None
    assert report.problem.kind == "crash"
    for part in ("SIGSEGV", "Pool: odd rows", "about to fall"):
        assert part in report.problem.message


def test_a_difference_found_before_a_crash_still_counts(tmp_path: Path) -> None:
    bad = {**CASE, "status": "failed", "failures": [FAILURE]}
    report = prove(tmp_path, f"say({START!r}); say({bad!r}); os._exit(9)")
    assert report.status == "failed"
    assert report.problem is not None
    assert "exit 9" in report.problem.message


def test_an_end_without_done_is_no_pass(tmp_path: Path) -> None:
    report = prove(tmp_path, f"say({START!r}); say({CASE!r})")
    assert report.status == "unchecked"
    assert report.problem is not None


def test_done_without_a_case_is_no_pass(tmp_path: Path) -> None:
    report = prove(tmp_path, f'say({START!r}); say({{"event": "done"}})')
    assert report.status == "unchecked"


def test_timeout_ends_the_worker_and_its_children(tmp_path: Path) -> None:
    body = f"""
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open({str(tmp_path / "child")!r}, "w").write(str(child.pid))
    say({START!r})
    say({{"event": "stage", "text": "importing forever"}})
    time.sleep(60)
    """
    start = time.monotonic()
    report = prove(tmp_path, body, timeout=2)
    assert time.monotonic() - start < 20
    assert report.problem is not None
    assert report.problem.kind == "timeout"
    assert "importing forever" in report.problem.message
    assert _gone(int((tmp_path / "child").read_text()))


def _gone(pid: int) -> bool:
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/status")
        if status.exists() and "\nState:\tZ" in status.read_text():
            return True
        time.sleep(0.1)
    return False


def test_a_worker_that_closes_its_output_but_stays(tmp_path: Path) -> None:
    body = f"say({START!r}); os.close(1); time.sleep(60)"
    report = prove(tmp_path, body, timeout=2)
    assert report.problem is not None
    assert report.problem.kind == "timeout"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            {"kind": "missing-dependency", "dependency": "orjson"},
            "pip install 'orjson'",
        ),
        (
            {
                "kind": "missing-dependency",
                "dependency": "xgrammar",
                "required": "xgrammar==0.2.1",
            },
            "pip install 'xgrammar==0.2.1'",
        ),
        (
            {
                "kind": "unsuitable-dependency",
                "dependency": "transformers",
                "version": "5.24.0",
                "required": "transformers==5.12.1",
            },
            "transformers 5.24.0 may not suit this release; "
            "this SGLang asks for transformers==5.12.1",
        ),
    ],
)
def test_a_dependency_is_named_with_what_to_do(
    tmp_path: Path, event: dict[str, str], words: str
) -> None:
    event = {"event": "problem", "message": "no", **event}
    report = prove(tmp_path, f"say({event!r}); sys.exit(1)")
    assert report.status == "unchecked"
    assert report.problem is not None
    assert words in report.problem.hint


def test_without_the_gpus_packages_auto_falls_back_to_the_cpu(tmp_path: Path) -> None:
    lacking = {
        "event": "problem",
        "kind": "missing-dependency",
        "message": "no module 'sgl_kernel'",
        "dependency": "sglang-kernel",
    }
    body = f"""
    if request["device"] == "auto":
        say({{**{START!r}, "device": "cuda"}}); say({lacking!r}); sys.exit(1)
    say({START!r}); say({CASE!r}); say({{"event": "done"}})
    """
    report = prove(tmp_path, body)
    assert report.passed
    assert report.notes == ("not checked on the GPU: no module 'sgl_kernel'",)
    report = prove(tmp_path, body.replace('== "auto"', '== "cuda"'), device="cuda")
    assert report.problem is not None
    assert report.problem.kind == "missing-dependency"
