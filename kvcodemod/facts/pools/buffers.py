"""Which buffers a pool class creates, in which shapes, and whether rows are slots."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvcodemod.config import Names
from kvcodemod.facts.classes.table import ClassTable, Method
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.parsing import Function, dotted
from kvcodemod.facts.syntax.scopes import assignments

_REORDERING = frozenset(
    {"transpose", "permute", "movedim", "moveaxis", "swapaxes", "swapdims", "T", "mT"}
    | {"as_strided", "unfold"}
)
_ALLOCATIONS = frozenset({"zeros", "empty", "full", "ones", "rand", "randn"})


def creation_functions(table: ClassTable, qualname: str) -> list[Function]:
    """The functions that run while an instance is built, constructor first.

    The constructor chain is followed through `super()`, and from there every method
    of the class that is called on `self`.
    """
    found: dict[tuple[str, str], Function] = {}
    todo: list[Method] = []
    first = table.lookup(qualname, "__init__")
    if first:
        todo.append(first)
    while todo:
        method = todo.pop()
        key = (method.owner, method.name)
        if key in found:
            continue
        function = table.function(method)
        found[key] = function
        for node in walk_own(function):
            if isinstance(node, ast.Call):
                todo.extend(_called(table, qualname, method, node))
    return list(found.values())


def _called(
    table: ClassTable, qualname: str, method: Method, call: ast.Call
) -> Iterator[Method]:
    func = call.func
    if not isinstance(func, ast.Attribute):
        return
    after = None
    if dotted(func.value) == "self":
        after = ""
    elif isinstance(func.value, ast.Call) and dotted(func.value.func) == "super":
        after = method.owner
        if func.value.args:  # super(Other, self): the classes after Other
            named = dotted(func.value.args[0]) or ""
            module, _ = table.node(method.owner)
            after = table.modules.resolve(module, named)
    if after is None or (after and after not in table.mro(qualname)):
        return
    target = table.lookup(qualname, func.attr, after=after)
    if target is not None and target.kind != "property":
        yield target


def layouts_of(table: ClassTable, qualname: str, attribute: str) -> tuple[str, ...]:
    """The string values that the layout attribute is given or compared with, sorted."""
    values: set[str] = set()
    for function in creation_functions(table, qualname):
        for name, value, _ in assignments(function):
            if name == f"self.{attribute}":
                values |= {"?"} if not isinstance(value, ast.Constant) else set()
                values |= {v for v in [_text(value)] if v}
        for node in walk_own(function):
            if isinstance(node, ast.Compare) and dotted(node.left) in (
                attribute,
                f"self.{attribute}",
            ):
                values |= {v for c in node.comparators for v in [_text(c)] if v}
    return tuple(sorted(values))


def row_buffers(
    table: ClassTable, qualname: str, names: Names
) -> tuple[tuple[str, ...], str]:
    """The attributes that hold a class's buffers, if a slot is one row in each.

    Returns the attributes and an empty string, or nothing and the reason why the
    rows cannot be moved by slot. A row is slot-major where the last two dimensions
    are heads and head size and no other dimension is one of heads.
    """
    wanted = handed_out(table, qualname, names)
    if not wanted:
        return (), "no buffer is handed out by its getters"
    made: dict[str, list[ast.expr]] = {}
    for function in creation_functions(table, qualname):
        for name, value, _ in assignments(function):
            if name.startswith("self.") and name.count(".") == 1:
                made.setdefault(name.removeprefix("self."), []).append(value)
    linked = _linked(made, set(wanted))
    for attr, values in sorted(made.items()):
        if attr not in linked and any(_allocates(value) for value in values):
            return (), f"it also holds `{attr}`, which is not one of its row buffers"
    for attr in sorted(linked):
        for value in made.get(attr, ()):
            for node in ast.walk(value):
                if isinstance(node, ast.Attribute) and node.attr in _REORDERING:
                    return (), f"`{attr}` is not in the order of its shape: {node.attr}"
    for attr in _written(table, qualname):
        if attr not in linked:
            return (), f"it writes to `{attr}`, which is not one of its row buffers"
    shapes = [s for a in sorted(linked) for v in made.get(a, ()) for s in _shapes(v)]
    if not all(shapes) or not shapes:
        return (), "the shape of its buffers is not written out"
    for shape in shapes:
        if not _slot_major(shape):
            text = ", ".join(ast.unparse(dim) for dim in shape)
            return (), f"a buffer of shape ({text}) is not slot-major"
    return wanted, ""


def _written(table: ClassTable, qualname: str) -> Iterator[str]:
    """The attributes that its `set_...` methods store rows in."""
    methods = {
        method.name: table.lookup(qualname, method.name)
        for owner in table.mro(qualname)
        for known in [table.classes.get(owner)]
        for method in (known.methods if known else ())
        if method.name.startswith("set_")
    }
    for method in methods.values():
        for node in walk_own(table.function(method)) if method else ():
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                root: ast.expr = node
                while isinstance(root, ast.Subscript):
                    root = root.value
                name = dotted(root) or ""
                if name.startswith("self.") and name.count(".") == 1:
                    yield name.removeprefix("self.")


def handed_out(table: ClassTable, qualname: str, names: Names) -> tuple[str, ...]:
    """The attributes that the getters of a class take a layer's buffers from."""
    wanted: list[str] = []
    for getters in (names.key_getters, names.value_getters):
        attr = _handed_out(table, qualname, getters)
        if attr and attr not in wanted:
            wanted.append(attr)
    return tuple(wanted)


