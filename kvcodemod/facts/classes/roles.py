"""Which pools a server holds itself, which only a wrapper holds, which are abstract."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Literal

from kvcodemod.facts.classes.table import ClassTable, own_functions
from kvcodemod.facts.classes.uses import Use
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.parsing import Function, dotted

Role = Literal["pool", "sub-pool", "abstract"]


def roles(
    table: ClassTable, pools: Iterable[str], uses: Iterable[Use]
) -> dict[str, Role]:
    """The role of every class.

    A pool is built, returned or handed on outside the bodies of other pools; a
    sub-pool only inside them, or only as the argument of a pool's constructor. A
    class that nothing uses is abstract when it has subclasses or lacks an abstract
    method, and otherwise a pool: code outside the tree may build it.
    """
    members = frozenset(pools)
    where: dict[str, list[Use]] = {name: [] for name in members}
    for use in uses:
        if use.name in members and use.owner != use.name:
            where[use.name].append(use)
    found: dict[str, Role] = {}
    for name in sorted(members):
        if where[name]:
            held = all(_by_wrapper(table, use, members) for use in where[name])
            found[name] = "sub-pool" if held else "pool"
        elif len(table.below(name)) > 1 or lacking(table, name):
            found[name] = "abstract"
        else:
            found[name] = "pool"
    return found


def lacking(table: ClassTable, name: str) -> tuple[str, ...]:
    """The abstract methods that a class and its bases leave without a body, sorted."""
    state: dict[str, bool] = {}
    for owner in reversed(table.mro(name)):
        if owner not in table.classes:
            continue
        for function in own_functions(table.node(owner)[1]):
            state[function.name] = any(
                (dotted(decorator) or "").rpartition(".")[2].startswith("abstract")
                for decorator in function.decorator_list
            )
    return tuple(sorted(method for method, abstract in state.items() if abstract))


def _by_wrapper(table: ClassTable, use: Use, members: frozenset[str]) -> bool:
    """Whether only a pool gets what is built or handed on here."""
    if use.owner in members:
        return True
    if not use.built:
        return False
    module = table.modules.get(use.path)
    inner = use.function.removeprefix(f"{module.name}.")
    function = module.names.get(inner)
    if function is None or isinstance(function, ast.ClassDef):
        return False
    return _only_argument(function, use, {name.rpartition(".")[2] for name in members})


def _only_argument(function: Function, use: Use, bare: set[str]) -> bool:
    """Whether the instance goes into a local that only pools' constructors get."""
    local: str | None = None
    for node in walk_own(function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and node.value.func.lineno <= use.line <= (node.value.end_lineno or 0)
            and (dotted(node.value.func) or "").rpartition(".")[2] in bare
        ):
            local = dotted(node.targets[0])
    if local is None:
        return False
    given: set[int] = set()
    for node in walk_own(function):
        if isinstance(node, ast.Call):
            name = (dotted(node.func) or "").rpartition(".")[2]
            if name in bare:
                values = [*node.args, *(k.value for k in node.keywords)]
                given.update(id(v) for v in values if dotted(v) == local)
    loads = [
        node
        for node in walk_own(function)
        if isinstance(node, ast.Name)
        and node.id == local
        and isinstance(node.ctx, ast.Load)
    ]
    return bool(loads) and all(id(node) in given for node in loads)
