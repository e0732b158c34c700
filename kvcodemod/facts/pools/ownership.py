"""Whether all the pools that a wrapper holds are known: none hidden, none shared.

A sub-pool that a rewritten move forgets, or moves twice, corrupts the cache without a
word. So whatever looks like a pool and is not one of the sub-pools found is a reason to
refuse.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvcodemod.facts.classes.table import own_functions
from kvcodemod.facts.pools.builds import Composite
from kvcodemod.facts.pools.composites import Composites
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.parsing import Function, dotted

Place = tuple[str, int, str]
"""(path, line, reason)"""
_LOOKS_ONLY = frozenset({"isinstance", "issubclass", "super", "type", "cast", "id"})


def unaccounted(composites: Composites, composite: Composite) -> list[Place]:
    """(path, line, reason) for every pool of a wrapper that a move could miss."""
    found = list(_shared(composite))
    found += _inherited(composites, composite)
    found += _hidden(composites, composite)
    found += _below(composites, composite)
    return found


def _shared(composite: Composite) -> Iterator[Place]:
    """The same pool under two names: moved twice, later rows would come out wrong."""
    owner: dict[object, str] = {}
    for sub_pool in composite.sub_pools:
        for build in sub_pool.builds:
            other = owner.setdefault(build, sub_pool.attr)
            if other != sub_pool.attr:
                reason = f"`{other}` and `{sub_pool.attr}` can be the same pool"
                yield build.path, build.line, reason


def _inherited(composites: Composites, composite: Composite) -> Iterator[Place]:
    cls, table = composite.cls, composites.table
    for base in table.mro(cls.qualname)[1:]:
        if base in composites.pools:
            for sub_pool in composites.of(base).sub_pools:
                name = base.rpartition(".")[2]
                reason = f"{cls.name} inherits `{sub_pool.attr}`, which {name} builds"
                yield table.classes[base].path, sub_pool.line, reason


def _hidden(composites: Composites, composite: Composite) -> Iterator[Place]:
    """Pools that are built, called or kept, but not as a sub-pool that was found."""
    cls, table = composite.cls, composites.table
    _, node = table.node(cls.qualname)
    built = {(b.line, b.callee) for s in composite.sub_pools for b in s.builds}
    names = {sub_pool.attr for sub_pool in composite.sub_pools}
    methods = _pool_methods(composites)
    for function in own_functions(node):
        for call, callee in _pool_calls(composites, cls.qualname, function, composite):
            if (call.lineno, callee) not in built:
                reason = f"`{callee}` builds a pool that no attribute is given"
                yield cls.path, call.lineno, reason
        for place in _handed_over(composites, cls.qualname, function):
            reason = f"`{ast.unparse(place)}` is handed to something that may build it"
            yield cls.path, place.lineno, reason
        for part in ast.walk(function):
            if not isinstance(part, ast.Attribute):
                continue
            if isinstance(part.ctx, ast.Load):
                attr = (dotted(part.value) or "").removeprefix("self.")
                used = part.attr in methods and dotted(part.value) == f"self.{attr}"
                if used and "." not in attr and attr not in names:
                    reason = f"cannot tell which pool `self.{attr}` is"
                    yield cls.path, part.lineno, reason
            elif _named_like_a_pool(part) and part.attr not in names:
                reason = f"cannot tell which pool `self.{part.attr}` is given"
                yield cls.path, part.lineno, reason


def _below(composites: Composites, composite: Composite) -> Iterator[Place]:
    """Subclasses that inherit the move but hold pools that it does not know."""
    table, move = composites.table, composites.names.move
    names = {sub_pool.attr for sub_pool in composite.sub_pools}
    for below in table.below(composite.cls.qualname):
        cls = table.classes[below]
        if below == composite.cls.qualname or cls.method(move) is not None:
            continue
        for function in own_functions(table.node(below)[1]):
            for call, callee in _pool_calls(composites, below, function):
                reason = (
                    f"{cls.name} builds a pool by `{callee}`, "
                    f"which the move of {composite.cls.name} would not know"
                )
                yield cls.path, call.lineno, reason
            for part in ast.walk(function):
                if (
                    isinstance(part, ast.Attribute)
                    and not isinstance(part.ctx, ast.Load)
                    and dotted(part.value) == "self"
                    and part.attr in names
                ):
                    reason = f"{cls.name} replaces the sub-pool `{part.attr}`"
                    yield cls.path, part.lineno, reason


def _pool_calls(
    composites: Composites,
    qualname: str,
    function: Function,
    composite: Composite | None = None,
) -> Iterator[tuple[ast.Call, str]]:
    """Calls that build a pool, in nested functions too, and what they call."""
    params = dict(composite.class_params) if composite else {}
    for call in ast.walk(function):
        if isinstance(call, ast.Call):
            classes = composites.stands_for(qualname, function, call.func, params)
            if any(name in composites.pools for name in classes):
                yield call, ast.unparse(call.func)


def _handed_over(
    composites: Composites, qualname: str, function: Function
) -> Iterator[ast.expr]:
    """Pool classes that are arguments: `partial(Pool, ...)`, `make(Pool)`."""
    for call in walk_own(function):
        if not isinstance(call, ast.Call):
            continue
        if (dotted(call.func) or "").rpartition(".")[2] in _LOOKS_ONLY:
            continue
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
            continue
        for value in [*call.args, *(k.value for k in call.keywords)]:
            classes = composites.stands_for(qualname, function, value, {})
            if any(name in composites.pools for name in classes):
                yield value


def _pool_methods(composites: Composites) -> frozenset[str]:
    """What only a pool is asked for: the methods of the root, and the buffers."""
    names, table = composites.names, composites.table
    roots = [c for c in table.classes.values() if c.name in names.pool_bases]
    found = {m.name for c in roots for m in c.methods if not m.name.startswith("__")}
    found |= {names.move, names.write, *names.key_getters, *names.value_getters}
    return frozenset(found)


def _named_like_a_pool(part: ast.Attribute) -> bool:
    word = part.attr.rpartition("_")[2]
    return word in ("pool", "pools") and dotted(part.value) == "self"
