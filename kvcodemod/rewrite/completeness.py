"""What a wrapper whose move does not raise still lacks, if it was edited by halves."""

from __future__ import annotations

import ast

from kvcodemod.config import Names
from kvcodemod.facts.classes.constructors import accepts
from kvcodemod.facts.classes.table import ClassTable, Method
from kvcodemod.facts.pools.buffers import creation_functions
from kvcodemod.facts.pools.builds import Composite
from kvcodemod.facts.pools.movers import how_moved
from kvcodemod.facts.syntax.parsing import dotted
from kvcodemod.facts.syntax.scopes import assignments
from kvcodemod.rewrite.snippets import (
    OTHERS_ATTRIBUTE,
    PLAN_ATTRIBUTE,
    SHARED_FUNCTION,
)


def incomplete(
    table: ClassTable, composite: Composite, names: Names
) -> list[tuple[str, int, str]]:
    """(path, line, reason) for whatever a rewritten wrapper still lacks."""
    problems: list[tuple[str, int, str]] = list(composite.unclear)
    move = composite.move
    if move is None or move.verdict in ("raises", "noop"):
        line = move.line if move else composite.cls.line
        reason = f"{composite.cls.name}.{names.move} does not move"
        return [*problems, (composite.cls.path, line, reason)]
    used = _moved(table, composite, move)
    args = tuple(p.name for p in move.params[1:])
    for sub_pool in composite.sub_pools:
        where = (composite.cls.path, sub_pool.line)
        if sub_pool.attr not in used:
            reason = f"{move.name} leaves out the sub-pool `{sub_pool.attr}`"
            problems.append((composite.cls.path, move.line, reason))
        for build in sub_pool.builds:
            if build.flag is None and not build.splat:
                reason = f"`{sub_pool.attr}` is built without {names.flag}"
                problems.append((build.path, build.line, reason))
        for qualname in sub_pool.classes:
            cls = table.classes[qualname]
            accepted = accepts(table, qualname, names.flag)
            how = how_moved(table, qualname, names, args)
            if not accepted:
                reason = f"{cls.name} does not accept {names.flag}"
                problems.append((cls.path, cls.line, reason))
            elif how.kind != "own":
                why = how.reason or how.kind
                reason = f"{cls.name} has no move of its own that works ({why})"
                problems.append((*where, reason))
            elif not _plans(table, qualname, names):
                reason = f"{cls.name} never plans its moves"
                problems.append((cls.path, cls.line, reason))
    return problems


def _plans(table: ClassTable, qualname: str, names: Names) -> bool:
    """Whether a move that reads a plan finds one that the constructor has made."""
    move = table.lookup(qualname, names.move)
    if move is None or PLAN_ATTRIBUTE not in _attributes(table.function(move)):
        return True
    return any(
        name == f"self.{PLAN_ATTRIBUTE}" and isinstance(value, ast.Call)
        for function in creation_functions(table, qualname)
        for name, value, _ in assignments(function)
    )


def _moved(table: ClassTable, composite: Composite, move: Method) -> set[str]:
    """Attributes that a move names, or that its constructor plans a shared move for."""
    used = _attributes(table.function(move))
    init = composite.cls.method("__init__")
    if OTHERS_ATTRIBUTE in used and init is not None:
        for node in ast.walk(table.function(init)):
            if isinstance(node, ast.Call) and dotted(node.func) == SHARED_FUNCTION:
                used |= _attributes(node)
    return used


def _attributes(node: ast.AST) -> set[str]:
    return {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
