"""Several files change together or not at all, whatever happens while they do."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from apply_trees import KEYS, LAYERED, apply, shape, snapshot
from tree_killer import NEW, OLD, PATHS, contents

from kvcodemod.config import Names
from kvcodemod.tree import write
from kvcodemod.tree.locate import Package
from kvcodemod.tree.write import WriteError, finish_pending, pending, write_all

KILLER = Path(__file__).with_name("tree_killer.py")


@pytest.fixture
def package(tmp_path: Path) -> Package:
    root = tmp_path / "sglang"
    (root / "srt").mkdir(parents=True)
    (root / "deep").mkdir()
    (root / "__init__.py").touch()
    for path, data in OLD.items():
        (tmp_path / path).write_bytes(data)
    return Package(root, root.parent, None)


def clean(package: Package) -> None:
    """No temporary file is left."""
    names = [path.name for path in package.root.rglob("*")]
    assert sorted(names) == ["__init__.py", "a.py", "b.py", "deep", "srt"]
    assert not pending(package)


def kill(root: Path, task: str) -> list[str]:
    """The states that deaths at every step of a task leave behind."""
    done = subprocess.run(
        [sys.executable, str(KILLER), str(root), task],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [line.rpartition(":")[0] for line in done.stdout.splitlines()]


def test_killed_at_any_moment_every_file_is_whole(package: Package) -> None:
    """And the next run finishes, or starts anew where nothing had been begun."""
    assert kill(package.root, "write") == [
        "new new at the end",
        "new new not pending -> new",
        "new new pending -> new",
        "new old pending -> new",
        "old old not pending -> old",
        "old old pending -> new",
    ]


def test_killed_while_it_puts_everything_back(package: Package) -> None:
    states = kill(package.root, "fail")
    assert "old old at the end" in states
    assert "new old pending -> new" in states
    assert "old old pending -> old" in states  # it had all been put back
    assert all(state.startswith(("old old", "new old")) for state in states)


def test_killed_while_it_finishes(package: Package) -> None:
    states = kill(package.root, "finish")
    assert "new new at the end" in states
    assert "new old pending -> new" in states
    assert "new new pending -> new" in states
    assert not [state for state in states if state.endswith("-> old")]


CALLS = [
    (os, "open"),
    (os, "fsync"),
    (os, "fchmod"),
    (os, "fchown"),
    (Path, "replace"),
    (Path, "open"),
]
ERRORS = [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO]


class Nth:
    """Raises at the n-th call, else does what it stands in for."""

    def __init__(self, real: Callable[..., object], at: int, error: BaseException):
        self.real, self.at, self.error, self.seen = real, at, error, 0

    def __get__(self, instance: object, owner: type) -> Callable[..., object]:
        return self if instance is None else lambda *a, **k: self(instance, *a, **k)

    def __call__(self, *args: object, **kwargs: object) -> object:
        self.seen += 1
        if self.seen == self.at:
            raise self.error
        return self.real(*args, **kwargs)


def failing_at_every_call(
    package: Package, call: tuple[object, str], error: BaseException
) -> Iterator[BaseException | None]:
    """What a write raises, for the first, second, ... call; ends when none is left."""
    for at in range(1, 100):
        with pytest.MonkeyPatch.context() as patch:
            nth = Nth(getattr(*call), at, error)
            patch.setattr(*call, nth)
            raised: BaseException | None = None
            try:
                write_all(package, OLD, NEW)
            except BaseException as caught:
                raised = caught
        if nth.seen < at:
            assert raised is None
            return
        yield raised


@pytest.mark.parametrize("call", CALLS, ids=lambda c: c[1])
@pytest.mark.parametrize("code", ERRORS, ids=errno.errorcode.get)
def test_an_error_at_any_moment_puts_everything_back(
    package: Package, call: tuple[object, str], code: int
) -> None:
    error = OSError(code, os.strerror(code), "somewhere")
    count = 0
    for raised in failing_at_every_call(package, call, error):
        count += 1
        if (call[1], code) == ("fchown", errno.EACCES):  # another owner: no harm
            assert raised is None
            write_all(package, NEW, OLD)
            continue
        assert isinstance(raised, WriteError)
        assert f"somewhere: {os.strerror(code)}" in str(raised)
        assert contents(package) == OLD
        clean(package)
    assert count > 1
    assert contents(package) == NEW
    clean(package)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("call", CALLS, ids=lambda c: c[1])
def test_an_interruption_puts_everything_back(
    package: Package, call: tuple[object, str], error: type[BaseException]
) -> None:
    count = 0
    for raised in failing_at_every_call(package, call, error()):
        count += 1
        assert isinstance(raised, error)
        assert contents(package) == OLD
        clean(package)
    assert count > 1
    assert contents(package) == NEW


def test_what_cannot_be_put_back_is_said_and_finished_later(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write._replace
    done: list[Path] = []

    def failing(source: Path, target: Path) -> None:
        if done:
            raise OSError(errno.EROFS, "Read-only file system", str(target))
        done.append(target)
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(write, "_replace", failing)
        with pytest.raises(WriteError, match="could not put everything back") as caught:
            write_all(package, OLD, NEW)
    assert "run `kvcodemod apply` again" in str(caught.value)
    assert pending(package)
    assert finish_pending(package) == (PATHS[1],)
    assert contents(package) == NEW
    clean(package)


def test_edited_between_reading_and_writing(package: Package) -> None:
    (package.parent / PATHS[1]).write_bytes(b"mine")
    with pytest.raises(WriteError, match=r"sglang/deep/b\.py: changed while"):
        write_all(package, OLD, NEW)
    assert contents(package) == {PATHS[0]: OLD[PATHS[0]], PATHS[1]: b"mine"}
    clean(package)


def test_edited_while_the_new_files_are_staged(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write._put

    def edited(where: Path, data: bytes, like: Path) -> None:
        real(where, data, like)
        (package.parent / PATHS[0]).write_bytes(b"mine")

    monkeypatch.setattr(write, "_put", edited)
    with pytest.raises(WriteError, match=r"sglang/a\.py: changed while"):
        write_all(package, OLD, NEW)
    assert contents(package) == {PATHS[0]: b"mine", PATHS[1]: OLD[PATHS[1]]}
    clean(package)


@pytest.mark.parametrize("path", PATHS)
def test_edited_after_an_interruption(package: Package, path: str) -> None:
    kill(package.root, "begin")
    (package.parent / path).write_bytes(b"mine")
    before = snapshot(package.root)
    with pytest.raises(WriteError, match="edited since; restore the tree") as caught:
        finish_pending(package)
    assert path in str(caught.value)
    assert snapshot(package.root) == before


def test_a_user_edit_is_not_lost_by_a_roll_back(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write._replace

    def failing(source: Path, target: Path) -> None:
        if target.name == "b.py":
            target.write_bytes(b"mine")
            raise OSError(errno.EACCES, "Permission denied")
        real(source, target)

    monkeypatch.setattr(write, "_replace", failing)
    with pytest.raises(WriteError, match="everything was put back"):
        write_all(package, OLD, NEW)
    assert contents(package) == {PATHS[0]: OLD[PATHS[0]], PATHS[1]: b"mine"}
    clean(package)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 3}', "\xff", '{"files'])
def test_a_broken_manifest_is_named(package: Package, text: str) -> None:
    (package.root / write.MANIFEST).write_bytes(text.encode("latin-1"))
    with pytest.raises(WriteError, match=r"pending\.json: unreadable .*; delete it"):
        finish_pending(package)
    assert contents(package) == OLD


def test_a_manifest_cannot_write_outside(package: Package, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_bytes(b"old")
    (tmp_path / ".outside.py.kvcodemod-new").write_bytes(b"new")
    old, new = (write._digest(data) for data in (b"old", b"new"))
    (package.root / write.MANIFEST).write_text(
        f'{{"files": [{{"path": "outside.py", "old": "{old}", "new": "{new}"}}]}}'
    )
    with pytest.raises(WriteError, match="leaves the package"):
        finish_pending(package)
    assert outside.read_bytes() == b"old"


def test_nobody_else_writes_at_the_same_time(package: Package) -> None:
    handle = os.open(package.root, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(WriteError, match="another kvcodemod is writing"):
            write_all(package, OLD, NEW)
        with pytest.raises(WriteError, match="another kvcodemod is writing"):
            finish_pending(package)
    finally:
        os.close(handle)
    clean(package)
    write_all(package, OLD, NEW)
    assert contents(package) == NEW


def test_a_file_system_without_locks(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    write_all(package, OLD, NEW)
    assert contents(package) == NEW
    clean(package)


def test_a_pending_write_is_finished_first(package: Package) -> None:
    kill(package.root, "begin")
    with pytest.raises(WriteError, match="an earlier apply was interrupted"):
        write_all(package, contents(package), OLD)
    assert finish_pending(package) == (PATHS[1],)
    assert finish_pending(package) == ()
    clean(package)


def test_what_an_earlier_death_left_behind_is_swept_away(package: Package) -> None:
    for name in (".old.py.kvcodemod-new", "deep/.x.py.kvcodemod-old"):
        (package.root / name).write_text("left over")
    (package.root / f"{write.MANIFEST}.123").write_text("left over")
    write_all(package, OLD, NEW)
    clean(package)


def test_read_only(package: Package) -> None:
    (package.parent / PATHS[1]).chmod(0o444)
    with pytest.raises(WriteError, match=r"b\.py: read-only; make it writable"):
        write_all(package, OLD, NEW)
    assert contents(package) == OLD
    clean(package)


def test_gone(package: Package) -> None:
    (package.parent / PATHS[1]).unlink()
    with pytest.raises(WriteError, match=r"b\.py: No such file"):
        write_all(package, OLD, NEW)
    assert (package.parent / PATHS[0]).read_bytes() == OLD[PATHS[0]]


def test_apply_after_a_kill_finishes_and_says_so(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    expected = shape("direct", tmp_path / "other")
    assert apply(expected).code == 0
    kill(package, "apply")
    half = snapshot(package)
    assert len({half[p] == snapshot(expected)[p] for p in (KEYS, LAYERED)}) == 2
    for dry in ("--check", "--diff"):
        done = apply(dry, package)
        assert done.code == 3
        assert "pending; run it to finish it first" in done.err
        assert snapshot(package) == half
    done = apply(package)
    assert done.code == 0
    assert "finished an interrupted apply: sglang/srt/mem_cache/pool/" in done.err
    assert snapshot(package) == snapshot(expected)


def test_a_failed_proof_puts_everything_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kvcodemod.cli.verify

    package = shape("direct", tmp_path)
    before = snapshot(package)
    seen = []

    def prove(found: Package, names: Names, python: Path | None) -> int:
        seen.append((found.root / KEYS).read_text())
        return 1

    monkeypatch.setattr(kvcodemod.cli.verify, "prove_package", prove)
    done = apply("--verify", package)
    assert done.code == 1
    assert "the proof failed; every file was put back" in done.err
    assert "def move_kv_rows(" in seen[0]
    assert snapshot(package) == before
