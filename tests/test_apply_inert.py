"""The target is text: never imported, never run, each file of it read once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from apply_trees import FLAGS, SHAPES, apply, shape

import kvcodemod

TRAP = """\
from pathlib import Path as _Path
_Path({marker!r}).write_text("imported")
raise SystemExit("the target was imported")
"""


@pytest.mark.parametrize(
    "command",
    [
        ("apply", "--check"),
        ("apply", "--diff", "--copy-flag", "spec-only"),
        ("apply", "--kernel", "all"),
        ("matrix",),
        ("lint",),
    ],
    ids=" ".join,
)
def test_the_target_is_never_imported(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Nor what stands beside it: no torch, no triton."""
    package = shape("params", tmp_path / "tree")
    marker = tmp_path / "imported"
    trap = TRAP.format(marker=str(marker))
    for path in package.rglob("*.py"):
        text = path.read_text()
        first = "from __future__ import annotations\n"
        at = text.index(first) + len(first) if first in text else len(text)
        path.write_text(text[:at] + trap + text[at:])
    (package / "srt/speculative").mkdir()
    (package / "srt/speculative/worker.py").write_text(trap)
    for name in ("torch", "triton", "torch_npu"):
        (package.parent / f"{name}.py").write_text(trap)
    env = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "kvcodemod", *command, str(package)],
        capture_output=True,
        text=True,
        env=env,
        cwd=package.parent,
    )
    assert done.returncode in (0, 1), done.stderr
    assert not marker.exists()
    assert not list(tmp_path.rglob("__pycache__"))
    if command[0] == "apply":
        assert "LayeredPool" in done.stdout + done.stderr


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("name", SHAPES)
def test_no_file_is_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, flag: str
) -> None:
    package = shape(name, tmp_path)
    opened: Counter[str] = Counter()
    real_open = os.open

    def counted(path: object, *rest: object, **more: object) -> int:
        if str(path).startswith(str(package)) and not Path(str(path)).is_dir():
            opened[str(path)] += 1
        return real_open(path, *rest, **more)  # type: ignore[call-overload, no-any-return]

    def refused(path: Path, *rest: object, **more: object) -> object:
        assert not path.is_relative_to(package), f"{path} is read past the counter"
        return real_path_open(path, *rest, **more)  # type: ignore[arg-type]

    real_path_open = Path.open
    monkeypatch.setattr(os, "open", counted)
    monkeypatch.setattr(Path, "open", refused)
    assert apply("--check", "--copy-flag", flag, package).code == 1
    sources = {str(path) for path in package.rglob("*.py")}
    assert set(opened) == sources
    assert set(opened.values()) == {1}


def test_no_metadata_of_libcst_is_computed() -> None:
    sources = Path(kvcodemod.__file__).parent.rglob("*.py")
    used = [
        p for p in sources if "Metadata" in p.read_text() and "cst" in p.read_text()
    ]
    assert not used
