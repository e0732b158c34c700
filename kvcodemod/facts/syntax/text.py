"""What can be told about functions from their text alone, before they are read."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate

from kvcodemod.facts.syntax.parsing import Function

_CALL_BACKWARDS = re.compile(r"\([ \t]*(\w+)")
"""A call as it stands in reversed text: there it begins with what is rare."""
_STORE = re.compile(r"self(?<!\wself)\.(\w+)[ \t]*(?::[^=\n]*)?(?:=(?!=)|,)")


class Text:
    """One file's text, searched on demand and once."""

    def __init__(self, text: str) -> None:
        """Nothing is searched yet."""
        self.text = text
        self._called_in: dict[tuple[int, int], frozenset[str]] = {}

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins; one more for the end."""
        # not splitlines(): Python's own lines end with a newline only
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]

    def line_of(self, position: int) -> int:
        """The line, 1-based, of a position in the text."""
        return bisect_right(self._starts, position)

    def lines_of(self, word: str) -> list[int]:
        """The lines on which a piece of text stands, ascending."""
        found: list[int] = []
        at = self.text.find(word)
        while at >= 0:
            found.append(self.line_of(at))
            at = self.text.find(word, at + len(word))
        return found

    def lines_matching(self, pattern: re.Pattern[str]) -> list[int]:
        """The lines on which a pattern matches, ascending."""
        return [self.line_of(found.start()) for found in pattern.finditer(self.text)]

    @cached_property
    def called(self) -> frozenset[str]:
        """The last name before every bracket in the file."""
        return frozenset(self._calls[1])

    @cached_property
    def _calls(self) -> tuple[list[int], list[str]]:
        """The brackets after a name, as places in ascending order, and the names."""
        last = len(self.text) - 1
        places: list[int] = []
        names: list[str] = []
        for match in _CALL_BACKWARDS.finditer(self.text[::-1]):
            places.append(last - match.start())
            names.append(match[1][::-1])
        return places[::-1], names[::-1]

    def called_in(self, first: int, last: int) -> frozenset[str]:
        """The same for the lines from `first` to `last`."""
        key = (first, last)
        if key not in self._called_in:
            starts = self._starts
            places, names = self._calls
            low = bisect_left(places, starts[min(first, len(starts)) - 1])
            high = bisect_left(places, starts[min(last, len(starts) - 1)])
            self._called_in[key] = frozenset(names[low:high])
        return self._called_in[key]

    @cached_property
    def stores(self) -> dict[str, list[int]]:
        """Attribute of `self` -> the lines on which it is assigned."""
        found: dict[str, list[int]] = {}
        for match in _STORE.finditer(self.text):
            found.setdefault(match[1], []).append(self.line_of(match.start()))
        return found


def any_within(lines: list[int], first: int, last: int) -> bool:
    """Whether one of some ascending lines is among those from `first` to `last`."""
    low = bisect_left(lines, first)
    return low < len(lines) and lines[low] <= last


def within(stores: dict[str, list[int]], span: tuple[int, int]) -> Iterable[str]:
    """The names of which a line is in a span."""
    return (name for name, lines in stores.items() if any_within(lines, *span))


def span(node: Function | ast.ClassDef) -> tuple[int, int]:
    """The first and the last line of a definition."""
    return node.lineno, node.end_lineno or node.lineno
