"""Finds the SGLang package behind any path that a person may type."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

PACKAGE_NAME = "sglang"


class NoPackageError(Exception):
    """There is no SGLang package at the path; the message says what was looked for."""


@dataclass(frozen=True)
class Package:
    """One SGLang source tree.

    Attributes:
        root: the package folder, the one that holds `__init__.py` and `srt/`; resolved.
        patch_base: the folder that the paths in a patch are relative to: the top of
            the git checkout that the package stands in, or else its parent.
        version: the release, or None where the tree does not say.
    """

    root: Path
    patch_base: Path
    version: str | None

    @property
    def parent(self) -> Path:
        """The folder that has to be on `sys.path` to import the package."""
        return self.root.parent


def find_package(path: Path) -> Package:
    """The package at a checkout, its `python/`, the package, site-packages, or a file.

    Raises:
        NoPackageError: nothing there, or no SGLang in it.
    """
    try:
        start = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symlinks
        why = getattr(error, "strerror", None) or "it cannot be followed"
        raise NoPackageError(f"{path}: no such file or folder ({why})") from error
    candidates = [start, start / PACKAGE_NAME, start / "python" / PACKAGE_NAME]
    for parent in start.parents:
        candidates.append(parent)
    for candidate in candidates:
        if _is_package(candidate):
            return _describe(candidate)
    raise NoPackageError(
        f"{path}: no SGLang here: looked for a folder with __init__.py and srt/ at "
        f"{path}, {path / PACKAGE_NAME}, {path / 'python' / PACKAGE_NAME} and the "
        "folders above; give a checkout, its python/, the package folder, "
        "a site-packages folder or --installed"
    )


def find_installed() -> Package:
    """The SGLang installed beside this Python, found without importing it.

    Raises:
        NoPackageError: it is not installed, or installed without source.
    """
    try:
        spec = importlib.util.find_spec(PACKAGE_NAME)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).resolve().parent
        if _is_package(root):
            return _describe(root)
    raise NoPackageError(
        "no SGLang is installed beside this Python; run kvcodemod with the Python "
        "that has it (python -m kvcodemod ...) or give its path"
    )


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file() and (folder / "srt").is_dir()


def _describe(root: Path) -> Package:
    return Package(root=root, patch_base=_patch_base(root), version=_version(root))


def _patch_base(root: Path) -> Path:
    if "site-packages" not in root.parts and "dist-packages" not in root.parts:
        for folder in root.parents:
            if (folder / ".git").exists():
                return folder
    return root.parent


_VERSION = re.compile(r"""^__version__\b.*?=\s*["'](\d[^"']*)["']""", re.M)


def _version(root: Path) -> str | None:
    for name in ("_version.py", "version.py"):
        if not (root / name).is_file():  # a FIFO would hang
            continue
        try:
            text = (root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        found = _VERSION.search(text)
        if found:
            return found[1]
    for info in sorted(root.parent.glob(f"{root.name}-*.dist-info")):
        return info.name[len(root.name) + 1 : -len(".dist-info")]
    return None
