"""Findings as JSON, in the form that the contract promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from kvcodemod.console import Piece
from kvcodemod.findings import Finding
from kvcodemod.report.lint_view import View


def render(view: View) -> Iterator[Piece]:
    """One object with every finding and a summary."""
    data = {
        "schema_version": 1,
        "sglang_version": view.version,
        "findings": [as_data(finding) for finding in view.shown],
        "summary": {
            "errors": view.errors,
            "warnings": view.warnings,
            "by_rule": view.by_rule,
            "pools": view.pools,
            "entry_functions": view.entries,
            "suppressed": len(view.suppressed),
            "stale_baseline_entries": [asdict(entry) for entry in view.stale],
        },
    }
    yield (json.dumps(data, indent=2) + "\n", "")


def as_data(finding: Finding) -> dict[str, object]:
    """One finding as plain data."""
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "message": finding.message,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "symbol": finding.symbol,
        "affected": list(finding.affected),
        "trace": [asdict(step) for step in finding.trace],
        "guards": [asdict(step) for step in finding.guards],
        "reason": finding.reason,
        "fix": finding.fix,
        "fingerprint": finding.fingerprint,
        "suppressed": finding.suppressed,
    }
