"""What can be told about functions from their text alone, before their syntax is read."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

from kvcodemod.facts.modules import Function

_CALL = re.compile(r"(?<!\w)(\w+)[ \t]*\(")
_STORE = re.compile(
    r"\bself\.(\w+)[ \t]*(?::[^=\n]*)?(?:=(?!=)|,)|\bsetattr\(self,\s*[\"'](\w+)"
)


@dataclass(frozen=True)
class Marks:
    """Names at lines: `lines[i]` is where `names[i]` stands, ascending."""

    lines: tuple[int, ...]
    names: tuple[str, ...]

    def within(self, first: int, last: int) -> frozenset[str]:
        """The names on the lines from `first` to `last`."""
        low, high = bisect_left(self.lines, first), bisect_right(self.lines, last)
        return frozenset(self.names[low:high])

    def any(self, first: int, last: int) -> bool:
        """Whether a name stands on the lines from `first` to `last`."""
        low = bisect_left(self.lines, first)
        return low < len(self.lines) and self.lines[low] <= last

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """The lines on which each name stands."""
        found: dict[str, list[int]] = {}
        for line, name in zip(self.lines, self.names, strict=True):
            found.setdefault(name, []).append(line)
        return found


class Text:
    """One file's text, searched on demand and once."""

    def __init__(self, text: str) -> None:
        """Nothing is searched yet."""
        self.text = text
        self._starts: list[int] | None = None
        self._calls: Marks | None = None
        self._stores: Marks | None = None

    def line_of(self, position: int) -> int:
        """The line, 1-based, of a position in the text."""
        if self._starts is None:
            starts = [0]
            at = self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._starts = starts
        return bisect_right(self._starts, position)

    def marks(self, pattern: re.Pattern[str]) -> Marks:
        """Where a pattern matches; its first filled group is the name."""
        lines: list[int] = []
        names: list[str] = []
        for found in pattern.finditer(self.text):
            lines.append(self.line_of(found.start()))
            names.append(next((g for g in found.groups() if g), found.group()))
        return Marks(tuple(lines), tuple(names))

    @property
    def calls(self) -> Marks:
        """Everything that looks like a call, by the last name before the bracket."""
        if self._calls is None:
            self._calls = self.marks(_CALL)
        return self._calls

    @property
    def stores(self) -> Marks:
        """Every attribute of `self` that is assigned."""
        if self._stores is None:
            self._stores = self.marks(_STORE)
        return self._stores


def span(node: Function | ast.ClassDef) -> tuple[int, int]:
    """The first and the last line of a definition."""
    return node.lineno, node.end_lineno or node.lineno
