"""Constructors that have to take the flag: a parameter each, handed on if it counts."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from kvcodemod.facts.classes.constructors import (
    accepts,
    next_init,
    super_after,
    super_init,
)
from kvcodemod.facts.classes.table import ClassTable, Method
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.rewrite.edits import AddParameter, Edit, ForwardFlag
from kvcodemod.rewrite.refusal import RefusedError


def plan_parameters(
    table: ClassTable,
    qualnames: Iterable[str],
    flag: str,
    roots: frozenset[str],
    by_name: frozenset[str] = frozenset(),
) -> list[Edit]:
    """Edits after which every class can be built with the flag.

    `roots` are bare names of the abstract bases, whose constructor is everybody's.
    The constructors of `by_name` read the flag: `**kwargs` is not enough for them.

    Raises:
        RefusedError: a class has no constructor of its own to take the parameter.
    """
    edits: list[Edit] = []
    given: set[str] = set()
    for qualname in sorted(qualnames, key=lambda q: (len(table.mro(q)), q)):
        cls = table.classes[qualname]
        init = table.lookup(qualname, "__init__")
        unnamed = qualname in by_name and not _names(init, flag, given)
        if not unnamed and accepts(table, qualname, flag, frozenset(given)):
            continue
        if init is None or init.owner.rpartition(".")[2] in roots:
            reason = f"{cls.name} has no constructor that could take {flag}"
            raise RefusedError(cls.path, cls.line, reason)
        place = (init.path, symbol(table, init), init.line)
        edits.append(AddParameter(*place, name=flag))
        given.add(init.owner)
        if _reaches_one_that_takes_it(table, qualname, init, flag, frozenset(given)):
            edits.append(ForwardFlag(*place, name=flag))
    return edits


def _names(init: Method | None, flag: str, given: set[str]) -> bool:
    return init is None or (
        init.owner in given or any(p.name == flag for p in init.params)
    )


def _reaches_one_that_takes_it(
    table: ClassTable, qualname: str, init: Method, flag: str, given: frozenset[str]
) -> bool:
    call = super_init(table.function(init))
    if call is None or next_init(table, qualname, init) is None:
        return False
    if any(k.arg == flag for k in call.keywords):
        return False
    after = super_after(table, init, call)
    return accepts(table, qualname, flag, given, after)


def check_reaches_its_end(table: ClassTable, init: Method) -> None:
    """Statements at the end of a constructor must run.

    Raises:
        RefusedError: it returns before its end.
    """
    function = table.function(init)
    for node in walk_own(function):
        if isinstance(node, ast.Return):
            reason = "the constructor returns before its end, where moves are planned"
            raise RefusedError(init.path, node.lineno, reason)


def symbol(table: ClassTable, method: Method) -> str:
    """The method's name, qualified inside its module."""
    module, _ = table.node(method.owner)
    return f"{method.owner.removeprefix(f'{module.name}.')}.{method.name}"
