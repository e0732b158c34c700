"""What a person or a hostile tree can hand to `lint`: named, never a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lint_trees import files
from trees import write_tree

from kvcodemod.cli import main


def _lint(folder: Path, *options: str) -> Result:
    done = CliRunner().invoke(main, ["lint", str(folder), "--no-cache", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done


def test_exit_codes(tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "a", files())
    assert _lint(folder).exit_code == 1
    assert _lint(folder, "--fail-on", "never").exit_code == 0
    assert _lint(folder, "--ignore", "KVC001").exit_code == 0
    clean = write_tree(tmp_path / "b", files(worker="def go(token_to_kv_pool): pass\n"))
    done = _lint(clean)
    assert done.exit_code == 0
    assert "nothing found" in done.stdout
    guarded = files(
        worker="def go(token_to_kv_pool, r):\n    try:\n"
        "        token_to_kv_pool.move_kv_cache(r, r)\n"
        "    except NotImplementedError:\n        pass\n"
    )
    warned = write_tree(tmp_path / "c", guarded)
    assert _lint(warned).exit_code == 0
    assert _lint(warned, "--fail-on", "warning").exit_code == 1
    assert _lint(tmp_path / "nowhere").exit_code == 2


def test_unknown_rules_are_named_all_at_once(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, files())
    done = _lint(folder, "--select", "KVC777", "--ignore", "nonsense")
    assert done.exit_code == 2
    assert "KVC777" in done.stderr
    assert "nonsense" in done.stderr


@pytest.mark.parametrize(
    "path",
    ["srt/mem_cache/pools.py", "srt/speculative/worker.py", "srt/mem_cache/build.py"],
)
def test_a_file_that_matters_and_does_not_parse(path: str, tmp_path: Path) -> None:
    folder = write_tree(tmp_path, files())
    target = folder / "sglang" / path
    target.write_text(target.read_text() + "\ndef broken(:\n")
    line = len(target.read_text().splitlines())
    done = _lint(folder)
    assert done.exit_code == 3
    assert f"sglang/{path}:{line}" in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    "head", ["class KVCache(abc.ABC\n", "class KVCache(abc.ABC:\n    pass\n"]
)
def test_the_root_of_the_pools_does_not_parse(head: str, tmp_path: Path) -> None:
    pools = "srt/mem_cache/pools.py"
    done = _lint(write_tree(tmp_path, {**files(), pools: f"import abc\n{head}"}))
    assert done.exit_code == 3
    assert f"sglang/{pools}:2: does not parse" in done.stderr


def test_a_file_that_does_not_matter_does_not_stop_it(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, files())
    (folder / "sglang/srt/models").mkdir()
    (folder / "sglang/srt/models/broken.py").write_text("def broken(:\n")
    assert _lint(folder).exit_code == 1


def test_without_pools_or_without_speculative_decoding(tmp_path: Path) -> None:
    no_pools = write_tree(tmp_path / "a", {"srt/speculative/worker.py": "x = 1\n"})
    done = _lint(no_pools)
    assert done.exit_code == 2
    assert "no pool class" in done.stderr
    tree = files()
    del tree["srt/speculative/worker.py"]
    done = _lint(write_tree(tmp_path / "b", tree))
    assert done.exit_code == 2
    assert "srt/speculative/" in done.stderr


def test_nested_deeply(tmp_path: Path) -> None:
    tree = files()
    tree["srt/speculative/deep.py"] = (
        "def go(token_to_kv_pool, r):\n    token_to_kv_pool.move_kv_cache(r, "
        + "(" * 5000 + "r" + ")" * 5000 + ")\n"
    )  # fmt: skip
    done = _lint(write_tree(tmp_path, tree))
    assert done.exit_code == 3
    assert "deep.py" in done.stderr


@pytest.mark.parametrize("depth", [90, 900])
def test_long_chains_of_operators(depth: int, tmp_path: Path) -> None:
    """What Python parses need not be walked by recursion."""
    tree = files()
    tree["srt/speculative/deep.py"] = (
        "def go(token_to_kv_pool, r):\n    return token_to_kv_pool.get_key_buffer(0)"
        + " + r.a.b(1)" * depth + "\n"
    )  # fmt: skip
    assert _lint(write_tree(tmp_path, tree)).exit_code in (1, 3)


def test_large_files_and_long_words(tmp_path: Path) -> None:
    tree = files()
    tree["srt/speculative/words.py"] = "x = '" + "token_to_kv_pool" * 60_000 + "'\n"
    tree["srt/mem_cache/spaces.py"] = "# KVCache" + " " * 1_000_000 + "x\n"
    tree["srt/models/open.py"] = "class A(\n" * 100_000
    folder = write_tree(tmp_path, tree)
    (folder / "sglang/srt/large.py").write_bytes(b"# KVCache\n" * 2_000_000)
    done = _lint(folder)
    assert done.exit_code == 1
    assert "large.py" in done.stderr


def test_links_pipes_and_strange_bytes(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, files())
    package = folder / "sglang"
    (package / "srt/loop").symlink_to(package, target_is_directory=True)
    (package / "srt/models").mkdir()
    (package / "srt/models/self.py").symlink_to(package / "srt/models/self.py")
    (package / "srt/models/latin.py").write_bytes(b"# caf\xe9 KVCache\n")
    (package / "srt/models/nul.py").write_bytes(b"x = 1\0\n")
    os.mkfifo(package / "srt/models/pipe.py")
    assert _lint(folder).exit_code == 1
    (package / "srt/speculative/latin.py").write_bytes(b"def go(): 'caf\xe9'\n")
    done = _lint(folder)
    assert done.exit_code == 3
    assert "latin.py" in done.stderr


def test_classes_in_a_circle_and_on_themselves(tmp_path: Path) -> None:
    tree = files()
    tree["srt/mem_cache/circle.py"] = (
        "from .circle import A, B\nfrom .pools import KVCache\n"
        "class A(B, KVCache): pass\nclass B(A): pass\nclass C(C, KVCache): pass\n"
    )
    assert _lint(write_tree(tmp_path, tree)).exit_code == 1


def test_a_terminal_is_not_driven_by_a_file(tmp_path: Path) -> None:
    tree = files()
    tree["srt/mem_cache/pools.py"] = tree["srt/mem_cache/pools.py"].replace(
        '"odd"', '"odd \x1b[2J \u202e"'
    )
    done = _lint(write_tree(tmp_path, tree))
    assert done.exit_code == 1
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_json(tmp_path: Path) -> None:
    done = _lint(write_tree(tmp_path, files()), "--output-format", "json")
    data = json.loads(done.stdout)
    assert data["schema_version"] == 1
    (finding,) = data["findings"]
    wanted = {
        "rule", "name", "severity", "confidence", "message", "path", "line", "column",
        "symbol", "affected", "trace", "fix", "fingerprint",
    }  # fmt: skip
    assert wanted <= finding.keys()
    assert finding["path"] == "sglang/srt/mem_cache/pools.py"
    assert finding["affected"] == ["sglang.srt.mem_cache.pools.Odd"]
    assert finding["trace"][0]["path"] == "sglang/srt/speculative/worker.py"
    assert finding["trace"][-1]["path"] == finding["path"]
    assert set(finding["trace"][0]) == {"path", "line", "symbol", "note"}


def test_the_fingerprint_outlives_a_move_of_lines(tmp_path: Path) -> None:
    one = _lint(write_tree(tmp_path / "a", files()), "--output-format", "json")
    tree = files()
    tree["srt/mem_cache/pools.py"] = (
        "\n\n    # words\n" + tree["srt/mem_cache/pools.py"]
    )
    other = _lint(write_tree(tmp_path / "b", tree), "--output-format", "json")
    first, second = (json.loads(d.stdout)["findings"][0] for d in (one, other))
    assert first["line"] != second["line"]
    assert first["fingerprint"] == second["fingerprint"]
