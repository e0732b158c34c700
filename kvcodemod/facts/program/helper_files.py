"""Which files the entry files lead to, told from their text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvcodemod.config import Names
from kvcodemod.facts.syntax.modules import Modules
from kvcodemod.facts.syntax.text import Text

_IMPORTED = re.compile(
    r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)", re.M
)
_NAME = re.compile(r"\w+")


def helper_files(
    modules: Modules, names: Names, path: str, text: Text
) -> Iterator[str]:
    """The helpers' files from which a file imports something that it calls.

    A carrier's classes are used in annotations: its file always counts.
    """
    for found in _IMPORTED.finditer(text.text):
        full = _absolute(path, found[1])
        target = modules.path_of(f"{full}.x")
        below = target.partition("/")[2] if target else ""
        if target is not None and (
            below in names.carrier_files
            or (
                below.startswith(names.helper_folders)
                and not text.called.isdisjoint(_NAME.findall(found[2]))
            )
        ):
            yield target


def _absolute(path: str, name: str) -> str:
    """A module as `from` names it, relative or not, from the top of the tree."""
    dots = len(name) - len(name.lstrip("."))
    if not dots:
        return name
    package = path.split("/")[:-dots]
    return ".".join([*package, name[dots:]] if name[dots:] else package)
