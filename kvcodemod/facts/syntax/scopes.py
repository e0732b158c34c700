"""What one function binds, imports and calls; read once for each function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.modules import Module, imported
from kvcodemod.facts.syntax.parsing import Function, dotted


@dataclass(frozen=True)
class Scope:
    """A function's own names, nested functions left out.

    Attributes:
        imports: local name -> dotted name, for imports inside the function.
        bound: `x` or `self.x` -> the expressions assigned to it, in source order.
        calls: the calls, in source order.
        words: every identifier and attribute name that occurs.
    """

    imports: dict[str, str]
    bound: dict[str, tuple[ast.expr, ...]]
    calls: tuple[ast.Call, ...]
    words: frozenset[str]


class Scopes:
    """Scopes of functions, computed on demand and once."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        # the node is kept so that its id cannot be given to another one
        self._known: dict[int, tuple[Function, Scope]] = {}

    def of(self, module: Module, function: Function) -> Scope:
        """The scope of a function of the module."""
        key = id(function)
        if key not in self._known:
            self._known[key] = (function, _read(module, function))
        return self._known[key][1]


def _read(module: Module, function: Function) -> Scope:
    imports: dict[str, str] = {}
    bound: dict[str, list[ast.expr]] = {}
    calls: list[ast.Call] = []
    words: set[str] = set()
    for node in walk_own(function):
        kind = node.__class__
        if kind is ast.Name:
            words.add(node.id)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            words.add(node.attr)  # type: ignore[attr-defined]
        elif kind is ast.Call:
            calls.append(node)  # type: ignore[arg-type]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for name, full in imported(module, node):
                imports[name] = full
                words.update((name, full.rpartition(".")[2]))
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            for target, value, _ in _assigned(node):
                bound.setdefault(target, []).append(value)
    return Scope(
        imports=imports,
        bound={name: tuple(values) for name, values in bound.items()},
        calls=tuple(calls),
        words=frozenset(words),
    )


def assignments(function: Function) -> Iterator[tuple[str, ast.expr, int]]:
    """(`x` or `self.x`, value, line) for each assignment, in source order."""
    for node in walk_own(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            yield from _assigned(node)


def _assigned(
    node: ast.Assign | ast.AnnAssign | ast.NamedExpr,
) -> Iterator[tuple[str, ast.expr, int]]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        name = dotted(target)
        if name and node.value is not None:
            yield name, node.value, node.lineno
