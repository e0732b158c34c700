"""What `apply` did as JSON, schema version 1: a contract with scripts elsewhere."""

from __future__ import annotations

import json

from kvcodemod.rewrite.edits import Plan


def apply_json(plan: Plan, version: str | None) -> str:
    """The report as one JSON document, paths relative to the package's parent."""
    files = [
        {
            "path": path,
            "edits": [
                {"kind": e.kind, "symbol": e.symbol, "line": e.line}
                for e in sorted(
                    (edit for edit in plan.edits if edit.path == path),
                    key=lambda e: (e.line, e.kind, e.symbol),
                )
            ],
        }
        for path in sorted({edit.path for edit in plan.edits})
    ]
    document = {
        "schema_version": 1,
        "sglang_version": version,
        "status": plan.status,
        "files": files,
        "skipped": [
            {"symbol": s.symbol, "path": s.path, "line": s.line, "reason": s.reason}
            for s in plan.skipped
        ],
    }
    return json.dumps(document, indent=2)
