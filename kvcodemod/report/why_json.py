"""The answer of `kvcodemod why` as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from kvcodemod.console import Piece
from kvcodemod.lint.why import Answer
from kvcodemod.report.lint_json import configuration_data


def render(answer: Answer) -> Iterator[Piece]:
    """One object."""
    data = {
        "schema_version": 1,
        "symbol": answer.symbol,
        "outcome": answer.outcome,
        "configuration": configuration_data(answer.configuration),
        "trace": [asdict(step) for step in answer.trace],
        "guards": [asdict(step) for step in answer.guards],
        "facts": [asdict(fact) for fact in answer.facts],
    }
    yield (json.dumps(data, indent=2) + "\n", "")
