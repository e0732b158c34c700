"""Files that do not parse and have no say: worth a warning where looking is cheap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kvcodemod.facts.syntax.parsing import parse
from kvcodemod.tree.source import SourceError, SourceTree

SMALL_TREE = 4 * 1024 * 1024
"""Bytes of source. Parsing all of a larger tree takes longer than the lint itself (7 s
for SGLang 0.5.23), so there only small files and those that look broken are parsed."""

SMALL_FILE = 2 * 1024
"""Bytes of source; 840 files of SGLang 0.5.23 are no larger, 0.8 of its 68 MB."""

_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_CONFLICT = b"<<<<<<< "
_TEXT = re.compile(
    rb"""\"""(?s:.*?)\"""|\'\'\'(?s:.*?)\'\'\'"""
    rb"""|"[^"\\\n]*(?:\\(?s:.)[^"\\\n]*)*"|'[^'\\\n]*(?:\\(?s:.)[^'\\\n]*)*'|\#[^\n]*"""
)
"""A string or a comment, as far as that can be told without a tokenizer."""


def broken(tree: SourceTree, paths: Iterable[str]) -> Iterator[SourceError]:
    """What is wrong with those of some files that do not parse."""
    for path in paths:
        try:
            parse(path, tree.text(path).text)
        except SourceError as error:
            yield error


def is_small(tree: SourceTree) -> bool:
    """Whether every file of the tree is worth parsing."""
    return sum(len(tree.data(path)) for path in tree.paths) <= SMALL_TREE


def unparsable(tree: SourceTree, paths: Iterable[str], small: bool) -> dict[str, str]:
    """File -> a message, for those of some files that do not parse.

    In a tree that is not small, a file that is not either has to look broken.
    """
    looked_at = (
        path
        for path in paths
        for data in [tree.data(path)]
        if path not in tree.unread
        and (small or len(data) <= SMALL_FILE or looks_broken(data))
    )
    return {
        error.path: f"{error}; it has no say, so it was passed over"
        for error in broken(tree, looked_at)
    }


def looks_broken(data: bytes) -> bool:
    """Whether some bytes are worth parsing, to see if they do.

    What merges, cut-off files and forgotten brackets leave behind: conflict markers,
    brackets and long strings that do not close, bytes that are no text.
    """
    return (
        b"\0" in data
        or _CONFLICT in data
        or data.count(b'"""') % 2 != 0
        or data.count(b"'''") % 2 != 0
        or not _is_text(data)
        or (_is_uneven(data) and _is_uneven(_TEXT.sub(b"", data)))
    )


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_uneven(data: bytes) -> bool:
    return any(data.count(start) != data.count(end) for start, end in _PAIRS)
