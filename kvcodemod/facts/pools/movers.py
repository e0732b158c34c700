"""How one pool class can move its rows: by its own move, by another method, or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kvcodemod.config import Names
from kvcodemod.facts.classes.table import ClassTable, Method
from kvcodemod.facts.pools.buffers import layouts_of, row_buffers
from kvcodemod.facts.syntax.bodies import walk_own, without_docstring
from kvcodemod.facts.syntax.expressions import is_super_call
from kvcodemod.facts.syntax.parsing import Function, dotted
from kvcodemod.facts.syntax.scopes import assignments

MoveKind = Literal["own", "translated", "method", "rows", "none"]


@dataclass(frozen=True)
class Movability:
    """How the rows of a class are moved once the flag is set.

    Attributes:
        kind: `own`: its move works as it is. `translated`: an inherited move works
            on slots that `via` translates first. `method`: `via`, which takes the
            same two arguments, moves the rows under another name. `rows`: it has no
            move that works, and `buffers` are slot-major. `none`: see `reason`.
        layouts: values that the layout attribute can take in this class.
    """

    qualname: str
    kind: MoveKind
    via: str
    buffers: tuple[str, ...]
    layouts: tuple[str, ...]
    reason: str


def how_moved(
    table: ClassTable, qualname: str, names: Names, args: tuple[str, ...]
) -> Movability:
    """What it takes to move the rows of a class; `args` are the move's parameters."""
    layouts = layouts_of(table, qualname, names.layout)

    def answer(
        kind: MoveKind, via: str = "", buffers: tuple[str, ...] = (), reason: str = ""
    ) -> Movability:
        return Movability(qualname, kind, via, buffers, layouts, reason)

    move = table.lookup(qualname, names.move)
    if move is not None and move.verdict in ("raises", "noop"):
        if move.owner.rpartition(".")[2] in names.pool_bases:
            move = None  # the abstract one
        elif move.verdict == "raises":
            return answer("none", reason=f"its {names.move} raises NotImplementedError")
        else:
            return answer("none", reason=f"its {names.move} does nothing")
    if move is not None and move.verdict == "raises-conditionally":
        reason = f"its {names.move} raises NotImplementedError on some paths"
        return answer("none", reason=f"{reason}: a move could end half done")
    works = move is not None and not setup_disabled(table, qualname, move, names)
    try:
        mover = move.owner if move is not None and works else ""
        via = _translator(table, qualname, mover, names)
    except _UnclearError as error:
        return answer("none", reason=str(error))
    if works:
        return answer("translated", via) if via else answer("own")
    if move is None:
        for method in _methods_in_order(table, qualname):
            if method.verdict == "ok" and _takes(method, args):
                return answer("method", method.name)
    buffers, reason = row_buffers(table, qualname, names)
    if via:
        reason = f"it maps slots by `{via}` and has no move that could be handed them"
    if reason:
        return answer("none", reason=reason)
    return answer("rows", buffers=buffers)


def setup_disabled(
    table: ClassTable, qualname: str, move: Method, names: Names
) -> bool:
    """Whether the class overrides the set-up that its move needs with an empty one.

    The set-up is the method that a constructor calls under a test of the flag. Seen:
    NPUMHATokenToKVPool, whose override leaves the inherited move without its
    configuration (hardware_backend/npu/memory_pool_npu.py, 0.5.15 to 0.5.23).
    """
    order = table.mro(qualname)
    # a move from a class before the one with the set-up does without it
    for owner in order[: order.index(move.owner) + 1]:
        known = table.classes.get(owner)
        init = known.method("__init__") if known else None
        if init is None:
            continue
        for setup in _setups(table.function(init), names.flag):
            found = table.lookup(qualname, setup)
            if found and found.owner != owner and _only_clears(table.function(found)):
                return True
    return False


def _setups(init: Function, flag: str) -> Iterator[str]:
    for node in walk_own(init):
        if not isinstance(node, ast.If):
            continue
        if not any(dotted(part) == flag for part in ast.walk(node.test)):
            continue
        for statement in node.body:
            if isinstance(statement, ast.Expr) and isinstance(
                statement.value, ast.Call
            ):
                name = dotted(statement.value.func) or ""
                if name.startswith("self.") and name.count(".") == 1:
                    yield name.removeprefix("self.")


def _only_clears(function: Function) -> bool:
    for statement in without_docstring(function.body):
        if isinstance(statement, ast.Pass):
            continue
        if not (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Constant)
            and not statement.value.value
        ):
            return False
    return True


class _UnclearError(Exception):
    """Slots are mapped before they are written, in a way that is not understood."""


def _translator(table: ClassTable, qualname: str, mover: str, names: Names) -> str:
    """The method by which a class maps slots before it writes, or an empty string.

    Looked for in the classes before the one whose move is inherited: an override of
    the write method that hands `super()` the result of `self.<method>(slots)`.
    """
    for owner in table.mro(qualname):
        if owner == mover:
            break
        known = table.classes.get(owner)
        write = known.method(names.write) if known else None
        if write is None:
            continue
        function = table.function(write)
        for call in walk_own(function):
            if isinstance(call, ast.Call) and is_super_call(call, names.write):
                via = _mapped_by(write, function, call)
                if via:
                    return via
    return ""


def _mapped_by(write: Method, function: Function, call: ast.Call) -> str:
    """The method that maps the slots which `super()` is handed, the second argument.

    Raises:
        _UnclearError: they are neither the slots as given nor what a method returns.
    """
    slots = [p.name for p in write.params if p.kind == "positional"][2:3]
    by_name = [k.value for k in call.keywords if k.arg in slots]
    handed = by_name[0] if by_name else call.args[1] if len(call.args) > 1 else None
    if handed is None or any(isinstance(a, ast.Starred) for a in call.args[:2]):
        return ""  # *args, **kwargs: handed on as they came
    bound = [v for name, v, _ in assignments(function) if name == dotted(handed)]
    if not bound and dotted(handed) in slots:
        return ""
    via = ""
    for value in bound or [handed]:
        if not (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and dotted(value.func.value) == "self"
            and len(value.args) == 1
            and not value.keywords
        ):
            reason = f"it maps slots by `{ast.unparse(value)}` before it writes"
            raise _UnclearError(f"{reason} (line {call.lineno}), which is not a method")
        via = value.func.attr
    return via


def _methods_in_order(table: ClassTable, qualname: str) -> Iterator[Method]:
    for owner in table.mro(qualname):
        known = table.classes.get(owner)
        if known:
            yield from known.methods


def _takes(method: Method, args: tuple[str, ...]) -> bool:
    return tuple(p.name for p in method.params[1:]) == args
