"""Findings, one line each."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.console import Piece, clean
from kvcodemod.findings import Finding
from kvcodemod.report.lint_view import View, server


def render(view: View) -> Iterator[Piece]:
    """`path:line:column: error[KVC001] message`."""
    for finding in view.shown:
        yield from _line(finding)


def _line(finding: Finding) -> Iterator[Piece]:
    style = "bold red" if finding.severity == "error" else "bold yellow"
    yield (f"{clean(finding.path)}:{finding.line}:{finding.column}: ", "")
    yield (f"{finding.severity}[{finding.rule}]", style)
    guard = f" (guarded: {finding.guards[0].note})" if finding.guards else ""
    why = f" (suppressed: {finding.suppressed})" if finding.suppressed else ""
    on = f" [{server(finding.configuration)}]" if finding.configuration else ""
    yield (f" {clean(finding.message + on + guard + why)}\n", "")
