"""`apply` on every release that has the wrapper: codes, patches, sizes, ruff, JSON."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from apply_contract import read_json
from apply_trees import FLAGS, Done, apply
from releases import ALL, BEFORE, copy_of, pristine

pytestmark = [pytest.mark.release, pytest.mark.slow]

CEILINGS = {
    "0.5.15": (120, 124),
    "0.5.16": (120, 122),
    "0.5.17": (120, 122),
    "0.5.18": (132, 135),
    "0.5.19": (132, 135),
    "0.5.20": (132, 135),
    "0.5.21": (148, 151),
    "0.5.22": (148, 151),
    "0.5.23": (156, 159),
}
"""Changed lines (added and removed) with `always` and with `spec-only`."""
WRAPPER = "MiniMaxSparseKVPool"


def changed_lines(patch: bytes) -> int:
    lines = patch.split(b"\n")
    return sum(
        line[:1] in (b"+", b"-") and line[:4] not in (b"+++ ", b"--- ")
        for line in lines
    )


def differing(one: Path, other: Path) -> set[str]:
    """Files of two packages that differ, or that only one has, hidden ones too."""
    seen = [
        {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_file()}
        for root in (one, other)
    ]
    found = seen[0].keys() ^ seen[1].keys()
    for name in seen[0].keys() & seen[1].keys():
        pair = [files[name] for files in seen]
        stats = [path.stat() for path in pair]
        same = len({(s.st_size, s.st_mtime_ns) for s in stats}) == 1
        if not same and len({path.read_bytes() for path in pair}) > 1:
            found.add(name)
    return {f"sglang/{name}" for name in found}


def ruff(folder: Path, *arguments: str) -> Counter[str]:
    """What ruff says about a folder, without line numbers, as a multiset."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *arguments, "--isolated", "."],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("@@")]
    if arguments[0] == "check":  # file:line:column: words
        parts = (line.split(":") for line in lines)
        lines = [":".join([words[0], *words[3:]]) for words in parts]
    else:
        lines = [
            line
            for line in lines
            if line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- "))
        ]
    return Counter(lines)


def some_files(package: Path, paths: set[str], into: Path) -> Path:
    for path in paths:
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(package.parent / path, into / path)
    return into


def patched(files: Path, patch: bytes) -> None:
    for command in (["init", "-q"], ["apply", "-"]):
        given = patch if command[0] == "apply" else b""
        done = subprocess.run(
            ["git", *command], cwd=files, input=given, capture_output=True
        )
        assert done.returncode == 0, done.stderr


def run(package: Path, flag: str, *more: str) -> Done:
    return apply("--copy-flag", flag, *more, package)


@pytest.mark.parametrize("version", ALL)
def test_every_release(tmp_path: Path, version: str) -> None:
    package = copy_of(version, tmp_path / "copy")
    untouched = pristine(version) / "sglang"
    for flag, ceiling in zip(FLAGS, CEILINGS[version], strict=True):
        checked = run(package, flag, "--check", "--output-format", "json")
        assert (checked.code, checked.err) == (1, "")
        document = read_json(checked.out, package.parent, version, "changed")
        paths = {file["path"] for file in document["files"]}
        moved = [
            edit["symbol"]
            for file in document["files"]
            for edit in file["edits"]
            if edit["kind"] == "delegate-move"
        ]
        assert moved == [f"{WRAPPER}.move_kv_cache"]
        patch = run(package, flag, "--diff")
        assert patch.code == 0
        assert not differing(package, untouched)
        assert changed_lines(patch.raw) <= ceiling

        before = some_files(package, paths, tmp_path / f"before-{flag}")
        by_git = some_files(package, paths, tmp_path / f"git-{flag}")
        patched(by_git, patch.raw)
        assert run(package, flag).code == 0
        assert differing(package, untouched) == paths
        for path in paths:
            old, new = untouched.parent / path, package.parent / path
            assert new.read_bytes() == (by_git / path).read_bytes()
            assert new.stat().st_mode == old.stat().st_mode
            compile(new.read_bytes(), path, "exec")

        shutil.rmtree(by_git / ".git")
        select = ("check", "--select", "E,F,I,UP,B", "--output-format", "concise")
        assert not ruff(by_git, *select) - ruff(before, *select)
        layout = ("format", "--diff")
        assert not ruff(by_git, *layout) - ruff(before, *layout)

        for again in (("--check",), ()):
            done = run(package, flag, *again, "--output-format", "json")
            assert done.code == 0
            read_json(done.out, package.parent, version, "unchanged")
        assert not run(package, flag, "--diff").out
        assert differing(package, untouched) == paths
        for path in paths:
            shutil.copy2(untouched.parent / path, package.parent / path)


