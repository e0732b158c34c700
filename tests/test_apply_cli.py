"""`apply` on the command line: every form of PATH, options, exit codes, JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from apply_contract import read_json
from apply_trees import BUILD, KEYS, LAYERED, apply, edit, shape, snapshot

from kvcodemod.tree.locate import NoPackageError, find_package


def run(*arguments: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kvcodemod", "apply", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **more)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    "form",
    [
        "checkout",
        "checkout/python",
        "checkout/python/sglang",
        "checkout/python/sglang/srt",
        "checkout/python/sglang/srt/mem_cache",
        f"checkout/python/sglang/{KEYS}",
        "checkout/python/sglang/__init__.py",
        "checkout/../checkout/python/",
    ],
)
def test_every_form_of_path(tmp_path: Path, form: str) -> None:
    package = shape("direct", tmp_path / "checkout" / "python")
    (tmp_path / "checkout" / "docs").mkdir()
    found = find_package(tmp_path / form)
    assert found.root == package
    done = apply("--check", tmp_path / form)
    assert (done.code, done.err) == (1, "")


def test_a_path_relative_to_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = shape("direct", tmp_path)
    for folder, path in ((package / "srt", "."), (tmp_path, "sglang"), (package, "..")):
        monkeypatch.chdir(folder)
        assert apply("--check", path).code == 1


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nowhere", "no such file or folder"),
        ("docs", "no SGLang here: looked for a folder with __init__.py and srt/"),
        ("docs/page.py", "no SGLang here"),
        ("circle", "no such file or folder"),
        ("x" * 300, "no such file or folder"),
        ("docs/page.py/sglang", "no such file or folder"),
    ],
)
def test_no_sglang_there(tmp_path: Path, path: str, said: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.py").touch()
    (tmp_path / "circle").symlink_to("circle")
    done = apply(tmp_path / path)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.startswith("kvcodemod: ")
    with pytest.raises(NoPackageError):
        find_package(tmp_path / path)


def test_wrong_usage(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    before = snapshot(package)
    for arguments, said in (
        ((), "give PATH, or --installed in its place"),
        (("--installed", package), "give PATH, or --installed in its place"),
        ((package, package), "unexpected extra argument"),
        (("--copy-flag", "never", package), "'never' is not one of"),
        (("--kernel", "none", package), "'none' is not one of"),
        (("--output-format", "xml", package), "'xml' is not one of"),
        (("--verify", "--check", package), "--verify needs the tree written"),
        (("--diff", "--output-format", "json", package), "--diff prints a patch"),
        (("--patch", tmp_path, package), "is a directory"),
        (("--pool", package), "give PATH"),
        (("--nonsense", package), "No such option"),
    ):
        done = apply(*arguments)
        assert done.code == 2, (arguments, done)
        assert said in done.err
        assert snapshot(package) == before


def test_a_pool_by_name(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    edit(package / LAYERED, ("with enable_kv_cache_copy=True first", "otherwise"))
    (package / LAYERED).write_text(
        (package / LAYERED).read_text().replace("want a flag", "cannot")
    )
    done = apply("--check", package)
    assert done.code == 0
    assert "no pool here builds sub-pools and raises in move_kv_cache" in done.out
    assert apply("--check", "--pool", "LayeredPool", package).code == 1
    done = apply("--pool", "Nothing", package)
    assert done.code == 2
    assert "--pool: no pool class is called Nothing" in done.err
    done = apply("--pool", "RowPool", package)
    assert done.code == 3
    assert "rows.py:10: RowPool does not itself raise" in done.err
    assert apply("--pool", "LayeredPool", package).code == 0
    again = apply("--pool", "LayeredPool", package)
    assert again.code == 0
    assert "LayeredPool.move_kv_cache is implemented" in again.out


def test_two_wrappers_share_what_they_can(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    text = (package / LAYERED).read_text()
    second = text[text.index("class LayeredPool") :].replace("Layered", "Second")
    (package / LAYERED).write_text(f"{text}\n\n{second}")
    done = apply(package)
    assert done.code == 0, done.err
    assert "2 composite pools to rewrite: LayeredPool, SecondPool" in done.out
    assert done.out.count("RowPool\n") == 1  # left alone, once
    assert (package / KEYS).read_text().count("def move_kv_rows(") == 1
    assert (package / KEYS).read_text().count("def move_kv_cache(") == 1
    assert "SecondPool.move_kv_cache are implemented" in apply(package).out


def test_two_wrappers_of_one_file_cannot_both_move_by_themselves(
    tmp_path: Path,
) -> None:
    package = shape("direct", tmp_path)
    text = (package / LAYERED).read_text()
    second = text[text.index("class LayeredPool") :].replace("Layered", "Second")
    (package / LAYERED).write_text(f"{text}\n\n{second}")
    done = apply("--kernel", "all", package)
    assert done.code == 3
    assert "LayeredPool and SecondPool need functions of the same names" in done.err


def test_json_changed_then_unchanged(tmp_path: Path) -> None:
    package = shape("params", tmp_path)
    (package / "version.py").write_text('__version__ = "9.8.7"\n')
    arguments = ("--copy-flag", "spec-only", "--output-format", "json", package)
    for dry, code in (("--check", 1), ("--patch=/dev/null", 0)):
        done = apply(dry, *arguments)
        assert done.code == code
        document = read_json(done.out, tmp_path, "9.8.7", "changed")
    kinds = {
        file["path"]: [e["kind"] for e in file["edits"]] for file in document["files"]
    }
    pool = "sglang/srt/mem_cache/pool"
    assert kinds[f"{pool}/keys.py"][:2] == ["extend-import", "extend-import"]
    assert kinds[f"sglang/{BUILD}"] == ["pass-flag"]
    (flagged,) = document["files"][1]["edits"]
    assert flagged["symbol"] == "Builder.layered"
    line = (package / BUILD).read_text().splitlines()[flagged["line"] - 1]
    assert line.strip() == "return pool_cls("
    (skipped,) = [s for s in document["skipped"] if s["symbol"] == "RowPool"]
    assert "its own move_kv_cache works" in skipped["reason"]
    changed = apply(*arguments)
    assert changed.code == 0
    assert json.loads(changed.out) == document
    done = apply(*arguments)
    assert done.code == 0
    assert read_json(done.out, tmp_path, "9.8.7", "unchanged")["skipped"] == []


def test_json_not_applicable(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    (package / LAYERED).unlink()
    (package / BUILD).unlink()
    for dry in (("--check",), ()):
        done = apply(*dry, "--output-format", "json", package)
        assert done.code == 0
        read_json(done.out, tmp_path, None, "not-applicable")


def test_errors_leave_stdout_to_results(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    (package / KEYS).write_text("class KeyPool(KVCache:\n")
    done = apply("--output-format", "json", package)
    assert (done.code, done.out) == (3, "")


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({}, None),
        ({"sglang/version.py": '__version__ = "0.5.23"'}, "0.5.23"),
        ({"sglang/_version.py": "__version__: str = '0.6.0.dev1'"}, "0.6.0.dev1"),
        ({"sglang/version.py": "__version__ = get_version()"}, None),
        ({"sglang-0.5.22.post1.dist-info/METADATA": ""}, "0.5.22.post1"),
    ],
)
def test_the_version(
    tmp_path: Path, files: dict[str, str], version: str | None
) -> None:
    package = shape("direct", tmp_path)
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert find_package(package).version == version


def test_installed(tmp_path: Path) -> None:
    """Found on `sys.path` without importing it; patches are relative to it."""
    package = shape("direct", tmp_path / "lib" / "site-packages")
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    env = {**os.environ, "PYTHONPATH": str(package.parent)}
    assert run("--installed", "--check", env=env).returncode == 1
    done = run("--installed", "--diff", env=env)
    assert done.returncode == 0
    assert done.stdout.startswith("diff --git a/sglang/srt/")
    assert run("--installed", env=env).returncode == 0
    assert "def move_kv_rows(" in (package / KEYS).read_text()
    assert run("--installed", "--check", env=env).returncode == 0


def test_not_installed(tmp_path: Path) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang/__init__.py").write_text("")
    for path in (tmp_path, tmp_path / "empty"):
        env = {**os.environ, "PYTHONPATH": str(path)}
        done = run("--installed", env=env, cwd=tmp_path / "sglang")
        assert done.returncode == 2
        assert "no SGLang is installed beside this Python" in done.stderr
