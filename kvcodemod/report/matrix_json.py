"""The pool x method table as JSON, in the form that the contract promises."""

from __future__ import annotations

import json

from kvcodemod.matrix import Matrix


def render(matrix: Matrix) -> str:
    """The whole table; every class is there, also one that implements nothing."""
    classes = {
        row.qualname: {
            "path": row.path,
            "line": row.line,
            "mro": list(row.order),
            "role": row.role,
            "methods": {
                name: {
                    "verdict": cell.verdict,
                    "defined_in": cell.defined_in,
                    "path": cell.path,
                    "line": cell.line,
                }
                for name, cell in row.methods.items()
            },
        }
        for row in matrix.rows
    }
    return json.dumps({"schema_version": 1, "classes": classes}, indent=2) + "\n"