@pytest.mark.parametrize("version", ALL)
def test_the_kernel_for_all_is_as_clean(tmp_path: Path, version: str) -> None:
    untouched = pristine(version) / "sglang"
    patch = apply("--diff", "--kernel", "all", untouched)
    checked = apply("--check", "--kernel", "all", "--output-format", "json", untouched)
    assert (patch.code, checked.code) == (0, 1)
    document = read_json(checked.out, untouched.parent, version, "changed")
    paths = {file["path"] for file in document["files"]}
    before = some_files(untouched, paths, tmp_path / "before")
    after = some_files(untouched, paths, tmp_path / "after")
    patched(after, patch.raw)
    shutil.rmtree(after / ".git")
    select = ("check", "--select", "E,F,I,UP,B", "--output-format", "concise")
    assert not ruff(after, *select) - ruff(before, *select)
    assert not ruff(after, "format", "--diff") - ruff(before, "format", "--diff")


def test_ruff_is_heard(tmp_path: Path) -> None:
    """The two comparisons above can fail."""
    (tmp_path / "a.py").write_text("import os\nx = [1,2]\n")
    select = ("check", "--select", "E,F,I,UP,B", "--output-format", "concise")
    assert any("F401" in line for line in ruff(tmp_path, *select))
    assert ruff(tmp_path, "format", "--diff") == Counter(
        ["+", "-x = [1,2]", "+x = [1, 2]"]
    )


def test_a_release_without_the_wrapper() -> None:
    package = pristine(BEFORE) / "sglang"
    for more in (("--check",), ()):
        done = apply(*more, "--output-format", "json", package)
        assert done.code == 0
        document = read_json(done.out, package.parent, BEFORE, "not-applicable")
        assert document["files"] == []
    assert "nothing to do" in apply(package).out


def test_a_real_site_packages(tmp_path: Path) -> None:
    """As installed beside a Python: found by `--installed`, patched from there."""
    site = tmp_path / "lib/python3/site-packages"
    package = copy_of(ALL[-1], site)
    env = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "kvcodemod", "apply", "--installed"]
    codes = []
    for more in (["--check"], ["--diff"], [], ["--check"]):
        done = subprocess.run([*command, *more], capture_output=True, env=env)
        codes.append(done.returncode)
        if more == ["--diff"]:
            assert done.stdout.startswith(b"diff --git a/sglang/srt/")
    assert codes == [1, 0, 0, 0]
    assert differing(package, pristine(ALL[-1]) / "sglang")


def test_half_of_a_real_rewrite_is_refused(tmp_path: Path) -> None:
    """Each edited file in turn is put back to what it was."""
    package = copy_of("0.5.20", tmp_path)
    untouched = pristine("0.5.20") / "sglang"
    assert apply(package).code == 0
    edited = differing(package, untouched)
    assert len(edited) == 2
    after = {path: (package.parent / path).read_bytes() for path in edited}
    for path in edited:
        shutil.copy2(untouched.parent / path, package.parent / path)
        done = apply(package)
        if path.endswith("memory_pool_npu.py"):
            assert done.code == 3
            assert "half-edited" in done.err
        else:  # nothing is half done there: the other half finds what it imports
            assert done.code == 0, done.err
            assert (package.parent / path).read_bytes() == after[path]
        (package.parent / path).write_bytes(after[path])
    assert apply("--check", package).code == 0
