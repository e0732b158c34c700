"""`per-file-ignores`: rules that do not count in the files a pattern matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kvcodemod.findings import Finding, in_order
from kvcodemod.tree.source import SourceTree


@dataclass(frozen=True)
class Ignored:
    """Findings after the patterns.

    Attributes:
        findings: those that stand.
        suppressed: the others; each names the pattern in `suppressed`.
        idle: patterns that match no file of the tree, all of them.
    """

    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    idle: tuple[str, ...]


def ignore_per_file(
    tree: SourceTree,
    findings: Iterable[Finding],
    patterns: Mapping[str, tuple[str, ...]],
    codes: Callable[[str], Iterable[str]],
    folder: Path | None,
) -> Ignored:
    """Set the findings aside whose file and rule a pattern names.

    Args:
        tree: the tree, for the patterns that match nothing.
        findings: what stands so far.
        patterns: pattern -> rules by code, name or beginning of a code. A pattern is
            relative to the package's parent, or to `folder`.
        codes: the codes that such a word stands for.
        folder: where the configuration file stands.
    """
    meant = {
        p: {c for name in names for c in codes(name)} for p, names in patterns.items()
    }
    outer = _outer(tree, folder)

    def matches(pattern: str, path: str) -> bool:
        shape = _shape(pattern)
        return bool(shape.fullmatch(path) or shape.fullmatch(outer + path))

    kept, gone = [], []
    for finding in findings:
        pattern = next(
            (p for p in meant if finding.rule in meant[p] and matches(p, finding.path)),
            None,
        )
        if pattern is None:
            kept.append(finding)
        else:
            reason = f"per-file-ignores: {pattern}"
            gone.append(replace(finding, suppressed=reason))
    idle = [p for p in meant if not any(matches(p, path) for path in tree.paths)]
    return Ignored(tuple(kept), in_order(gone), tuple(idle))


def _outer(tree: SourceTree, folder: Path | None) -> str:
    """What the package's parent is called from the folder of the configuration."""
    if folder is None:
        return ""
    parent, folder = tree.package.parent, folder.resolve()
    if parent == folder or not parent.is_relative_to(folder):
        return ""
    return f"{parent.relative_to(folder).as_posix()}/"


@cache
def _shape(pattern: str) -> re.Pattern[str]:
    """`*` and `?` stay within a folder, `**` does not; a folder means all in it."""
    text = pattern.removeprefix("./")
    text = f"{text}**" if text.endswith("/") else text
    out = ""
    for part in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", text):
        out += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(
            part, re.escape(part)
        )
    return re.compile(out, re.S)
