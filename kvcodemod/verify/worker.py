"""The proof's worker: runs in the target's Python, a JSON request in, JSON lines out.

A standalone script: it needs the standard library, torch and the target's own
dependencies, never kvcodemod. Whatever the target prints goes to stderr; the file
descriptor that was stdout carries nothing but the worker's own lines.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

PACKAGE = "kvcodemod_worker"
"""A name for the sibling files that no target can have."""

OLDEST = (3, 10)
"""What the sibling files need; this file runs in older ones, to say so."""


def main() -> int:
    """Read the request, run the proof, and say `done` on the private channel."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def send(event: dict[str, Any]) -> None:
        channel.write(json.dumps(event) + "\n")
        channel.flush()

    try:
        request = json.loads(sys.stdin.read())
    except ValueError as error:
        send({"event": "problem", "kind": "protocol", "message": str(error)})
        return 1
    if sys.version_info < OLDEST:
        text = f"{sys.executable} is Python {sys.version.split()[0]}"
        hint = "give --python a Python of version 3.10 or newer"
        send({"event": "problem", "kind": "python", "message": text, "hint": hint})
        return 1
    _load_siblings()
    session = importlib.import_module(f"{PACKAGE}.worker_session")
    code: int = session.run(request, send)
    channel.close()
    return code


def _load_siblings() -> None:
    """Make the sibling files importable without leaving their folder on `sys.path`."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != here]
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(here)]
    sys.modules[PACKAGE] = package


if __name__ == "__main__":
    sys.stderr.flush()
    code = main()
    sys.stderr.flush()
    # The target may leave threads or exit hooks behind; nothing of it is needed now.
    os._exit(code)
