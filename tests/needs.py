"""What a test needs: skipped with a reason on a developer's machine, never in CI."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest


def need(module: str) -> ModuleType:
    """The imported module; without it the test file is skipped, and in CI it fails.

    Raises:
        ImportError: it is missing and `CI` is set, where nothing may be skipped.
    """
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=f"{module} is not installed")
