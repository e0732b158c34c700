"""What a release's proof needs ahead on the path: older transformers for some."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from releases import cache_dir

OLDER = (
    "transformers==5.12.1",
    "huggingface-hub<2",
    "tokenizers==0.22.2",
    "xgrammar==0.2.1",
)
"""0.5.15 to 0.5.19 do not import with a current transformers; 0.5.16 to 0.5.18 import
xgrammar on the way to the pools."""

CURRENT_FROM = 20


def extra_path(version: str) -> list[Path]:
    """Folders for the proof's `extra_path`; made on first use, cached outside the tree.

    Raises:
        RuntimeError: the package index has them not, or cannot be reached.
    """
    if int(version.split(".")[2]) >= CURRENT_FROM:
        return []
    tag = f"older-py{sys.version_info[0]}{sys.version_info[1]}"
    home = cache_dir() / tag
    if home.exists():
        return [home]
    partial = home.with_name(f"{tag}.partial.{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--target", str(partial), *OLDER]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(partial, ignore_errors=True)
        raise RuntimeError(f"cannot install {OLDER}: {done.stderr[-800:]}")
    try:
        partial.rename(home)
    except OSError:  # another worker was first
        shutil.rmtree(partial, ignore_errors=True)
    return [home]
