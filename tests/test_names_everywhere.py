"""`[tool.kvcodemod.names]` means the same to every command that reads a tree."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from apply_trees import shape
from gate_trees import run

import kvcodemod.cli.verify
from kvcodemod.verify.outcome import ProofReport
from kvcodemod.verify.subject import Wrapper

NAMES = '[tool.kvcodemod.names]\npool-bases = ["RowStore"]\n'


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    """A tree whose root of the pools has another name."""
    package = shape("direct", tmp_path)
    for file in package.rglob("*.py"):
        text = file.read_text()
        file.write_text(re.sub(r"\bKVCache\b", "RowStore", text))
    return package


@pytest.fixture
def names(tmp_path: Path) -> Path:
    """A file of settings outside the tree."""
    file = tmp_path / "names.toml"
    file.write_text(NAMES)
    return file


def test_apply(renamed: Path, names: Path) -> None:
    assert run("apply", renamed, "--check").code == 0
    assert run("apply", renamed, "--check", "--config", names).code == 1
    done = run("apply", renamed, "--config", names)
    assert done.code == 0
    assert run("apply", renamed, "--check", "--config", names).code == 0


def test_matrix(renamed: Path, names: Path) -> None:
    without = run("matrix", renamed)
    assert without.code == 2
    assert "no pool class (a subclass of KVCache)" in without.err
    done = run("matrix", renamed, "--config", names, "--output-format", "json")
    assert done.code == 0
    assert json.loads(done.out)["classes"]


def test_verify(renamed: Path, names: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proved: list[int] = []

    def prove(package: Path, wrappers: list[Wrapper], **_: object) -> ProofReport:
        proved.append(len(wrappers))
        raise SystemExit(0)

    monkeypatch.setattr(kvcodemod.cli.verify, "run_proof", prove)
    run("verify", renamed)
    run("verify", renamed, "--config", names)
    assert proved[0] == 0
    assert proved[1] > 0


def test_the_nearest_file_counts(renamed: Path) -> None:
    (renamed.parent / "pyproject.toml").write_text(NAMES)
    assert run("apply", renamed, "--check").code == 1
    assert run("matrix", renamed).code == 0


@pytest.mark.parametrize("command", ["apply", "matrix", "verify", "lint"])
def test_a_wrong_file_ends_every_command_alike(renamed: Path, command: str) -> None:
    (renamed.parent / "pyproject.toml").write_text("[tool.kvcodemod.names]\nbase = 1\n")
    done = run(command, renamed)
    assert done.code == 2
    assert "pyproject.toml:2" in done.err
    assert "base" in done.err
