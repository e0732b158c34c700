"""A file that does not parse and has no say: a warning, and the answer stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lint_trees import files
from trees import write_tree

from kvcodemod.cli import main
from kvcodemod.facts import unparsable

BROKEN = "x = 1\n\ndef broken(:\n    pass\n"


def lint(folder: Path, *options: str) -> Result:
    command = ["lint", str(folder), "--output-format", "json", *options]
    return CliRunner().invoke(main, command)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """The same tree without and with a broken file that nothing depends on."""
    whole = write_tree(tmp_path / "whole", files())
    broken = write_tree(tmp_path / "broken", {**files(), "test/notes.py": BROKEN})
    return whole, broken


@pytest.mark.parametrize("options", [("--no-cache",), ()])
def test_it_is_named_with_its_line_and_nothing_else_changes(
    options: tuple[str, ...],
    trees: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    whole, broken = trees
    plain = lint(whole, *options)
    assert "does not parse" not in plain.stderr
    for _ in range(2):  # the second run may answer from the cache
        done = lint(broken, *options)
        assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout)
        assert "warning: sglang/test/notes.py:3: does not parse" in done.stderr


def test_a_large_tree_is_not_parsed_for_it(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unparsable, "SMALL", 10)
    done = lint(trees[1], "--no-cache")
    assert "does not parse" not in done.stderr
