"""Writes several files so that all change or none does, whenever the process dies.

Every new text is first staged beside its file (temporary name, fsync). Then one
manifest is put down, which is the point of no return: from there on a death leaves
each file whole, old or new, and `finish_pending` rolls forward. An error that is
not a death (a full disk, a lost permission) puts every file back.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kvcodemod.tree.locate import Package

MANIFEST = ".kvcodemod-pending.json"
STAGED = ".kvcodemod-new"
SAVED = ".kvcodemod-old"


class WriteError(Exception):
    """Nothing was changed (or everything was put back); the message says why."""


@dataclass(frozen=True)
class _Entry:
    path: str
    target: Path
    old: bytes
    new: bytes

    def beside(self, suffix: str) -> Path:
        return self.target.with_name(f".{self.target.name}{suffix}")


def write_all(
    package: Package, old: Mapping[str, bytes], new: Mapping[str, bytes]
) -> None:
    """Replace every file of `new` (relative path -> bytes), or none.

    `old` holds the bytes that the plan was made from; a file that has changed since
    is not overwritten. Mode and symlinks are kept.

    Raises:
        WriteError: a file is read-only, stands outside the package, has changed
            since it was read, or the disk refused; the tree is as it was.
    """
    with _locked(package):
        if pending(package):
            raise WriteError(_PENDING.format(package.root / MANIFEST))
        entries = _entries(package, old, new)
        try:
            _sweep(package)
            for entry in entries:
                _put(entry.beside(STAGED), entry.new, like=entry.target)
                _put(entry.beside(SAVED), entry.old, like=entry.target)
            for folder in sorted({entry.target.parent for entry in entries}):
                _sync(folder)
            _check_unchanged(entries)
            _put_manifest(package, entries)
        except BaseException as error:
            _forget(package, entries)
            if isinstance(error, OSError):
                raise WriteError(f"nothing was changed: {_words(error)}") from error
            raise
        try:
            for entry in entries:
                _replace(entry.beside(STAGED), entry.target)
        except BaseException as error:
            _put_back(package, entries)
            if isinstance(error, OSError):
                raise WriteError(f"everything was put back: {_words(error)}") from error
            raise
        _forget(package, entries)


def _put_back(package: Package, entries: list[_Entry]) -> None:
    """Restore every old text of an interrupted replacement, then forget about it."""
    try:
        for entry in entries:
            if entry.target.read_bytes() == entry.new:
                _replace(entry.beside(SAVED), entry.target)
    except OSError as error:
        where = package.root / MANIFEST
        raise WriteError(
            f"{where}: could not put everything back ({_words(error)}); mend that and "
            "run `kvcodemod apply` again, which finishes what was begun"
        ) from error
    _forget(package, entries)


_PENDING = (
    "{}: an earlier apply was interrupted; run `kvcodemod apply` again to finish it"
)
_BUSY = "{}: another kvcodemod is writing to this tree; run it again when that is done"


@contextmanager
def _locked(package: Package) -> Iterator[None]:
    """Keep other writers out; the lock goes with the process, however it ends."""
    try:
        handle = os.open(package.root, os.O_RDONLY)
    except OSError as error:
        raise WriteError(f"nothing was changed: {_words(error)}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise WriteError(_BUSY.format(package.root)) from error
    except OSError:
        pass  # a file system without locks
    try:
        yield
    finally:
        os.close(handle)


def pending(package: Package) -> bool:
    """Whether an interrupted write waits to be finished."""
    return (package.root / MANIFEST).exists()


def finish_pending(package: Package) -> tuple[str, ...]:
    """Finish an interrupted write; returns the files that it had not reached.

    Where that is not possible any more, as a roll-back was interrupted, the roll-back
    is finished, and no file is returned.

    Raises:
        WriteError: a file is neither the old nor the new one, so that it was edited
            in between: nothing is touched, and the message says what to do.
    """
    with _locked(package):
        return _finish(package)


def _finish(package: Package) -> tuple[str, ...]:
    manifest = package.root / MANIFEST
    try:
        listed = json.loads(manifest.read_bytes())["files"]
        plan = [(str(f["path"]), str(f["old"]), str(f["new"])) for f in listed]
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WriteError(f"{manifest}: unreadable ({error}); delete it") from error
    entries = [_Entry(path, _inside(package, path), b"", b"") for path, _, _ in plan]
    forward: list[_Entry] = []
    back: list[_Entry] = []
    stuck: dict[str, str] = {}
    for entry, (path, old, new) in zip(entries, plan, strict=True):
        current = _digest_of(entry.target)
        if current not in (old, new):
            raise WriteError(_EDITED.format(path, manifest))
        if current == old:
            forward.append(entry)
            if _digest_of(entry.beside(STAGED)) != new:
                stuck[STAGED] = path
        else:
            back.append(entry)
            if _digest_of(entry.beside(SAVED)) != old:
                stuck[SAVED] = path
    if len(stuck) == 2:
        raise WriteError(_EDITED.format(stuck[STAGED], manifest))
    suffix, todo = (SAVED, back) if STAGED in stuck else (STAGED, forward)
    try:
        for entry in todo:
            _replace(entry.beside(suffix), entry.target)
    except OSError as error:
        raise WriteError(f"{manifest}: still pending: {_words(error)}") from error
    _forget(package, entries)
    return tuple(entry.path for entry in todo) if suffix == STAGED else ()


_EDITED = (
    "{}: an interrupted apply left it half done and it was edited since; "
    "restore the tree (git checkout) and delete {}"
)


def _entries(
    package: Package, old: Mapping[str, bytes], new: Mapping[str, bytes]
) -> list[_Entry]:
    found: dict[Path, _Entry] = {}
    for path in sorted(new):
        entry = _entry(package, path, old[path], new[path])
        other = found.setdefault(entry.target, entry)
        if other.new != entry.new:
            raise WriteError(f"{path}: the same file as {other.path}, by a symlink")
    return list(found.values())


def _check_unchanged(entries: list[_Entry]) -> None:
    for entry in entries:
        if entry.target.read_bytes() != entry.old:
            raise WriteError(_CHANGED.format(entry.path))


_CHANGED = "{}: changed while kvcodemod was at work; run it again"


def _entry(package: Package, path: str, old: bytes, new: bytes) -> _Entry:
    target = _inside(package, path)
    try:
        mode = target.stat().st_mode
        current = target.read_bytes()
    except OSError as error:
        raise WriteError(f"{path}: {_words(error)}") from error
    # os.access() says yes to root, who should not override a mode set on purpose
    if not mode & 0o222 or not os.access(target, os.W_OK):
        raise WriteError(f"{path}: read-only; make it writable (chmod u+w) and rerun")
    if current != old:
        raise WriteError(_CHANGED.format(path))
    return _Entry(path, target, old, new)


def _inside(package: Package, path: str) -> Path:
    target = (package.parent / path).resolve()
    if not target.is_relative_to(package.root):
        raise WriteError(
            f"{path}: a symlink that leaves the package ({target}); it is not written"
        )
    return target


def _put(where: Path, data: bytes, like: Path) -> None:
    was = like.stat()
    with suppress(FileNotFoundError):
        where.unlink()
    handle = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        with suppress(PermissionError):
            os.fchown(handle, was.st_uid, was.st_gid)
        os.fchmod(handle, stat.S_IMODE(was.st_mode))
        os.fsync(handle)


def _put_manifest(package: Package, entries: list[_Entry]) -> None:
    files = [
        {"path": e.path, "old": _digest(e.old), "new": _digest(e.new)} for e in entries
    ]
    manifest = package.root / MANIFEST
    draft = manifest.with_name(f"{MANIFEST}.{os.getpid()}")
    try:
        with draft.open("wb") as stream:
            stream.write(json.dumps({"files": files}).encode())
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(manifest)
    finally:
        draft.unlink(missing_ok=True)
    _sync(manifest.parent)


def _replace(source: Path, target: Path) -> None:
    source.replace(target)
    _sync(target.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sweep(package: Package) -> None:
    """Remove what a process left behind that died before it had put down a manifest."""
    for folder, folders, files in os.walk(package.root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name.startswith(".") and (
                name.endswith((STAGED, SAVED)) or name.startswith(f"{MANIFEST}.")
            ):
                Path(folder, name).unlink(missing_ok=True)


def _forget(package: Package, entries: list[_Entry]) -> None:
    """Remove the temporary files, the manifest last: a death finds it and goes on."""
    for entry in entries:
        for suffix in (STAGED, SAVED):
            with suppress(OSError):
                entry.beside(suffix).unlink()
    (package.root / MANIFEST).unlink(missing_ok=True)


def _digest_of(path: Path) -> str:
    return _digest(path.read_bytes()) if path.is_file() else ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _words(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
