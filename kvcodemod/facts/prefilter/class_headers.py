"""A text filter over all files: which can define pool classes, before any is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvcodemod.facts.prefilter.words import WholeWords, covering_bytes
from kvcodemod.tree.source import SourceTree

_CLASS = re.compile(rb"class[ \t]+(\w+)[ \t]*\(")
_WORD = re.compile(rb"\w+")
_LONGEST = 80
"""Bytes; longer identifiers are not looked for."""
_HEADER = 8000
"""Bytes; the bases of a class stand within so many."""


@dataclass(frozen=True)
class Candidates:
    """Names that may be pool classes, and the files that may define one, sorted.

    Attributes:
        near: every file in which one of the names can stand: a superset, sorted.
        parts: pieces of text one of which stands in each of the names.
    """

    names: frozenset[str]
    files: tuple[str, ...]
    near: tuple[str, ...]
    parts: tuple[str, ...]


def find_candidates(tree: SourceTree, bases: tuple[str, ...]) -> Candidates:
    """Close `bases` under "is named in the header of a class", over all files.

    Bytes only, so that a file that does not parse is seen too. A name that is
    imported under an alias counts under both. The result is a superset.
    """
    return Search(tree, bases).candidates()


class Search:
    """The same in two steps: what the headers alone tell is known first."""

    def __init__(self, tree: SourceTree, bases: tuple[str, ...]) -> None:
        """Read the headers of all classes."""
        self._tree = tree
        self._headers: list[tuple[bytes, frozenset[bytes], str]] = []
        for path in tree.paths:
            key = ("headers", path)
            if key not in tree.made:
                tree.made[key] = tuple(_headers(tree.data(path)))
            self._headers += [(name, words, path) for name, words in tree.made[key]]
        self._roots = {base.encode() for base in bases}
        self._names = self._closed(self._roots)

    def files(self) -> list[str]:
        """The files that may define a class of the names found so far, sorted."""
        return sorted(
            {
                path
                for name, words, path in self._headers
                if name in self._roots or words & self._names
            }
        )

    def candidates(self) -> Candidates:
        """Follow the aliases too."""
        names: set[bytes] = set()
        aliases: dict[bytes, set[bytes]] = {}
        searched: set[str] = set()
        parts: tuple[bytes, ...] = ()
        while self._names != names:  # an alias brings in classes, these other aliases
            names = self._names
            left = {name for name in names if not any(part in name for part in parts)}
            more = covering_bytes(left)
            parts += more
            for path in self._tree.containing(more) if more else ():
                if path not in searched:
                    searched.add(path)
                    for old, new in _aliases(self._tree.data(path)):
                        aliases.setdefault(old, set()).add(new)
            also = {new for name in names for new in aliases.get(name, ())}
            self._names = self._closed(names | also)
        return Candidates(
            names=frozenset(name.decode("utf-8", "replace") for name in names),
            files=tuple(self.files()),
            near=tuple(sorted(searched)),
            parts=tuple(part.decode("utf-8", "replace") for part in parts),
        )

    def _closed(self, names: set[bytes]) -> set[bytes]:
        """The names, and every class that is defined on one of them."""
        below: dict[bytes, set[bytes]] = {}
        for name, words, _ in self._headers:
            for word in words:
                below.setdefault(word, set()).add(name)
        found, todo = set(names), list(names)
        while todo:
            for name in below.get(todo.pop(), ()):
                if name not in found:
                    found.add(name)
                    todo.append(name)
        return found


def _headers(data: bytes) -> Iterator[tuple[bytes, frozenset[bytes]]]:
    """The classes of a file, and the words between the brackets of each."""
    at = data.find(b"class ")
    while at >= 0:
        found = _CLASS.match(data, at)
        end = _closing(data, found.end()) if found else -1
        if found and end >= 0:
            yield found[1], frozenset(_WORD.findall(data, found.end(), end))
        at = data.find(b"class ", end if end >= 0 else at + 6)


def _closing(data: bytes, start: int) -> int:
    """Where the bracket closes that opened before `start`, or -1 if nowhere near."""
    at, limit = start, start + _HEADER
    while at >= 0:
        end = data.find(b")", at, limit)
        comment = data.rfind(b"#", start, end) if end >= 0 else -1
        if comment < 0 or data.find(b"\n", comment, end) >= 0:
            return end
        at = data.find(b"\n", end, limit)  # that one stands in a comment
    return -1


def _aliases(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What else a name is called, by `import ... NAME as OTHER` or the like."""
    at = data.find(b" as ")
    while at >= 0:
        old = data[max(0, at - _LONGEST) : at].rsplit(None, 1)
        new = _WORD.match(data, at + 4)
        if old and new and old[-1] != new[0]:
            yield old[-1], new[0]
        at = data.find(b" as ", at + 4)


def files_naming(tree: SourceTree, names: frozenset[str]) -> tuple[str, ...]:
    """The files in whose text any of the names occurs as a whole word, sorted."""
    if not names:
        return ()
    words = WholeWords(name.encode() for name in names)
    return tuple(
        path for path in tree.containing(words.parts) if words.stand_in(tree.data(path))
    )
