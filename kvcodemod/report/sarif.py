"""Findings as SARIF 2.1.0: rules with help, the call chain as a code flow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from kvcodemod import __version__
from kvcodemod.console import Piece
from kvcodemod.findings import Finding, Step
from kvcodemod.lint.baseline import ACCEPTED
from kvcodemod.lint.rule import Rule
from kvcodemod.report.lint_json import configuration_data
from kvcodemod.report.lint_view import View, server_words

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASE = "%SRCROOT%"
"""What every URI is relative to: the top of the checkout."""


def render(view: View) -> Iterator[Piece]:
    """One SARIF document."""
    index = {rule.code: number for number, rule in enumerate(view.rules)}
    seen: Counter[str] = Counter()
    results = []
    for finding in view.shown:
        seen[finding.fingerprint] += 1
        occurrence = seen[finding.fingerprint]
        results.append(_result(finding, index, view.prefix, occurrence))
    run = {
        "tool": {
            "driver": {
                "name": "kvcodemod",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in view.rules],
            }
        },
        "automationDetails": {"id": "kvcodemod/lint/"},
        "originalUriBaseIds": {
            BASE: {"description": {"text": "The top of the checkout."}}
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not view.problems,
                "toolConfigurationNotifications": [
                    {"level": "error", "message": {"text": text}}
                    for text in view.problems
                ],
            }
        ],
        "results": results,
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    yield (json.dumps(document, indent=2) + "\n", "")


def _rule(rule: Rule) -> dict[str, Any]:
    parts = (
        ("What it does", rule.what),
        ("Why it is bad", rule.why),
        ("How to mend it", rule.mend),
        ("What it cannot see", rule.limits),
    )
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.what},
        "help": {
            "text": "\n\n".join(f"{title}: {text}" for title, text in parts if text),
            "markdown": "\n\n".join(
                f"**{title}.** {text}" for title, text in parts if text
            ),
        },
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": ["kv-cache", "speculative-decoding"],
            "precision": "high",
            "problem.severity": rule.severity,
        },
    }


def _result(
    finding: Finding, index: dict[str, int], prefix: str, occurrence: int
) -> dict[str, Any]:
    parts = (
        finding.message,
        *server_words(finding),
        finding.reason,
        finding.fix,
    )
    place: dict[str, Any] = {
        "physicalLocation": _physical(
            prefix, finding.path, finding.line, finding.column
        )
    }
    if finding.symbol:
        place["logicalLocations"] = [
            {"fullyQualifiedName": finding.symbol, "kind": "function"}
        ]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": "\n".join(part for part in parts if part)},
        "locations": [place],
        "partialFingerprints": {
            "kvcodemod/v1": finding.fingerprint,
            # the one that GitHub tracks alerts by
            "primaryLocationLineHash": f"{finding.fingerprint}:{occurrence}",
        },
        "properties": {
            "confidence": finding.confidence,
            "affected": list(finding.affected),
            "configuration": configuration_data(finding.configuration),
        },
    }
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    if len(finding.trace) > 1:
        flow = [{"location": _step(prefix, step)} for step in finding.trace]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    if finding.guards:
        result["relatedLocations"] = [
            {"id": number, **_step(prefix, guard)}
            for number, guard in enumerate(finding.guards, 1)
        ]
    if finding.suppressed is not None:
        kind = "external" if finding.suppressed == ACCEPTED else "inSource"
        result["suppressions"] = [{"kind": kind, "justification": finding.suppressed}]
    return result


def _step(prefix: str, step: Step) -> dict[str, Any]:
    note = f"{step.symbol}: {step.note}" if step.symbol else step.note
    return {
        "physicalLocation": _physical(prefix, step.path, step.line),
        "message": {"text": note},
    }


def _physical(
    prefix: str, path: str, line: int, column: int | None = None
) -> dict[str, Any]:
    region = {"startLine": max(line, 1)}
    if column is not None:
        region["startColumn"] = max(column, 1)
    return {
        "artifactLocation": {
            "uri": quote(prefix + path, errors="surrogateescape"),
            "uriBaseId": BASE,
        },
        "region": region,
    }
