"""One lint run on a package, with the cache around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kvcodemod.config import DEFAULT_NAMES, Names
from kvcodemod.facts.prefilter.scan import Scan
from kvcodemod.facts.prefilter.unparsable import broken
from kvcodemod.lint.cache import Cache
from kvcodemod.lint.registry import Registry
from kvcodemod.lint.run import Result, run_rules
from kvcodemod.tree.locate import Package
from kvcodemod.tree.source import SourceError, SourceTree


class NothingToLintError(Exception):
    """The tree has no pools, or nothing in the entry folders."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to, and what a person should know about the run itself."""

    result: Result
    tree: SourceTree
    warnings: tuple[str, ...]


def lint(
    scan: Scan,
    registry: Registry,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    names: Names = DEFAULT_NAMES,
    cache_folder: Path | None = None,
) -> Outcome:
    """Run the selected rules on a tree that is being scanned.

    With a `cache_folder`, the scan has to hash; None means no cache.

    Raises:
        UnknownRulesError: the selection names rules that there are not.
        NothingToLintError: no pools, or no speculative decoding.
    """
    rules = registry.selected(select, ignore)
    tree = scan.tree
    cache = Cache(cache_folder, scan, rules, names) if cache_folder else None
    result = cache.read() if cache else None
    if result is None:
        result = run_rules(tree, rules, names, scan)
        if cache and not result.failed:
            cache.write(result)
    if not result.pools and not result.broken:
        result = replace(result, broken=unread_pools(tree, names))
    if not result.broken:
        _say_if_empty(tree.package, result, names)
    warnings = [f"rule not loaded: {problem}" for problem in registry.broken]
    warnings += [f"{path}: {reason}" for path, reason in sorted(tree.unread.items())]
    warnings += [result.unparsable[path] for path in sorted(result.unparsable)]
    if not rules:
        warnings.append("no rule is selected: nothing is checked")
    return Outcome(result, tree, tuple(warnings))


def unread_pools(tree: SourceTree, names: Names) -> tuple[SourceError, ...]:
    """The files that may define pools and cannot be parsed, of a tree without any."""
    roots = tuple(f"class {name}".encode() for name in names.pool_bases)
    return tuple(broken(tree, tree.containing(roots)))


def _say_if_empty(package: Package, result: Result, names: Names) -> None:
    if not result.pools:
        bases = ", ".join(names.pool_bases)
        raise NothingToLintError(
            f"{package.root}: no pool class (a subclass of {bases}): nothing to check"
        )
    if not result.entry_files:
        folders = ", ".join(names.entry_folders)
        raise NothingToLintError(
            f"{package.root}: no files in {folders}: no speculative decoding to check"
        )
