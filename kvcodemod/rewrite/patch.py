"""A patch that `git apply` takes, byte for byte: CRLF, encodings, no last newline."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

_NO_NEWLINE = b"\\ No newline at end of file\n"


def make_patch(
    old: Mapping[str, bytes], new: Mapping[str, bytes], prefix: str = ""
) -> bytes:
    """One patch for all files; `prefix` leads from the patch's base to the paths."""
    parts: list[bytes] = []
    for path in sorted(new):
        name = f"{prefix}{path}".encode()
        hunks = difflib.diff_bytes(
            difflib.unified_diff,
            _lines(old[path]),
            _lines(new[path]),
            b"a/" + name,
            b"b/" + name,
        )
        body = [
            line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE
            for line in hunks
        ]
        if body:
            parts.append(b"diff --git a/" + name + b" b/" + name + b"\n")
            parts += body
    return b"".join(parts)


def _lines(data: bytes) -> list[bytes]:
    """Lines as git sees them: only LF ends one."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
