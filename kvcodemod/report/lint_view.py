"""What every lint report is made from: findings, source lines and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from kvcodemod.findings import Finding
from kvcodemod.tree.source import SourceError, SourceTree


def lines_of(tree: SourceTree) -> Callable[[str, int], str]:
    """A function that gives one line of a file, or an empty string."""
    known: dict[str, list[str]] = {}

    def line(path: str, number: int) -> str:
        if path not in known:
            try:
                known[path] = tree.text(path).text.splitlines()
            except SourceError:
                known[path] = []
        lines = known[path]
        return lines[number - 1] if 0 < number <= len(lines) else ""

    return line


@dataclass(frozen=True)
class View:
    """A run as a report sees it; `source` gives one line of a file."""

    findings: tuple[Finding, ...]
    source: Callable[[str, int], str]
    version: str | None
    pools: int
    entries: int

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(f.severity == "error" for f in self.findings)

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return sum(f.severity == "warning" for f in self.findings)

    @property
    def by_rule(self) -> dict[str, int]:
        """The number of findings of each rule that has any."""
        return dict(sorted(Counter(f.rule for f in self.findings).items()))

    def summary(self) -> str:
        """One line about the whole run."""
        if not self.findings:
            return (
                f"nothing found: {self.pools} pool classes, {self.entries} functions of "
                "speculative decoding that lead to one"
            )
        parts = [
            f"{count} {word}{'' if count == 1 else 's'}"
            for count, word in ((self.errors, "error"), (self.warnings, "warning"))
            if count
        ]
        return f"found {' and '.join(parts)}"
