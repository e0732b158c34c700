"""Findings as JSON, in the form that the contract promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from kvcodemod.console import Piece
from kvcodemod.findings import Configuration, Finding
from kvcodemod.report.lint_view import View


def render(view: View) -> Iterator[Piece]:
    """One object with every finding and a summary."""
    data = {
        "schema_version": 1,
        "sglang_version": view.version,
        "findings": [as_data(finding) for finding in view.shown],
        **({"excluded": _excluded(view)} if view.show_excluded else {}),
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


def _excluded(view: View) -> list[dict[str, object]]:
    return [asdict(item) for item in view.excluded]


def configuration_data(said: Configuration | None) -> dict[str, object] | None:
    """A server as plain data."""
    if said is None:
        return None
    return {
        "platform": said.platform or None,
        "capability": said.capability,
        "architecture": said.architecture,
        "options": {flag: value or True for flag, value in said.options},
        "environment": dict(said.environment),
        "command_line": said.command_line,
        "assumes": [asdict(item) for item in said.assumes],
    }


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
        "configuration": configuration_data(finding.configuration),
        "affected": list(finding.affected),
        "trace": [asdict(step) for step in finding.trace],
        "guards": [asdict(step) for step in finding.guards],
        "reason": finding.reason,
        "fix": finding.fix,
        "fingerprint": finding.fingerprint,
        "suppressed": finding.suppressed,
    }
