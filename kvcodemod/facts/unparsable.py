"""Files that do not parse and have no say: worth a warning where looking is cheap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvcodemod.facts.modules import parse
from kvcodemod.tree.source import SourceError, SourceTree

SMALL = 4 * 1024 * 1024
"""Bytes of source. Parsing all of a larger tree takes longer than the lint itself (7 s
for SGLang 0.5.23), so there only files that have a say are parsed."""


def broken(tree: SourceTree, paths: Iterable[str]) -> Iterator[SourceError]:
    """What is wrong with those of some files that do not parse."""
    for path in paths:
        try:
            parse(path, tree.text(path).text)
        except SourceError as error:
            yield error


def unparsable(tree: SourceTree) -> list[str]:
    """One message for each file of a small tree that does not parse, sorted by path."""
    if sum(len(tree.data(path)) for path in tree.paths) > SMALL:
        return []
    read = [path for path in tree.paths if path not in tree.unread]
    return [f"{e}; it has no say, so it was passed over" for e in broken(tree, read)]
