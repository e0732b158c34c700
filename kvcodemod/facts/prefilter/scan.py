"""One pass over the bytes of all files, by a second process while this one goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property, partial
from typing import Any

from kvcodemod.config import Names
from kvcodemod.facts.prefilter.class_headers import Candidates, Search
from kvcodemod.facts.prefilter.unparsable import is_small, unparsable
from kvcodemod.facts.prefilter.value_lines import lines_of_values
from kvcodemod.tree.ahead import Ahead
from kvcodemod.tree.source import SourceTree, digest

MARK = b"kvcodemod"
"""What stands in every comment for this tool."""


class Scan:
    """What the bytes of a tree tell before anything is parsed.

    The results come in a fixed order; asking for one waits for all before it.
    """

    def __init__(self, tree: SourceTree, names: Names, hashed: bool = False) -> None:
        """Start; with `hashed`, there are digests."""
        self.tree = tree
        _ = tree.paths  # for both processes
        self._ahead = Ahead(partial(_steps, tree, names, hashed))

    def close(self) -> None:
        """Stop; what has not been asked for is lost."""
        self._ahead.close()

    @cached_property
    def _read(self) -> dict[str, Any]:
        found: dict[str, Any] = self._ahead.next()
        self.tree.unread.update(found["unread"])
        self.tree.know((MARK,), found["marked"])
        return found

    @property
    def digests(self) -> dict[str, str]:
        """File -> the hash of its bytes; empty if not asked for."""
        digests: dict[str, str] = self._read["digests"]
        return digests

    @property
    def small(self) -> bool:
        """Whether every file is looked at to see if it parses."""
        return bool(self._read["small"])

    @cached_property
    def sure(self) -> tuple[str, ...]:
        """Files that can define a pool or an allocator for all that is known so far."""
        _ = self._read
        return tuple(self._ahead.next())

    @cached_property
    def candidates(self) -> Candidates:
        """All files that can, and the names of the classes."""
        _ = self.sure
        found = self._ahead.next()
        return Candidates(
            names=frozenset(found["names"]),
            files=tuple(found["files"]),
            near=tuple(found["near"]),
            parts=tuple(found["parts"]),
        )

    @cached_property
    def lines(self) -> dict[str, list[int]]:
        """File -> the lines on which one of the classes may stand as a value."""
        _ = self.candidates
        lines: dict[str, list[int]] = self._ahead.next()
        return lines

    @cached_property
    def unparsable(self) -> dict[str, str]:
        """File -> a message, for files that were looked at and do not parse."""
        _ = self.lines
        messages: dict[str, str] = self._ahead.next()
        return messages


def _steps(tree: SourceTree, names: Names, hashed: bool) -> Iterator[Any]:
    tree.read_all()
    small = is_small(tree)
    yield {
        "digests": {p: digest(tree.data(p)) for p in tree.paths} if hashed else {},
        "marked": [path for path in tree.paths if MARK in tree.data(path)],
        "unread": tree.unread,
        "small": small,
    }
    search = Search(tree, (*names.pool_bases, *names.allocator_bases))
    yield search.files()
    found = search.candidates()
    yield {**asdict(found), "names": sorted(found.names)}
    yield lines_of_values(tree, found.names, names.test_folders, found.near)
    yield unparsable(tree, tree.paths, small)
