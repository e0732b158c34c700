"""Reads source files as they are: encoding, byte-order mark and newlines are kept."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from kvcodemod.tree.ahead import Ahead
from kvcodemod.tree.locate import Package

LARGEST = 16 * 1024 * 1024
"""Bytes; a larger file is not source that a person edits, and it is named, not read."""


_CHUNK = 64 * 1024


class _UnreadError(Exception):
    """Why a file was not read."""


class SourceError(Exception):
    """A file that cannot be read, decoded or parsed; `line` is 1-based."""

    def __init__(self, path: str, line: int | None, reason: str) -> None:
        """Keep the place beside the reason."""
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


@dataclass(frozen=True)
class SourceText:
    """A decoded file; `bom + text.encode(encoding)` is the file, byte for byte."""

    path: str
    text: str
    encoding: str
    bom: bytes

    def encode(self, text: str) -> bytes:
        """The bytes of a new text in this file's own encoding.

        Raises:
            SourceError: the new text has a character that the encoding lacks.
        """
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            reason = f"the new text does not fit the declared encoding: {error}"
            raise SourceError(self.path, None, reason) from error


@dataclass
class SourceTree:
    """The `.py` files of a package; each is read at most once."""

    package: Package
    _bytes: dict[str, bytes] = field(default_factory=dict)
    _texts: dict[str, SourceText] = field(default_factory=dict)
    _containing: dict[tuple[bytes, ...], tuple[str, ...]] = field(default_factory=dict)
    _paths: tuple[str, ...] | None = None
    unread: dict[str, str] = field(default_factory=dict)
    """Files that could not be read, and why."""
    made: dict[tuple[str, str], Any] = field(default_factory=dict)
    """What was made of one file alone, by (what, path): kept while the file is."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All `.py` files, relative to the package's parent, `/`-separated, sorted."""
        if self._paths is None:
            self._paths = tuple(sorted(self._walk()))
        return self._paths

    def absolute(self, path: str) -> Path:
        """Where a relative path stands on disk."""
        return self.package.parent / path

    @cached_property
    def _home(self) -> str:
        return str(self.package.parent)

    def data(self, path: str) -> bytes:
        """The bytes of a file; empty, and noted in `unread`, where there are none."""
        if path not in self._bytes:
            self._bytes[path] = self._read(path)
        return self._bytes[path]

    def read_all(self) -> None:
        """Read every file now."""
        for path in self.paths:
            self.data(path)

    def containing(self, parts: tuple[bytes, ...]) -> tuple[str, ...]:
        """The files that contain one of some pieces of text, in order."""
        if parts not in self._containing:
            half = len(self.paths) // 2
            first, second = self.paths[:half], self.paths[half:]
            ahead = Ahead(lambda: [self._searched(second, parts)])
            found = self._searched(first, parts)
            self._containing[parts] = (*found, *ahead.next())
            ahead.close()
        return self._containing[parts]

    def know(self, parts: tuple[bytes, ...], paths: Iterable[str]) -> None:
        """Take over which files contain one of some pieces of text."""
        self._containing[parts] = tuple(paths)

    def _searched(self, paths: tuple[str, ...], parts: tuple[bytes, ...]) -> list[str]:
        return [
            path
            for path in paths
            for data in [self.data(path)]
            if any(part in data for part in parts)
        ]

    def same(self, digests: Mapping[str, str]) -> bool:
        """Whether what was read here is what somebody else has read and hashed."""
        return all(digest(data) == digests.get(p) for p, data in self._bytes.items())

    def text(self, path: str) -> SourceText:
        """The decoded file.

        Raises:
            SourceError: it cannot be read or decoded.
        """
        data = self.data(path)
        if path in self.unread:
            raise SourceError(path, None, self.unread[path])
        if path not in self._texts:
            self._texts[path] = decode(path, data)
        return self._texts[path]

    def with_files(self, files: Mapping[str, bytes]) -> SourceTree:
        """The same tree with other bytes for some files; nothing is read again."""
        other = SourceTree(self.package)
        other._paths = self.paths
        other._bytes = {**self._bytes, **files}
        other._texts = {p: t for p, t in self._texts.items() if p not in files}
        other.unread = {p: why for p, why in self.unread.items() if p not in files}
        other.made = {key: it for key, it in self.made.items() if key[1] not in files}
        for parts, paths in self._containing.items():
            same = {path for path in paths if path not in files}
            same |= {p for p, d in files.items() if any(part in d for part in parts)}
            other._containing[parts] = tuple(p for p in self.paths if p in same)
        return other

    def _walk(self) -> Iterator[str]:
        """All files; a linked folder too if it leads out of the package.

        One that leads to another place inside is a second name for files that are seen
        already.
        """
        root = self.package.root
        prefix = len(str(root.parent)) + 1
        followed = {root}
        for folder, folders, files in os.walk(root, followlinks=True):
            kept = []
            for name in folders:
                if name == "__pycache__":
                    continue
                path = Path(folder, name)
                if path.is_symlink():
                    target = path.resolve()
                    inside = target.is_relative_to(root) or root.is_relative_to(target)
                    if inside or target in followed:
                        continue
                    followed.add(target)
                kept.append(name)
            folders[:] = kept
            for name in files:
                if name.endswith(".py"):
                    yield f"{folder[prefix:]}/{name}".replace(os.sep, "/")

    def _read(self, path: str) -> bytes:
        try:
            # O_NONBLOCK: opening a FIFO that is named like a source file must not hang
            handle = os.open(f"{self._home}/{path}", os.O_RDONLY | os.O_NONBLOCK)
            try:
                return _content(handle)
            finally:
                os.close(handle)
        except _UnreadError as error:
            self.unread[path] = str(error)
        except OSError as error:
            self.unread[path] = error.strerror or str(error)
        return b""


def _content(handle: int) -> bytes:
    """All bytes of an open file; each call gets the memory for what there is to read.

    To ask for `LARGEST` bytes at once costs more than the reading.

    Raises:
        _UnreadError: it is no file, or too large.
        OSError: it cannot be read.
    """
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise _UnreadError("not a regular file")
    data = os.read(handle, min(status.st_size, LARGEST) + 1)
    while len(data) <= LARGEST and (more := os.read(handle, _CHUNK)):
        data += more  # it has grown, or reading was cut short
    if len(data) > LARGEST:
        raise _UnreadError(f"larger than {LARGEST} bytes: not read")
    return data


def digest(data: bytes) -> str:
    """A hash that tells contents apart."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def decode(path: str, data: bytes) -> SourceText:
    """Decode as Python would: BOM, then a PEP 263 declaration, then UTF-8.

    Raises:
        SourceError: an unknown or contradicted encoding, or bytes that do not fit it.
    """
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise SourceError(path, 1, f"cannot tell the encoding: {error}") from error
    bom = b""
    if encoding == "utf-8-sig":
        encoding, bom = "utf-8", codecs.BOM_UTF8
    try:
        text = data[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(
            path, line, f"not valid {encoding}: {error.reason}"
        ) from error
    if text.encode(encoding) != data[len(bom) :]:
        raise SourceError(path, None, f"does not survive a round trip in {encoding}")
    return SourceText(path=path, text=text, encoding=encoding, bom=bom)
