"""Findings as workflow commands of GitHub Actions, and as a job summary.

A step shows ten errors and ten warnings at most; the rest is grouped in the log, and
the summary has them all.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.console import Piece, clean
from kvcodemod.findings import Finding
from kvcodemod.report.lint_view import View, server_words

SHOWN = 10
"""Annotations of one severity that GitHub shows for a step."""
SUMMARY_ROWS = 500
"""Rows of a summary: GitHub takes 1 MiB for a step."""


def render(view: View) -> Iterator[Piece]:
    """The commands, one a line."""
    annotated: list[Finding] = []
    left: list[Finding] = []
    for severity in ("error", "warning"):
        some = [f for f in view.findings if f.severity == severity]
        annotated += some[:SHOWN]
        left += some[SHOWN:]
    for finding in annotated:
        yield (f"{_command(finding, view.prefix)}\n", "")
    count = f"{len(left)} more finding{'s' if len(left) > 1 else ''}"
    yield from _group(f"{count}: a step shows {SHOWN} of each severity", left, view)
    if view.show_suppressed:
        hidden = list(view.suppressed)
        yield from _group(f"{len(hidden)} suppressed", hidden, view)
    yield (f"{view.summary()}\n", "")


def _group(title: str, findings: list[Finding], view: View) -> Iterator[Piece]:
    if findings:
        yield (f"::group::{title}\n", "")
        for finding in findings:
            yield (f"{_log(finding, view.prefix)}\n", "")
        yield ("::endgroup::\n", "")


def summary(view: View) -> str:
    """A table of all findings in Markdown, for `$GITHUB_STEP_SUMMARY`."""
    lines = ["## kvcodemod lint", "", f"{view.summary()}."]
    if view.findings:
        lines += ["", "| | Rule | Place | Finding |", "|---|---|---|---|"]
    for finding in view.findings[:SUMMARY_ROWS]:
        place = _cell(f"{view.prefix}{finding.path}:{finding.line}")
        words = _cell(finding.message)
        if len(finding.trace) > 1:
            words += f"<br>{_cell(' → '.join(_steps(finding)))}"
        lines.append(f"| {finding.severity} | {finding.rule} | {place} | {words} |")
    if len(view.findings) > SUMMARY_ROWS:
        lines += ["", f"... and {len(view.findings) - SUMMARY_ROWS} more."]
    if view.stale:
        lines += ["", "Stale entries of the baseline:", ""]
        lines += [f"- {_cell(str(entry))}" for entry in view.stale]
    return "\n".join([*lines, ""])


def _command(finding: Finding, prefix: str) -> str:
    properties = {
        "file": f"{prefix}{finding.path}",
        "line": str(finding.line),
        "col": str(finding.column),
        "title": f"{finding.rule} {finding.name}",
    }
    text = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    parts = [finding.message]
    if len(finding.trace) > 1:
        parts.append(f"path: {' -> '.join(_steps(finding))}")
    parts += [f"guard: {g.path}:{g.line}: {g.note}" for g in finding.guards]
    parts += server_words(finding)
    parts += [part for part in (finding.reason, finding.fix) if part]
    return f"::{finding.severity} {text}::{_data(chr(10).join(parts))}"


def _steps(finding: Finding) -> list[str]:
    names = [f"{s.symbol or s.path} ({s.path}:{s.line})" for s in finding.trace]
    return list(dict.fromkeys(names))


def _log(finding: Finding, prefix: str) -> str:
    where = f"{prefix}{finding.path}:{finding.line}:{finding.column}"
    why = f" (suppressed: {finding.suppressed})" if finding.suppressed else ""
    return _line(f"{where}: {finding.severity} {finding.rule} {finding.message}{why}")


def _line(text: str) -> str:
    """One line of the log that the runner does not take for a command."""
    return " ".join(clean(text).split()).replace("##[", "## [").replace("::", ": :")


def _data(text: str) -> str:
    text = "\n".join(clean(line) for line in text.splitlines())
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    flat = " ".join(clean(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return flat.replace(">", "&gt;").replace("|", "\\|")
