"""Byte for byte: whatever is not edited stays, in every encoding and every layout."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from apply_trees import (
    BUILD,
    FLAGS,
    KEYS,
    LAYERED,
    SHAPES,
    apply,
    edit,
    rewrite_bytes,
    shape,
    snapshot,
)

Change = Callable[[bytes], bytes]


def _crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def _mixed(data: bytes) -> bytes:
    """Every third line ends with CRLF, most with LF."""
    lines = data.split(b"\n")
    return b"".join(
        line + (b"\r\n" if at % 3 == 2 else b"\n") for at, line in enumerate(lines[:-1])
    )


def _latin(data: bytes) -> bytes:
    head = b"# -*- coding: latin-1 -*-\n# gr\xfc\xdfe, \xa9\n"
    return head + data.replace(b"class ", b"# \xe4\xf6\xfc\nclass ")


def _indented(by: bytes) -> Change:
    def change(data: bytes) -> bytes:
        lines = []
        for line in data.split(b"\n"):
            bare = line.lstrip(b" ")
            deep, rest = divmod(len(line) - len(bare), 4)
            lines.append(by * deep + b" " * rest + bare)
        return b"\n".join(lines)

    return change


def _trailing(data: bytes) -> bytes:
    """Blanks behind code, blanks on empty lines, three blank lines between classes."""
    data = data.replace(b"\n\n\n", b"\n   \n\n\n")
    return data.replace(b" device)\n", b" device)  \t\n")


CHANGES: dict[str, Change] = {
    "crlf": _crlf,
    "mixed newlines": _mixed,
    "byte-order mark": lambda data: b"\xef\xbb\xbf" + data,
    "byte-order mark and crlf": lambda data: b"\xef\xbb\xbf" + _crlf(data),
    "latin-1": _latin,
    "utf-8 beyond ascii": lambda data: data.replace(
        b"class ", "# 槽位 → слоты 🧪\nclass ".encode()
    ),
    "no last newline": lambda data: data.rstrip(b"\n"),
    "no last newline, crlf": lambda data: _crlf(data.rstrip(b"\n")),
    "more last newlines": lambda data: data + b"\n\n\n",
    "a last line of blanks": lambda data: data + b"    ",
    "a comment at the end": lambda data: data + b"    # the class ends here\n# all\n",
    "tabs": _indented(b"\t"),
    "two columns": _indented(b"  "),
    "form feeds": lambda data: data.replace(b"\n\n\nclass", b"\n\n\f\nclass"),
    "trailing blanks": _trailing,
    "a comment in front": lambda data: b"#!/usr/bin/env python\n# licence\n\n" + data,
}


def in_git(package: Path, patch: bytes) -> dict[str, tuple[bytes, int]]:
    """The tree after `git apply` of a patch, at the top of a checkout of its own."""
    top = package.parent
    for command in (["init", "-q"], ["apply", "--check", "-"], ["apply", "-"]):
        given = patch if command[0] == "apply" else b""
        done = subprocess.run(
            ["git", "-c", "core.autocrlf=false", *command],
            cwd=top,
            input=given,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
    return snapshot(package)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", SHAPES)
def test_every_byte_that_is_not_edited_stays(
    tmp_path: Path, name: str, change: str
) -> None:
    flag = FLAGS[(SHAPES.index(name) + list(CHANGES).index(change)) % 2]
    package, other = (shape(name, tmp_path / place) for place in ("one", "two"))
    plain = shape(name, tmp_path / "plain")
    for folder in (package, other):
        rewrite_bytes(folder, CHANGES[change])
    assert snapshot(package) == snapshot(other) != snapshot(plain)
    before = snapshot(package)
    patch = apply("--diff", "--copy-flag", flag, package)
    assert patch.code == 0, patch.err
    assert apply("--copy-flag", flag, package).code == 0
    after = snapshot(package)
    assert apply("--copy-flag", flag, plain).code == 0
    changed = {p for p in after if after[p] != before[p]}
    assert changed == {
        p for p, (data, _) in snapshot(plain).items() if data != _pristine(name, p)
    }
    for path in changed:
        old, new = before[path][0], after[path][0]
        _same_style(change, old, new)
        compile(new, path, "exec")
        assert _significant(new) >= _significant(old)
    assert in_git(other, patch.raw) == after
    assert apply("--check", "--copy-flag", flag, package).code == 0


def _pristine(name: str, path: str) -> bytes:
    from apply_trees import FIXTURES

    file = FIXTURES / name / "sglang" / path
    return file.read_bytes() if file.is_file() else b""


def _significant(data: bytes) -> set[bytes]:
    """Lines with something to lose: comments of ours, marks, line ends of each kind."""
    return {
        line
        for line in data.split(b"\n")
        if line.lstrip().startswith(b"#") and b"TODO" not in line and b"Not" not in line
    }


def _same_style(change: str, old: bytes, new: bytes) -> None:
    mark = b"\xef\xbb\xbf"
    assert new.startswith(mark) == old.startswith(mark)
    assert new.count(mark) == old.count(mark)
    assert new.endswith(b"\n") == old.endswith(b"\n")
    if "mixed" not in change:
        assert (new.count(b"\r\n") == new.count(b"\n")) == (b"\r\n" in old)
    assert new.count(b"\f") == old.count(b"\f")
    if change == "tabs" and b"move_kv_cache" in new:
        assert b"\n\tdef move_kv_cache(" in new


LAYOUTS = {
    "comments behind parameters": (
        (
            "        key_layers: int = 1,\n    ):",
            "        key_layers: int = 1  # k\n    ):",
        ),
        (
            "                device=device,\n",
            "                device=device  # where\n",
        ),
    ),
    "comments behind commas": (
        ("key_layers: int = 1,\n", "key_layers: int = 1,  # the last one\n"),
        ("device=device,\n", "device=device,  # the last one\n"),
    ),
    "comments on lines of their own": (
        (
            "key_layers: int = 1,\n",
            "key_layers: int = 1,\n        # nothing behind it\n",
        ),
        ("device=device,\n", "device=device,\n                # the end\n"),
    ),
    "no trailing comma": (
        ("key_layers: int = 1,\n", "key_layers: int = 1\n"),
        ("device=device,\n", "device=device\n"),
    ),
    "hugging brackets": (
        ("        key_layers: int = 1,\n    ):", "        key_layers: int = 1):"),
        ("device=device,\n            )", "device=device)"),
    ),
    "*args": (
        (
            "        key_layers: int = 1,\n",
            "        key_layers: int = 1,\n        *args,\n",
        ),
    ),
    "**kwargs": (
        (
            "        key_layers: int = 1,\n",
            "        key_layers: int = 1,\n        **kwargs,\n",
        ),
    ),
    "*args, **kwargs without a comma": (
        (
            "        key_layers: int = 1,\n",
            "        key_layers: int = 1,\n        *args,\n        **kwargs\n",
        ),
    ),
    "keyword-only": (
        (
            "        key_layers: int = 1,\n",
            "        *,\n        key_layers: int = 1,\n",
        ),
    ),
    "keyword-only and **kwargs": (
        (
            "        key_layers: int = 1,\n",
            "        *,\n        key_layers: int = 1,\n        **kwargs,  # more\n",
        ),
    ),
    "positional-only": (("        size: int,\n", "        size: int,\n        /,\n"),),
    "splat in a call": (
        (
            "                device=device,\n",
            "                device=device,\n                **extra,\n",
        ),
    ),
    "stars in a call": (
        (
            "Rows(size, page_size, layers, device)",
            "Rows(size, *sizes, layers, device, **extra)",
        ),
    ),
    "a generator": (
        (
            "Rows(size, page_size, layers, device)",
            "Rows((size), page_size, layers, device,)",
        ),
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_keeps_its_comments_and_compiles(
    tmp_path: Path, layout: str
) -> None:
    package, other = shape("direct", tmp_path / "a"), shape("direct", tmp_path / "b")
    for folder in (package, other):
        edit(folder / LAYERED, *LAYOUTS[layout])
    old = (package / LAYERED).read_text()
    patch = apply("--diff", "--copy-flag", "spec-only", package)
    done = apply("--copy-flag", "spec-only", package)
    assert done.code == 0, done.err
    new = (package / LAYERED).read_text()
    compile(new, LAYERED, "exec")
    assert _significant(new.encode()) >= _significant(old.encode())
    assert new.count("#") == old.count("#") - 1  # that of the body that is replaced
    for line in old.splitlines():
        if "#" in line and "Not yet" not in line:
            comment = line[line.index("#") :]
            assert comment in new
    assert new.count("enable_kv_cache_copy=enable_kv_cache_copy") == 3
    assert new.count("enable_kv_cache_copy: bool = False") == 1
    assert in_git(other, patch.raw) == snapshot(package)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    package = shape("direct", tmp_path)
    for path in (LAYERED, KEYS):
        (package / path).chmod(mode)
    assert apply(package).code == 0
    for path in (LAYERED, KEYS):
        assert (package / path).stat().st_mode & 0o7777 == mode
    assert "move_kv_rows" in (package / KEYS).read_text()


def test_a_linked_file_inside_stays_a_link(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    real = package / "srt/mem_cache/pool/keys_source.txt"
    (package / KEYS).rename(real)
    (package / KEYS).symlink_to(real.name)
    assert apply(package).code == 0
    assert (package / KEYS).is_symlink()
    assert "def move_kv_rows(" in real.read_text()
    assert apply("--check", package).code == 0


def test_two_names_for_one_file_are_written_once(tmp_path: Path) -> None:
    """The wrapper under two module names: the same edits, or a refusal."""
    package = shape("direct", tmp_path)
    (package / "srt/mem_cache/pool/nested.py").symlink_to("layered.py")
    done = apply(package)
    assert done.code == 0, done.err
    assert (package / "srt/mem_cache/pool/nested.py").is_symlink()
    assert (package / LAYERED).read_text().count("enable_kv_cache_copy=True") == 3
    assert apply("--check", package).code == 0


def test_a_linked_package_folder(tmp_path: Path) -> None:
    package = shape("direct", tmp_path / "real")
    link = tmp_path / "sglang"
    link.symlink_to(package)
    assert apply(link).code == 0
    assert link.is_symlink()
    assert "def move_kv_rows(" in (package / KEYS).read_text()


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_that_leaves_the_package_is_not_written_through(
    tmp_path: Path, what: str
) -> None:
    package = shape("direct", tmp_path / "tree")
    inside = package / (KEYS if what == "file" else "srt/mem_cache/pool")
    outside = tmp_path / "elsewhere" / inside.name
    outside.parent.mkdir()
    inside.rename(outside)
    inside.symlink_to(outside)
    before = snapshot(tmp_path)
    done = apply(package)
    assert done.code == 3
    assert "a symlink that leaves the package" in done.err
    assert snapshot(tmp_path) == before


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    (package / "srt/again").symlink_to("..")
    (package / "srt/above").symlink_to("../..")
    (package / "srt/self").symlink_to("self")
    assert apply(package).code == 0
    assert apply("--check", package).code == 0


def test_the_other_name_of_a_hard_link_keeps_the_old_content(tmp_path: Path) -> None:
    package = shape("direct", tmp_path / "tree")
    store = tmp_path / "store.py"
    os.link(package / KEYS, store)
    old = store.read_bytes()
    assert apply(package).code == 0
    assert store.read_bytes() == old
    assert (package / KEYS).read_bytes() != old


@pytest.mark.parametrize("place", ["python", "third party/sg «lang»", "site-packages"])
def test_the_patch_applies_from_the_top(tmp_path: Path, place: str) -> None:
    """Of a checkout with `python/sglang`; else from the package's parent folder."""
    one, two = (tmp_path / name / place for name in ("one", "two"))
    for folder in (one, two):
        shape("direct", folder)
        top = folder if place == "site-packages" else folder.parents[place.count("/")]
        subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    given = one if place == "site-packages" else one.parents[place.count("/")]
    if place == "site-packages":
        (tmp_path / "one/.git").mkdir()  # of the environment: not the patch's base
    patch = tmp_path / "all.patch"
    where = given if place == "python" else one
    assert apply("--patch", patch, where).code == 0
    top = two if place == "site-packages" else two.parents[place.count("/")]
    done = subprocess.run(
        ["git", "apply", str(patch)], cwd=top, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert apply(where).code == 0
    assert snapshot(one / "sglang") == snapshot(two / "sglang")
    assert "def move_kv_rows(" in (two / "sglang" / KEYS).read_text()
    assert (two / "sglang" / BUILD).is_file()
