"""Small SGLang-shaped trees for the tests, written out from text."""

from __future__ import annotations

import textwrap
from pathlib import Path

from kvcodemod.tree.locate import find_package
from kvcodemod.tree.source import SourceTree


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    """A package with `files` (paths below `sglang/`); returns its parent folder."""
    for name, text in {"__init__.py": "", "srt/__init__.py": "", **files}.items():
        path = folder / "sglang" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def tree_of(folder: Path, files: dict[str, str] | None = None) -> SourceTree:
    if files is not None:
        write_tree(folder, files)
    return SourceTree(find_package(folder))
