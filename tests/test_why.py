"""`kvcodemod why`, and the server of a finding in every report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from server_trees import server_tree
from trees import write_tree

from kvcodemod.cli import main

REFUSED = {"resolve": "if self.enable_split:\n    raise ValueError('no parts')"}
MAYBE = {
    "build": "return SplitPool() if self.model_config.has_parts else PlainPool()",
}
SYMBOL = "SplitPool.move_kv_cache"


def _tree(tmp_path: Path, **holes: str) -> Path:
    return write_tree(tmp_path / "tree", server_tree(**holes))


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_a_server_that_gets_there(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    done = _run("why", str(tree), SYMBOL)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0] == f"{SYMBOL}: a server gets there, and it fails"
    assert lines[1] == ("  server: --speculative-algorithm EAGLE --enable-split (cuda)")
    assert [line.split(":")[0].strip() for line in lines[2:]] == [
        "sglang/srt/speculative/eagle_worker.py",
        "sglang/srt/speculative/eagle_worker.py",
        "sglang/srt/speculative/moves.py",
    ]


def test_what_keeps_every_server_from_it(tmp_path: Path) -> None:
    tree = _tree(tmp_path, **REFUSED)
    done = _run("why", str(tree), SYMBOL)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == (
        f"{SYMBOL}: it would fail, and no server gets there"
    )
    place = "sglang/srt/server_args.py:20: start-up refuses it: ValueError('no parts')"
    assert place in done.stdout


def test_what_has_to_hold_besides_is_said(tmp_path: Path) -> None:
    tree = _tree(tmp_path, **MAYBE)
    done = _run("why", str(tree), SYMBOL)
    assert done.exit_code == 1
    assert (
        "  if: self.model_config.has_parts (sglang/srt/mem_cache/build.py:10)"
        in done.stdout.splitlines()
    )


def test_what_does_not_fail(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    done = _run("why", str(tree), "PlainPool.move_kv_cache")
    assert done.exit_code == 0
    assert "nothing says that it fails" in done.stdout
    done = _run("why", str(tree), "PlainPool.get_key_buffer")
    assert done.exit_code == 0
    assert "does not call it" in done.stdout


def test_a_class_that_is_not_there(tmp_path: Path) -> None:
    done = _run("why", str(_tree(tmp_path)), "NoPool.move_kv_cache")
    assert done.exit_code == 2
    assert "no pool or allocator is called NoPool" in done.stderr


@pytest.mark.parametrize("symbol", ["SplitPool", "SplitPool.", ".x", "A.b-c", "1.b"])
def test_what_is_no_class_and_method(tmp_path: Path, symbol: str) -> None:
    done = _run("why", str(_tree(tmp_path)), symbol)
    assert done.exit_code == 2
    assert "is not CLASS.METHOD" in done.stderr


def test_a_file_that_cannot_be_parsed(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / "sglang/srt/mem_cache/pools.py").write_text("class KVCache(:\n")
    done = _run("why", str(tree), SYMBOL)
    assert done.exit_code == 3
    assert "sglang/srt/mem_cache/pools.py" in done.stderr


def test_the_answer_as_json(tmp_path: Path) -> None:
    done = _run("why", str(_tree(tmp_path)), SYMBOL, "--output-format", "json")
    said = json.loads(done.stdout)
    assert said["outcome"] == "fails"
    assert said["configuration"]["command_line"] == (
        "--speculative-algorithm EAGLE --enable-split"
    )
    assert said["trace"][-1]["symbol"] == "keep_accepted"
    done = _run(
        "why", str(_tree(tmp_path, **REFUSED)), SYMBOL, "--output-format", "json"
    )
    said = json.loads(done.stdout)
    assert (said["outcome"], said["configuration"]) == ("excluded", None)
    assert {
        "text": "start-up refuses it: ValueError('no parts')",
        "path": "sglang/srt/server_args.py",
        "line": 20,
    } in said["facts"]


def test_lint_says_the_server_as_json(tmp_path: Path) -> None:
    done = _run("lint", str(_tree(tmp_path)), "--output-format", "json", "--no-cache")
    assert done.exit_code == 1
    (found,) = json.loads(done.stdout)["findings"]
    assert found["configuration"] == {
        "platform": "cuda",
        "capability": None,
        "architecture": None,
        "options": {"--speculative-algorithm": "EAGLE", "--enable-split": True},
        "environment": {},
        "command_line": "--speculative-algorithm EAGLE --enable-split",
        "assumes": [],
    }


def test_a_warning_says_what_it_assumes(tmp_path: Path) -> None:
    tree = _tree(tmp_path, **MAYBE)
    done = _run("lint", str(tree), "--output-format", "json", "--no-cache")
    assert done.exit_code == 0
    (found,) = json.loads(done.stdout)["findings"]
    assert found["severity"] == "warning"
    assert found["configuration"]["assumes"] == [
        {
            "text": "self.model_config.has_parts",
            "path": "sglang/srt/mem_cache/build.py",
            "line": 10,
        }
    ]


@pytest.mark.parametrize(
    ("form", "server", "condition"),
    [
        ("full", "= server: --speculative-algorithm EAGLE", "= if: self.model_config"),
        ("concise", "[--speculative-algorithm EAGLE (cuda)]", ""),
        ("sarif", "server: --speculative-algorithm EAGLE", "if: self.model_config"),
        ("github", "server: --speculative-algorithm EAGLE", "if: self.model_config"),
        ("junit", "server: --speculative-algorithm EAGLE", "if: self.model_config"),
    ],
)
def test_the_server_stands_in_every_report(
    tmp_path: Path, form: str, server: str, condition: str
) -> None:
    tree = _tree(tmp_path, **MAYBE)
    said = _run("lint", str(tree), "--output-format", form, "--no-cache").stdout
    assert server in said
    assert condition in said


def test_what_is_excluded_is_listed_when_asked_for(tmp_path: Path) -> None:
    tree = _tree(tmp_path, **REFUSED)
    said = _run("lint", str(tree), "--no-cache")
    assert said.exit_code == 0
    assert SYMBOL not in said.stdout
    said = _run("lint", str(tree), "--no-cache", "--show-excluded")
    assert said.exit_code == 0
    assert f"KVC001 {SYMBOL}" in said.stdout
    assert "server_args.py:20: start-up refuses it" in said.stdout
    form = ("--output-format", "json")
    plain = json.loads(_run("lint", str(tree), "--no-cache", *form).stdout)
    assert "excluded" not in plain
    shown = json.loads(
        _run("lint", str(tree), "--no-cache", "--show-excluded", *form).stdout
    )
    (item,) = shown["excluded"]
    assert (item["rule"], item["symbol"]) == ("KVC001", SYMBOL)
    assert item["facts"]


def test_a_rule_that_does_not_run_excludes_nothing(tmp_path: Path) -> None:
    tree = _tree(tmp_path, **REFUSED)
    form = ("--output-format", "json", "--show-excluded", "--ignore", "KVC001")
    assert json.loads(_run("lint", str(tree), *form).stdout)["excluded"] == []


def test_the_cache_keeps_servers_and_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    form = ("--output-format", "json", "--show-excluded")
    for number, holes in enumerate((MAYBE, REFUSED)):
        tree = write_tree(tmp_path / str(number), server_tree(**holes))
        first = _run("lint", str(tree), *form).stdout
        assert list((tmp_path / "cache").rglob("lint-*.json"))
        assert _run("lint", str(tree), *form).stdout == first


def test_a_start_up_that_changes_is_looked_at_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = _tree(tmp_path)
    assert _run("lint", str(tree)).exit_code == 1
    write_tree(tree, server_tree(**REFUSED))
    assert _run("lint", str(tree)).exit_code == 0
