"""Searches for many words at once, in the bytes of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def covering(names: frozenset[str], size: int = 6) -> tuple[str, ...]:
    """A few short strings of which every name contains at least one.

    One search for each of them stands in for one search for each of many names.
    """
    left = set(names)
    found: list[str] = []
    while left:
        count: dict[str, int] = {}
        for name in left:
            for at in range(max(1, len(name) - size + 1)):
                part = name[at : at + size]
                count[part] = count.get(part, 0) + 1
        best = min(count, key=lambda part: (-count[part], part))
        found.append(best)
        left = {name for name in left if best not in name}
    return tuple(found)


def covering_bytes(names: Iterable[bytes]) -> tuple[bytes, ...]:
    """The same for names as they stand in files."""
    texts = frozenset(name.decode("utf-8", "replace") for name in names)
    return tuple(part.encode() for part in covering(texts))


def stands_alone(data: bytes, at: int, end: int) -> bool:
    """Whether no letter of a longer word stands next to a piece of text."""
    return not (at and is_word(data[at - 1])) and not (
        end < len(data) and is_word(data[end])
    )


def is_word(byte: int) -> bool:
    """Whether a byte can be part of an identifier."""
    return byte >= 0x80 or chr(byte).isalnum() or byte == 0x5F


class WholeWords:
    """Finds identifiers by a few pieces of text that they share."""

    def __init__(self, words: Iterable[bytes]) -> None:
        """Look for these words."""
        known = frozenset(words)
        self.parts = covering_bytes(known)
        """Pieces of text one of which stands in each of the words."""
        self._by_part: dict[bytes, list[tuple[bytes, int]]] = {}
        for word in sorted(known):
            part = next(part for part in self.parts if part in word)
            self._by_part.setdefault(part, []).append((word, word.index(part)))

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where a word begins and ends, for each that stands alone, in no order."""
        for part, words in self._by_part.items():
            at = data.find(part)
            while at >= 0:
                for word, offset in words:
                    start = at - offset
                    if start >= 0 and data.startswith(word, start):
                        end = start + len(word)
                        if stands_alone(data, start, end):
                            yield start, end
                at = data.find(part, at + 1)

    def stand_in(self, data: bytes) -> bool:
        """Whether there is any."""
        return next(self.find(data), None) is not None
