"""Real SGLang releases for the tests: fetched from the index, cached outside the tree.

The cache is `$KVCODEMOD_TEST_CACHE`, or `~/.cache/kvcodemod-tests`. Compiled libraries
are not unpacked; nothing of SGLang is ever written into this repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ALL = tuple(f"0.5.{n}" for n in range(15, 24))
"""Every release on the package index that has the wrapper and a move that raises."""

BEFORE = "0.5.13"
"""A release older than the wrapper."""


def cache_dir() -> Path:
    """The folder that holds wheels and unpacked releases; created when missing."""
    given = os.environ.get("KVCODEMOD_TEST_CACHE")
    path = Path(given) if given else Path.home() / ".cache" / "kvcodemod-tests"
    path.mkdir(parents=True, exist_ok=True)
    return path


def wheel_of(requirement: str, *options: str) -> Path:
    """The wheel of `name==version`, fetched by pip, with options, if it is not there.

    Raises:
        RuntimeError: the package index has no such wheel, or cannot be reached.
    """
    wheels = cache_dir() / "wheels"
    pattern = requirement.replace("-", "_").replace("==", "-") + "-*.whl"
    if found := sorted(wheels.glob(pattern)):
        return found[0]
    wheels.mkdir(exist_ok=True)
    partial = wheels / f"partial.{os.getpid()}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(partial), *options, requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    for wheel in partial.glob(pattern):
        whole = wheel.replace(wheels / wheel.name)  # another worker may wait for it
        shutil.rmtree(partial)
        return whole
    raise RuntimeError(f"{requirement} cannot be fetched: {done.stderr[-800:]}")


def pristine(version: str) -> Path:
    """The folder with the untouched `sglang/` package of a release: never edit it.

    Raises:
        RuntimeError: the package index has no such wheel, or cannot be reached.
    """
    home = cache_dir() / f"sglang-{version}-tree"
    if (home / ".complete").exists():
        return home
    found = wheel_of(f"sglang=={version}")
    partial = home.with_name(f"{home.name}.partial.{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    with zipfile.ZipFile(found) as wheel:
        names = [n for n in wheel.namelist() if not n.endswith(".so")]
        wheel.extractall(partial, names)
    (partial / ".complete").touch()
    try:
        partial.rename(home)
    except OSError:  # another worker was first
        shutil.rmtree(partial, ignore_errors=True)
    return home


def copy_of(version: str, into: Path) -> Path:
    """A private copy of a release that a test may edit: its `sglang/` folder."""
    target = into / "sglang"
    shutil.copytree(pristine(version) / "sglang", target)
    return target