def _handed_out(
    table: ClassTable, qualname: str, getters: tuple[str, ...]
) -> str | None:
    for getter in getters:
        method = table.lookup(qualname, getter)
        if method is None or method.verdict != "ok":
            continue
        for node in walk_own(table.function(method)):
            if isinstance(node, ast.Subscript):
                name = dotted(node.value) or ""
                if name.startswith("self.") and name.count(".") == 1:
                    return name.removeprefix("self.")
    return None


def _linked(made: dict[str, list[ast.expr]], wanted: set[str]) -> set[str]:
    """`wanted` and every attribute that they were made from or that views them."""
    links: dict[str, set[str]] = {}
    for attr, values in made.items():
        for value in values:
            for node in ast.walk(value):
                name = dotted(node) or ""
                other = name.removeprefix("self.")
                if not name.startswith("self.") or other not in made or other == attr:
                    continue
                if any(_allocates(v) for v in made[other]) or _is_view(value):
                    links.setdefault(attr, set()).add(other)
                    links.setdefault(other, set()).add(attr)
    result, todo = set(wanted), list(wanted)
    while todo:
        fresh = links.get(todo.pop(), set()) - result
        result |= fresh
        todo.extend(fresh)
    return result


def _is_view(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute | ast.ListComp)


def _allocates(value: ast.expr) -> bool:
    return any(True for _ in _allocations(value))


def _allocations(value: ast.expr) -> Iterator[ast.Call]:
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            owner, _, last = (dotted(node.func) or "").rpartition(".")
            if owner == "torch" and last in _ALLOCATIONS:
                yield node


def _shapes(value: ast.expr) -> Iterator[list[ast.expr]]:
    for call in _allocations(value):
        size = call.args[0] if call.args else None
        size = next((k.value for k in call.keywords if k.arg == "size"), size)
        yield list(size.elts) if isinstance(size, ast.Tuple | ast.List) else []
    for node in ast.walk(value):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("view", "reshape")
            and len(node.args) > 1
        ):
            yield list(node.args)


def _slot_major(shape: list[ast.expr]) -> bool:
    words = [ast.unparse(dim) for dim in shape]
    if len(words) < 3:
        return False
    *slots, heads, size = words
    return (
        "dim" in size
        and ("head" in heads or heads == "1")
        and not any("head" in word for word in slots)
    )


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None
