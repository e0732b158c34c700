"""Runs a command on a terminal of its own."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def on_a_terminal(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
) -> str:
    """What the command writes, to stdout and stderr, until it ends."""
    parent, child = pty.openpty()
    process = subprocess.Popen(command, cwd=cwd, env=env, stdout=child, stderr=child)
    os.close(child)
    out = b""
    while True:
        try:
            data = os.read(parent, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not data:
            break
        out += data
    process.wait()
    os.close(parent)
    return out.decode()
