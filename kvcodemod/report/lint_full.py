"""Findings with their evidence: the code at the start, at each call and at the end."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.console import Piece, clean
from kvcodemod.findings import Finding, Step
from kvcodemod.report.lint_view import View, server

_EDGE = "blue"


def render(view: View) -> Iterator[Piece]:
    """Every finding, the way there first and the place to edit last."""
    for finding in view.shown:
        yield from _finding(finding, view)
        yield ("\n", "")
    yield (f"{view.summary()}\n", "bold")
    if view.show_excluded:
        yield from _excluded(view)
    if view.findings:
        rules = ", ".join(view.by_rule)
        yield (f"`kvcodemod explain CODE` tells more about {rules}\n", "")


def _finding(finding: Finding, view: View) -> Iterator[Piece]:
    style = "bold red" if finding.severity == "error" else "bold yellow"
    yield (f"{finding.severity}[{finding.rule}]", style)
    yield (f": {clean(finding.message)}\n", "bold")
    here = Step(finding.path, finding.line, finding.symbol, finding.message)
    trace = finding.trace or (here,)
    width = len(str(max(step.line for step in (*trace, *finding.guards))))
    pad = " " * width
    yield (f"{pad}--> ", _EDGE)
    yield (f"{clean(finding.path)}:{finding.line}:{finding.column}\n", "")
    shown = ""
    for step in trace:
        if step.path != shown:
            yield (f"{pad} ::: ", _EDGE)
            yield (f"{clean(step.path)}\n", "")
            yield (f"{pad} |\n", _EDGE)
            shown = step.path
        mark = style if step is trace[-1] else "bold blue"
        yield from _excerpt(step, view, width, mark)
    for step in finding.guards:
        yield (f"{pad} = ", _EDGE)
        yield ("guard", "bold")
        yield (f": {step.path}:{step.line}: {clean(step.note)}\n", "")
    said = finding.configuration
    assumes = said.assumes if said else ()
    notes = [
        ("suppressed", finding.suppressed or ""),
        ("server", server(said) if said else ""),
        *(("if", f"{a.text} ({a.path}:{a.line})") for a in assumes),
        ("affects", ", ".join(finding.affected)),
        ("why", finding.reason),
        ("help", finding.fix or ""),
    ]
    for name, text in notes:
        if text:
            yield (f"{pad} = ", _EDGE)
            yield (name, "bold")
            yield (f": {clean(text)}\n", "")


def _excluded(view: View) -> Iterator[Piece]:
    """What would be a finding, and what keeps every server from it."""
    count = len(view.excluded)
    word = "call" if count == 1 else "calls"
    yield (f"\nno server gets to {count} {word} that would fail\n", "bold")
    for item in view.excluded:
        yield (f"{item.rule} ", "")
        yield (f"{clean(item.symbol)}\n", "bold")
        for fact in item.facts:
            yield (f"    {fact.path}:{fact.line}: ", "")
            yield (f"{clean(fact.text)}\n", "")


def _excerpt(step: Step, view: View, width: int, style: str) -> Iterator[Piece]:
    code = clean(view.source(step.path, step.line)).rstrip()
    text = code.lstrip()
    indent = len(code) - len(text)
    yield (f"{step.line:>{width}} | ", _EDGE)
    yield (f"{code}\n", "")
    yield (f"{' ' * width} | ", _EDGE)
    marks = "^" * max(1, min(len(text), 60))
    yield (f"{' ' * indent}{marks} ", style)
    yield (f"{clean(step.note)}\n", style)
