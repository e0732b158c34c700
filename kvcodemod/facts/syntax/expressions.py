"""Questions to a piece of syntax that need nothing but the piece."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from kvcodemod.facts.syntax.bodies import walk_all
from kvcodemod.facts.syntax.parsing import Function, dotted

_COLLECTIONS = ast.List | ast.Tuple | ast.Set | ast.Dict | ast.ListComp | ast.DictComp


def branches(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that a conditional expression can come out as."""
    if isinstance(node, ast.IfExp):
        yield from branches(node.body)
        yield from branches(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from branches(value)
    else:
        yield node


def calls(value: ast.expr) -> Iterator[tuple[ast.Call, bool]]:
    """Calls inside an expression, and whether a collection stands around each."""
    todo: list[tuple[ast.AST, bool]] = [(value, False)]
    while todo:
        node, boxed = todo.pop()
        if isinstance(node, ast.Call):
            yield node, boxed
        inner = boxed or isinstance(node, _COLLECTIONS)
        todo.extend((c, inner) for c in reversed(list(ast.iter_child_nodes(node))))


def defaults(init: Function) -> Iterator[tuple[str, ast.expr | None]]:
    """The parameters of a function and the expression of each one's default."""
    spec = init.args
    plain = [*spec.posonlyargs, *spec.args]
    missing = len(plain) - len(spec.defaults)
    for at, arg in enumerate(plain):
        yield arg.arg, spec.defaults[at - missing] if at >= missing else None
    for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        yield arg.arg, value


def passed(call: ast.Call, order: Iterable[str]) -> Iterator[tuple[str, ast.expr]]:
    """(parameter, value) for the arguments of a call; `order` without `self`."""
    for name, value in zip(order, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        yield name, value
    for keyword in call.keywords:
        if keyword.arg:
            yield keyword.arg, keyword.value


def is_super_call(call: ast.Call, method: str) -> bool:
    """Whether a call is `super().method(...)`, with or without arguments to `super`."""
    func = call.func
    return (
        isinstance(func, ast.Attribute)
        and func.attr == method
        and isinstance(func.value, ast.Call)
        and dotted(func.value.func) == "super"
    )


def is_none(node: ast.expr) -> bool:
    """Whether an expression is the constant None."""
    return isinstance(node, ast.Constant) and node.value is None


def identifiers(node: ast.AST) -> frozenset[str]:
    """Every name and attribute name in an expression."""
    return frozenset(
        child.attr if isinstance(child, ast.Attribute) else child.id
        for child in walk_all(node)
        if isinstance(child, ast.Attribute | ast.Name)
    )
