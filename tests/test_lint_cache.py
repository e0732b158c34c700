"""The cache changes how long a run takes, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from lint_trees import files
from trees import write_tree

from kvcodemod.cli import main
from kvcodemod.facts.prefilter import unparsable
from kvcodemod.lint import session


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each run that was not answered from the cache."""
    counted: list[int] = []
    real = session.run_rules

    def counting(*args: object, **kwargs: object) -> object:
        counted.append(1)
        return real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "run_rules", counting)
    return counted


def _lint(folder: Path, *options: str) -> str:
    arguments = ["lint", str(folder), "--output-format", "json", *options]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def _tree(tmp_path: Path) -> Path:
    tree = files()
    tree["srt/models/llama.py"] = "x = 1\n"
    return write_tree(tmp_path / "tree", tree)


def test_the_second_run_is_the_first(tmp_path: Path, runs: list[int]) -> None:
    folder = _tree(tmp_path)
    first = _lint(folder)
    assert _lint(folder) == first
    assert len(runs) == 1
    assert _lint(folder, "--no-cache") == first
    assert len(runs) == 2


def test_what_has_no_say_may_change(tmp_path: Path, runs: list[int]) -> None:
    folder = _tree(tmp_path)
    first = _lint(folder)
    (folder / "sglang/srt/models/llama.py").write_text("x = 2\n")
    (folder / "sglang/srt/models/new.py").write_text("y = 1\n")
    assert _lint(folder) == first
    (folder / "sglang/srt/models/new.py").unlink()
    assert _lint(folder) == first
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("srt/models/llama.py", "from ..mem_cache.pools import KVCache\n"),
        ("srt/models/new.py", "from ..mem_cache.pools import KVCache as K\n"),
        ("srt/speculative/new.py", "x = 1\n"),
        ("srt/mem_cache/new.py", "x = 1\n"),
        ("srt/arg_groups/new.py", "x = 1\n"),
        ("srt/managers/new.py", "x = 1\n"),
    ],
)
def test_what_may_have_a_say(
    path: str, text: str, tmp_path: Path, runs: list[int]
) -> None:
    folder = _tree(tmp_path)
    _lint(folder)
    target = folder / "sglang" / path
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)
    _lint(folder)
    assert len(runs) == 2


BROKEN = "def broken(:\n"


def _unparsable(folder: Path) -> list[str]:
    """The files under `test/` that a run names as such."""
    done = CliRunner().invoke(main, ["lint", str(folder)])
    said = [text for text in done.stderr.splitlines() if "does not parse" in text]
    return [text.split(":")[2].strip().rpartition("/")[2] for text in said]


def test_what_does_not_parse_is_told_again(tmp_path: Path, runs: list[int]) -> None:
    folder = _tree(tmp_path)
    place = folder / "sglang/test"
    place.mkdir()
    for name, text in (("a", BROKEN), ("b", "x = 1\n"), ("c", BROKEN), ("d", BROKEN)):
        (place / f"{name}.py").write_text(text)
    assert _unparsable(folder) == ["a.py", "c.py", "d.py"]
    assert _unparsable(folder) == ["a.py", "c.py", "d.py"]
    (place / "a.py").write_text("x = 1\n")
    (place / "b.py").write_text(BROKEN)
    (place / "c.py").unlink()
    assert _unparsable(folder) == ["b.py", "d.py"]
    assert len(runs) == 1


def test_a_tree_that_has_become_large_is_looked_at_anew(
    tmp_path: Path, runs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other files are parsed in it."""
    folder = _tree(tmp_path)
    large = folder / "sglang/srt/models/llama.py"
    large.write_text("this was wrong\n" + "# more\n" * 1000)
    _lint(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*.py"))
    monkeypatch.setattr(unparsable, "SMALL_TREE", size)
    assert _unparsable(folder) == ["llama.py"]
    assert len(runs) == 1
    (folder / "sglang/srt/models/new.py").write_text("x = 1\n")
    assert _unparsable(folder) == []
    assert len(runs) == 2


def test_a_mended_tree_is_not_reported_again(tmp_path: Path, runs: list[int]) -> None:
    folder = _tree(tmp_path)
    assert json.loads(_lint(folder))["findings"]
    pools = folder / "sglang/srt/mem_cache/pools.py"
    pools.write_text(
        pools.read_text().replace('raise NotImplementedError("odd")', "return 1")
    )
    assert not json.loads(_lint(folder))["findings"]
    assert len(runs) == 2


def test_other_rules_are_another_run(tmp_path: Path, runs: list[int]) -> None:
    folder = _tree(tmp_path)
    _lint(folder)
    assert not json.loads(_lint(folder, "--select", "KVC002"))["findings"]
    assert len(runs) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: "{",
        lambda text: "[]",
        lambda text: "null",
        lambda text: "[" * 100_000,
        lambda text: text.replace('"line": ', '"line": "x'),
        lambda text: text.replace('"findings": [', '"findings": [1, '),
        lambda text: text.replace('"trace"', '"tracing"'),
        lambda text: text.replace('"configuration": ', '"configuration": 3, "was": '),
        lambda text: text.replace('"excluded": [', '"excluded": [1, '),
        lambda text: text.replace('"files": {', '"files": 3, "was": {'),
        lambda text: text.replace('"format": 2', '"format": 999'),
    ],
)
def test_a_damaged_cache_is_no_cache(
    damage: object, tmp_path: Path, runs: list[int]
) -> None:
    folder = _tree(tmp_path)
    first = _lint(folder)
    (cache,) = (tmp_path / "cache").rglob("*.json")
    cache.write_text(damage(cache.read_text()))  # type: ignore[operator]
    assert _lint(folder) == first
    assert len(runs) == 2


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    folder = _tree(tmp_path)
    assert _lint(folder) == _lint(folder, "--no-cache")


def test_the_order_of_files_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _tree(tmp_path)
    first = _lint(folder, "--no-cache")
    real = os.walk

    def backwards(*args: object, **kwargs: object) -> object:
        for top, folders, names in real(*args, **kwargs):  # type: ignore[call-overload]
            yield top, folders, list(reversed(names))
            folders.reverse()

    monkeypatch.setattr(os, "walk", backwards)
    assert _lint(folder, "--no-cache") == first
