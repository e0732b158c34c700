"""Hostile files: named where they matter, else passed over; never a traceback."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from apply_trees import BUILD, KEYS, LAYERED, apply, edit, shape, snapshot

DEEP = "x = " + "(" * 10_000 + ")" * 10_000
SOME = "x = " + " + ".join(["y"] * 700)
MANY = "x = " + " + ".join(["y"] * 2_500)
LONG = "x = " + " + ".join(["y"] * 20_000)
NESTED = "".join(f"{' ' * at}if x:\n" for at in range(99)) + " " * 99 + "pass\n"

BROKEN: dict[str, tuple[bytes, str]] = {
    "syntax error": (b"def (:\n", "does not parse"),
    "deep nesting": (DEEP.encode(), "does not parse"),
    "null bytes": (b"x = 1\n\0\n", "does not parse: "),
    "latin-1, undeclared": ("# gr\xfcn\n".encode("latin-1"), "not valid utf-8"),
    "an unknown encoding": (b"# coding: klingon\n", "cannot tell the encoding"),
    "a mark and another encoding": (
        b"\xef\xbb\xbf# coding: latin-1\n",
        "cannot tell the encoding",
    ),
    "utf-16": ("\ufeffx = 1".encode("utf-16-le"), ""),
    "python 2": (b"print 'x'\n", "does not parse"),
    "a conflict": (b"<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n", "not parse"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_that_matters(tmp_path: Path, name: str) -> None:
    data, reason = BROKEN[name]
    package = shape("direct", tmp_path)
    old = (package / KEYS).read_bytes()
    first = data if b"coding" in data else b""
    (package / KEYS).write_bytes(first + old + (b"" if first else data))
    before = snapshot(package)
    done = apply(package)
    assert done.code == 3
    assert done.err.startswith("kvcodemod: sglang/srt/mem_cache/pool/keys.py:")
    assert reason in done.err
    assert done.err.endswith("\nnothing was changed\n")
    assert snapshot(package) == before


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_that_does_not_matter(tmp_path: Path, name: str) -> None:
    package = shape("direct", tmp_path)
    (package / "srt/broken.py").write_bytes(BROKEN[name][0])
    (package / "srt/empty.py").write_bytes(b"")
    done = apply(package)
    assert done.code == 0
    assert "broken.py" not in done.err
    assert "def move_kv_rows(" in (package / KEYS).read_text()


def test_a_site_that_does_not_parse(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    (package / BUILD).write_bytes((package / BUILD).read_bytes() + b"\ndef (:\n")
    done = apply(package)
    assert done.code == 3
    line = (package / BUILD).read_bytes().count(b"\n")
    assert f"kvcodemod: sglang/{BUILD}:{line}: does not parse" in done.err


@pytest.mark.parametrize(
    "text",
    [SOME, MANY, LONG, NESTED, DEEP],
    ids=["some", "many", "long", "nested", "deep"],
)
@pytest.mark.parametrize("path", [KEYS, LAYERED, BUILD])
def test_deep_trees_end_without_a_traceback(
    tmp_path: Path, text: str, path: str
) -> None:
    package = shape("direct", tmp_path)
    data = (package / path).read_bytes()
    (package / path).write_bytes(data + f"\n\ndef deep(x, y):\n    {text}\n".encode())
    if text is NESTED:
        (package / path).write_bytes(data + f"\n\n{text}".encode())
    before = snapshot(package)
    done = apply(package)
    if done.code == 0:
        assert apply("--check", package).code == 0
    else:
        assert done.code == 3
        assert f"kvcodemod: sglang/{path}" in done.err
        assert "nested too deeply" in done.err or "parse" in done.err
        assert snapshot(package) == before


@pytest.mark.parametrize("size", [10, 17], ids="{} MB".format)
def test_a_huge_file(tmp_path: Path, size: int) -> None:
    package = shape("direct", tmp_path)
    line = b"# class Nothing: as good as empty\n"
    (package / "srt/data.py").write_bytes(line * (size * 1024 * 1024 // len(line)))
    done = apply(package)
    assert done.code == 0
    too_large = "sglang/srt/data.py: larger than 16777216 bytes: not read"
    assert (too_large in done.err) == (size > 16)
    assert "def move_kv_rows(" in (package / KEYS).read_text()


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


NOT_FILES: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a socket": _socket,
    "a folder": Path.mkdir,
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("name", NOT_FILES)
def test_what_is_named_like_a_source_file(tmp_path: Path, name: str) -> None:
    package = shape("direct", tmp_path)
    NOT_FILES[name](package / "srt/odd.py")
    done = apply(package)
    assert done.code == 0
    if name != "a folder":
        assert "kvcodemod: warning: sglang/srt/odd.py: " in done.err
    assert "def move_kv_rows(" in (package / KEYS).read_text()


@pytest.mark.parametrize("name", ["version.py", "_version.py"])
def test_a_version_that_hangs(tmp_path: Path, name: str) -> None:
    package = shape("direct", tmp_path)
    os.mkfifo(package / name)
    done = apply("--check", package)
    assert done.code == 1
    assert done.out.startswith("SGLang (version unknown): ")


def test_a_read_only_file(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    (package / KEYS).chmod(0o444)
    before = snapshot(package)
    done = apply(package)
    assert done.code == 3
    assert f"sglang/{KEYS}: read-only; make it writable (chmod u+w)" in done.err
    assert snapshot(package) == before
    assert apply("--check", package).code == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    folder = (package / KEYS).parent
    before = snapshot(package)
    folder.chmod(0o555)
    try:
        done = apply(package)
    finally:
        folder.chmod(0o755)
    assert done.code == 3
    assert "nothing was changed" in done.err
    assert snapshot(package) == before


def test_an_unreadable_file_that_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As anybody but root meets it: the wrapper's index pool is not known."""
    package = shape("direct", tmp_path)
    real = os.open

    def refusing(path: str, *args: int) -> int:
        if str(path).endswith("keys.py"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args)

    before = snapshot(package)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing)
        done = apply(package)
    assert done.code == 3
    assert f"kvcodemod: warning: sglang/{KEYS}: Permission denied\n" in done.err
    assert "cannot tell which pool `self.index_k_pool` is given" in done.err
    assert snapshot(package) == before


def test_a_patch_that_cannot_be_written(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    done = apply("--patch", tmp_path / "no/such/folder/x.patch", package)
    assert done.code == 3
    assert "no/such/folder/x.patch: No such file or directory" in done.err


def test_a_class_statement_that_is_spread_out(tmp_path: Path) -> None:
    """Comments, line breaks and brackets in the header hide no pool."""
    package = shape("direct", tmp_path)
    edit(
        package / KEYS,
        (
            "class KeyPool(base.KVCache):",
            "class KeyPool(  # (keys)\n    base.KVCache,\n):",
        ),
    )
    done = apply(package)
    assert done.code == 0, done.err
