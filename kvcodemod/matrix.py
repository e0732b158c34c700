"""The pool x method table: which class implements what, refuses it, or lacks it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kvcodemod.config import DEFAULT_NAMES, Names
from kvcodemod.facts.classes.roles import Role, roles
from kvcodemod.facts.classes.table import ClassTable, pool_table
from kvcodemod.facts.classes.uses import uses_of
from kvcodemod.facts.syntax.bodies import Verdict
from kvcodemod.facts.syntax.modules import Modules
from kvcodemod.facts.syntax.nesting import too_deep
from kvcodemod.tree.source import SourceError, SourceTree


@dataclass(frozen=True)
class Cell:
    """What an instance of a class gets when a method is called on it."""

    verdict: Verdict | Literal["missing"]
    defined_in: str | None
    path: str | None
    line: int | None


MISSING = Cell("missing", None, None, None)


@dataclass(frozen=True)
class Row:
    """One pool class; `order` is the C3 order, the class first, without `object`."""

    qualname: str
    path: str
    line: int
    order: tuple[str, ...]
    role: Role
    methods: dict[str, Cell]


@dataclass(frozen=True)
class Matrix:
    """The table; `broken` are files that may define pools and do not parse."""

    rows: tuple[Row, ...]
    methods: tuple[str, ...]
    broken: tuple[SourceError, ...]


def build_matrix(
    tree: SourceTree, wanted: Iterable[str] = (), names: Names = DEFAULT_NAMES
) -> Matrix:
    """The table of every pool class of a tree, sorted by qualified name.

    Args:
        tree: the files.
        wanted: method names; without any, every plain method that a pool class
            defines, dunders left out.
        names: what a pool is called.
    """
    try:
        return _build(tree, wanted, names)
    except RecursionError:
        return Matrix((), (), (too_deep(tree),))


def _build(tree: SourceTree, wanted: Iterable[str], names: Names) -> Matrix:
    table, pools = pool_table(Modules(tree), names)
    methods = tuple(dict.fromkeys(wanted)) or _defined(table, pools)
    uses = uses_of(table, pools, names.test_folders)
    role = roles(table, pools, uses)
    rows = [
        Row(
            qualname=name,
            path=table.classes[name].path,
            line=table.classes[name].line,
            order=table.mro(name),
            role=role[name],
            methods={method: _cell(table, name, method) for method in methods},
        )
        for name in pools
    ]
    return Matrix(tuple(rows), methods, tuple(table.broken))


def _defined(table: ClassTable, pools: Iterable[str]) -> tuple[str, ...]:
    found = {
        method.name
        for name in pools
        for method in table.classes[name].methods
        if method.kind == "function" and not method.name.startswith("__")
    }
    return tuple(sorted(found))


def _cell(table: ClassTable, name: str, method: str) -> Cell:
    found = table.lookup(name, method)
    if found is None:
        return MISSING
    return Cell(found.verdict, found.owner, found.path, found.line)
