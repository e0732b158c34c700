"""Trees to rewrite, the command on them, and what a tree looks like afterwards."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from kvcodemod.cli import main
from kvcodemod.kernels.source import injected_source

FIXTURES = Path(__file__).parent.parent / "fixtures" / "apply"
SHAPES = ("direct", "params", "mapped")
FLAGS = ("always", "spec-only")

LAYERED = "srt/mem_cache/pool/layered.py"
KEYS = "srt/mem_cache/pool/keys.py"
ROWS = "srt/mem_cache/pool/rows.py"
BUILD = "srt/mem_cache/build.py"
MEMORY = "srt/mem_cache/memory.py"


@dataclass(frozen=True)
class Done:
    """What one run of the command came to."""

    code: int
    out: str
    err: str
    raw: bytes


def apply(*arguments: str | Path) -> Done:
    """`kvcodemod apply ...`, in this process; no error may end in a traceback."""
    done = CliRunner().invoke(main, ["apply", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), (
        done.exception
    )
    return Done(done.exit_code, done.stdout, done.stderr, done.stdout_bytes)


def shape(name: str, into: Path) -> Path:
    """A private copy of a fixture; returns its `sglang/` folder."""
    target = into / "sglang"
    shutil.copytree(FIXTURES / name / "sglang", target)
    return target


def edit(path: Path, *changes: tuple[str, str]) -> None:
    """Replace texts that must be there."""
    text = path.read_bytes().decode()
    for old, new in changes:
        assert old in text, f"{old!r} is not in {path}"
        text = text.replace(old, new)
    path.write_bytes(text.encode())


def rewrite_bytes(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the bytes of every non-empty source file of a tree."""
    for path in sorted(folder.rglob("*.py")):
        data = path.read_bytes()
        if data and not path.is_symlink():
            path.write_bytes(change(data))


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file, hidden ones too: its bytes and its mode; a link is its target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        data = b""
        if stat.S_ISLNK(info.st_mode):
            data = str(path.readlink()).encode()
        elif stat.S_ISREG(info.st_mode):
            data = path.read_bytes()
        found[path.relative_to(folder).as_posix()] = (data, info.st_mode)
    return found


def without_kernel(diff: str) -> str:
    """A patch without line numbers, the kernel cut down to one line."""
    kernel = "".join(
        f"+{line}\n" if line else "+\n" for line in injected_source().splitlines()
    )
    diff = diff.replace(kernel, "+<the kernel>\n")
    return "".join(
        "@@\n" if line.startswith("@@ ") else line
        for line in diff.splitlines(keepends=True)
    )


def golden(name: str, flag: str) -> Path:
    """Where the expected patch of a fixture is kept."""
    return FIXTURES / name / f"{flag}.patch"


def main_golden() -> None:
    """Write the expected patches anew: `python tests/apply_trees.py`."""
    import tempfile

    for name in SHAPES:
        for flag in FLAGS:
            with tempfile.TemporaryDirectory() as folder:
                package = shape(name, Path(folder))
                done = apply("--diff", "--copy-flag", flag, package)
            assert done.code == 0, done.err
            golden(name, flag).write_text(without_kernel(done.out))


if __name__ == "__main__":
    main_golden()
