"""Which file of a tree is nested too deeply to be followed, and where."""

from __future__ import annotations

import ast

from kvcodemod.facts.syntax.bodies import children
from kvcodemod.facts.syntax.modules import Module
from kvcodemod.tree.source import SourceError, SourceTree

DEEP = 80
"""Levels; of what a lint of SGLang 0.5.15, 0.5.20 or 0.5.23 parses none has over 22."""


def too_deep(tree: SourceTree) -> SourceError:
    """The error for a tree that led to a RecursionError: its deepest place.

    Where no file is deep, definitions lead to each other in a chain that is too long.
    """
    modules = [made for made in tree.made.values() if isinstance(made, Module)]
    found = [(*_deepest(module.tree), module.path) for module in modules]
    depth, line, path = max(found, key=lambda f: (f[0], f[2]), default=(0, 0, ""))
    if depth < DEEP:
        name = tree.package.root.name
        return SourceError(name, None, "a chain of definitions is too long to follow")
    return SourceError(path, line, "nested too deeply to be followed")


def _deepest(module: ast.Module) -> tuple[int, int]:
    """How many levels there are, and the line of the first node of the last level."""
    level: list[tuple[ast.AST, int]] = [(module, 1)]
    depth = line = 0
    while level:
        depth, line = depth + 1, level[0][1]
        level = [
            (part, getattr(part, "lineno", line))
            for node, line in level
            for part in children(node)
        ]
    return depth, line
