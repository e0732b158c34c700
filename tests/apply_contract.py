"""The JSON report of `apply`, field by field, as the contract words it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KINDS = {
    "add-parameter",
    "forward-flag",
    "pass-flag",
    "set-up-move",
    "add-move",
    "delegate-move",
    "inject-kernel",
    "inject-check",
    "extend-import",
}


def read_json(text: str, parent: Path, version: str | None, status: str) -> Any:
    """The document, after every field of it has been checked."""
    document = json.loads(text)
    assert set(document) == {
        "schema_version",
        "sglang_version",
        "status",
        "files",
        "skipped",
    }
    assert document["schema_version"] == 1
    assert document["sglang_version"] == version
    assert document["status"] == status
    paths = [file["path"] for file in document["files"]]
    assert paths == sorted(set(paths))
    for file in document["files"]:
        assert set(file) == {"path", "edits"}
        assert file["edits"]
        lines = _lines(parent, file["path"])
        for edit in file["edits"]:
            assert set(edit) == {"kind", "symbol", "line"}
            assert edit["kind"] in KINDS
            assert type(edit["symbol"]) is str
            assert edit["symbol"]
            assert type(edit["line"]) is int
            assert 1 <= edit["line"] <= lines
    for skipped in document["skipped"]:
        assert set(skipped) == {"symbol", "path", "line", "reason"}
        assert all(type(skipped[key]) is str for key in ("symbol", "path", "reason"))
        assert type(skipped["line"]) is int
        assert 1 <= skipped["line"] <= _lines(parent, skipped["path"])
        assert len(skipped["reason"]) > 20
    assert (status == "changed") == bool(document["files"])
    return document


def _lines(parent: Path, path: str) -> int:
    assert "\\" not in path
    return (parent / path).read_bytes().count(b"\n") + 1
