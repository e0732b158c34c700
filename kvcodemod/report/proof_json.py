"""The proof as JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from kvcodemod.verify.outcome import ProofReport

SCHEMA_VERSION = 1


def to_json(report: ProofReport) -> dict[str, Any]:
    """The whole report as plain data."""
    cases = report.cases
    return {
        "schema_version": SCHEMA_VERSION,
        "status": report.status,
        "package": report.package,
        "python": report.python,
        "runtime": report.runtime and dataclasses.asdict(report.runtime),
        "problem": report.problem and dataclasses.asdict(report.problem),
        "notes": list(report.notes),
        "cases": [dataclasses.asdict(case) for case in cases],
        "summary": {
            "cases": len(cases),
            "passed": sum(case.status == "passed" for case in cases),
            "failed": sum(case.status == "failed" for case in cases),
            "unchecked": sum(case.status == "unchecked" for case in cases),
            "moves": sum(case.moves for case in cases),
            "seconds": round(report.seconds, 2),
        },
    }


def render(report: ProofReport) -> str:
    """The report as one JSON document."""
    return json.dumps(to_json(report), indent=2) + "\n"
