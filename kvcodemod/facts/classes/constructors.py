"""Constructors along the C3 order: which parameters they take and what they hand on."""

from __future__ import annotations

import ast

from kvcodemod.facts.classes.table import ClassTable, Method
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.expressions import is_super_call
from kvcodemod.facts.syntax.parsing import Function, dotted


def accepts(
    table: ClassTable,
    qualname: str,
    name: str,
    given: frozenset[str] = frozenset(),
    after: str = "",
) -> bool:
    """Whether constructing the class with the keyword `name` works.

    Through `**kwargs` it does only where those are handed on to a constructor that
    takes it. `given` are classes whose constructor is about to get the parameter.
    """
    init = table.lookup(qualname, "__init__", after=after)
    if init is None:
        return False
    if init.owner in given or any(p.name == name for p in init.params):
        return True
    kwargs = next((p.name for p in init.params if p.kind == "kwargs"), None)
    call = super_init(table.function(init))
    if kwargs is None or call is None:
        return False
    handed_on = any(k.arg is None and dotted(k.value) == kwargs for k in call.keywords)
    return handed_on and accepts(
        table, qualname, name, given, super_after(table, init, call)
    )


def super_init(init: Function) -> ast.Call | None:
    """The `super().__init__(...)` call of a constructor, or None."""
    for node in walk_own(init):
        if isinstance(node, ast.Call) and is_super_call(node, "__init__"):
            return node
    return None


def super_after(table: ClassTable, method: Method, call: ast.Call) -> str:
    """The class after which a `super()` or `super(Other, self)` call looks."""
    assert isinstance(call.func, ast.Attribute)
    zero = call.func.value
    if isinstance(zero, ast.Call) and zero.args:
        module, _ = table.node(method.owner)
        return table.modules.resolve(module, dotted(zero.args[0]) or "")
    return method.owner


def next_init(table: ClassTable, qualname: str, init: Method) -> Method | None:
    """The constructor that `super().__init__(...)` in `init` reaches, or None."""
    call = super_init(table.function(init))
    if call is None:
        return None
    after = super_after(table, init, call)
    if after not in table.mro(qualname):
        return None
    return table.lookup(qualname, "__init__", after=after)
