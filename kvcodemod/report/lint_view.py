"""What every lint report is made from: findings, source lines and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from kvcodemod.findings import Configuration, Excluded, Finding, in_order
from kvcodemod.lint.baseline import Entry
from kvcodemod.lint.rule import Rule
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


def server(configuration: Configuration) -> str:
    """A server in a line: the command line, the platform, the model."""
    said = configuration.command_line or "the defaults"
    on = [configuration.platform] if configuration.platform else []
    if configuration.architecture:
        on.append(configuration.architecture)
    return f"{said} ({', '.join(on)})" if on else said


def server_words(finding: Finding) -> list[str]:
    """The server that reaches a finding, and what has to hold besides."""
    said = finding.configuration
    if said is None:
        return []
    assumes = (f"if: {a.text} ({a.path}:{a.line})" for a in said.assumes)
    return [f"server: {server(said)}", *assumes]


@dataclass(frozen=True)
class View:
    """A run as a report sees it.

    Attributes:
        findings: those that count.
        source: gives one line of a file.
        version: of SGLang.
        pools, entries: how much was looked at.
        suppressed: findings that do not count, and `show_suppressed`.
        excluded: what no server gets to, and `show_excluded`.
        stale: entries of the baseline that nothing answers to.
        rules: those that ran.
        fail_on: from which severity on the run fails.
        prefix: leads from where a service looks for files to the paths, as `python/`.
        problems: plugins that did not load or run.
    """

    findings: tuple[Finding, ...]
    source: Callable[[str, int], str]
    version: str | None
    pools: int
    entries: int
    suppressed: tuple[Finding, ...] = ()
    show_suppressed: bool = False
    excluded: tuple[Excluded, ...] = ()
    show_excluded: bool = False
    stale: tuple[Entry, ...] = ()
    rules: tuple[Rule, ...] = ()
    fail_on: str = "error"
    prefix: str = ""
    problems: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The findings that a report lists."""
        if not self.show_suppressed:
            return self.findings
        return in_order((*self.findings, *self.suppressed))

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
        hidden = f" ({len(self.suppressed)} suppressed)" if self.suppressed else ""
        if not self.findings:
            return (
                f"nothing found{hidden}: {self.pools} pool classes, {self.entries} "
                "functions of speculative decoding that lead to one"
            )
        parts = [
            f"{count} {word}{'' if count == 1 else 's'}"
            for count, word in ((self.errors, "error"), (self.warnings, "warning"))
            if count
        ]
        return f"found {' and '.join(parts)}{hidden}"
