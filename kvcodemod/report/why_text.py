"""The answer of `kvcodemod why`, for a person."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.console import Piece, clean
from kvcodemod.lint.why import Answer
from kvcodemod.report.lint_view import server

_SAID = {
    "fails": "a server gets there, and it fails",
    "excluded": "it would fail, and no server gets there",
    "not called": "speculative decoding does not call it",
    "works": "speculative decoding calls it, and nothing says that it fails",
}


def render(answer: Answer) -> Iterator[Piece]:
    """What was found, and then the way or the facts, a line each."""
    yield (f"{clean(answer.symbol)}: {_SAID[answer.outcome]}\n", "bold")
    said = answer.configuration
    if said is not None:
        yield (f"  server: {clean(server(said))}\n", "")
        for item in said.assumes:
            yield (f"  if: {clean(item.text)} ({item.path}:{item.line})\n", "")
    for step in answer.trace:
        yield (f"  {step.path}:{step.line}: ", "")
        yield (f"{clean(step.symbol)}: {clean(step.note)}\n", "")
    for guard in answer.guards:
        yield (f"  guard: {guard.path}:{guard.line}: {clean(guard.note)}\n", "")
    for fact in answer.facts:
        yield (f"  {fact.path}:{fact.line}: {clean(fact.text)}\n", "")
