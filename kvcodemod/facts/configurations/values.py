"""What an expression of start-up can be: a few known things, or anything."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kvcodemod.facts.syntax.modules import Module
from kvcodemod.facts.syntax.parsing import Function

_MOST = 12
"""So many things are told apart; more of them are anything."""

Plain = bool | int | float | str | bytes | None


@dataclass(frozen=True)
class Const:
    """A constant; `kind` keeps `1`, `1.0` and `True` apart."""

    value: Plain
    kind: str


@dataclass(frozen=True)
class Member:
    """A member of an enumeration, and what it equals besides itself, if anything."""

    enum: str
    name: str
    equals: Const | None = None


@dataclass(frozen=True)
class FunctionRef:
    """A function of the tree; `bound` is what its first parameter is."""

    module: Module
    node: Function
    qualname: str
    bound: Atom | None = None

    def __hash__(self) -> int:
        """By the function, as modules have no hash."""
        return hash((self.qualname, self.node.lineno, self.bound))


@dataclass(frozen=True)
class ClassRef:
    """A class, of the tree or not."""

    qualname: str


@dataclass(frozen=True)
class Instance:
    """An object of a class of the tree; its attributes are looked up by class."""

    qualname: str


@dataclass(frozen=True)
class Record:
    """The options themselves, or a view of them."""


@dataclass(frozen=True)
class Series:
    """A tuple, list or set of which every item is told."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Table:
    """A dictionary of which every key is told."""

    items: tuple[tuple[Atom, Value], ...]


Atom = Const | Member | FunctionRef | ClassRef | Instance | Record | Series | Table


@dataclass(frozen=True)
class Value:
    """One of the atoms; with `atoms` None, anything at all."""

    atoms: frozenset[Atom] | None

    @property
    def known(self) -> bool:
        """Whether it is told what it can be."""
        return self.atoms is not None

    @property
    def only(self) -> Atom | None:
        """The one thing that it is, if it is one."""
        if self.atoms is not None and len(self.atoms) == 1:
            return next(iter(self.atoms))
        return None

    def kept(self, keep: Callable[[Atom], bool]) -> Value:
        """Without the atoms that are out; as it is where nothing is known."""
        if self.atoms is None:
            return self
        return Value(frozenset(atom for atom in self.atoms if keep(atom)))


UNKNOWN = Value(None)
NOTHING: Value = Value(frozenset())
"""What has no value: it is never got to."""


def const(value: Plain) -> Value:
    """A constant."""
    return Value(frozenset({Const(value, type(value).__name__)}))


def one(atom: Atom) -> Value:
    """What is just this."""
    return Value(frozenset({atom}))


TRUE, FALSE, NONE = const(True), const(False), const(None)
EITHER = Value(frozenset({*(TRUE.atoms or ()), *(FALSE.atoms or ())}))


def join(values: Iterable[Value]) -> Value:
    """One of several."""
    found: set[Atom] = set()
    for value in values:
        if value.atoms is None:
            return UNKNOWN
        found |= value.atoms
    return Value(frozenset(found)) if len(found) <= _MOST else UNKNOWN


def told(value: bool | None) -> Value:
    """A truth value as one."""
    if value is None:
        return EITHER
    return TRUE if value else FALSE


def truth_of(atom: Atom) -> bool | None:
    """Whether it counts as true."""
    if isinstance(atom, Const):
        return bool(atom.value)
    if isinstance(atom, Series | Table):
        return bool(atom.items)
    return True


def truth(value: Value) -> bool | None:
    """Whether a value counts as true: yes, no, or it depends."""
    if not value.atoms:
        return None
    said = {truth_of(atom) for atom in value.atoms}
    return said.pop() if len(said) == 1 else None


def same(left: Atom, right: Atom) -> bool | None:
    """Whether two things are equal."""
    if isinstance(left, Instance) and isinstance(right, Instance):
        return None
    if isinstance(left, Member) and isinstance(right, Const):
        return same(left.equals, right) if left.equals else False
    if isinstance(right, Member) and isinstance(left, Const):
        return same(right, left)
    if isinstance(left, Const) and isinstance(right, Const):
        return left.value == right.value
    if isinstance(left, Series) and isinstance(right, Series):
        if len(left.items) != len(right.items):
            return False
        pairs = zip(left.items, right.items, strict=True)
        return _all([compared("==", one, other) for one, other in pairs])
    if isinstance(left, Table) and isinstance(right, Table):
        return True if left == right else None
    return left == right


def _all(said: Iterable[bool | None]) -> bool | None:
    found = set(said)
    if False in found:
        return False
    return None if None in found else True


def contains(box: Atom, item: Atom) -> bool | None:
    """Whether `item in box`."""
    if isinstance(box, Series):
        said: set[bool | None] = set()
        for value in box.items:
            said.add(compared("==", value, one(item)))
        return True if True in said else (None if None in said else False)
    if isinstance(box, Table):
        said = {same(key, item) for key, _ in box.items}
        return True if True in said else (None if None in said else False)
    if (
        isinstance(box, Const)
        and isinstance(box.value, str)
        and isinstance(item, Const)
        and isinstance(item.value, str)
    ):
        return item.value in box.value
    return None


_NEGATED = {"!=": "==", "is not": "is", "not in": "in"}


def _compared(op: str, left: Atom, right: Atom) -> bool | None:
    if op in _NEGATED:
        said = _compared(_NEGATED[op], left, right)
        return None if said is None else not said
    if op == "==":
        return same(left, right)
    if op == "is":
        if isinstance(left, Const) and isinstance(right, Const):
            return left == right
        return same(left, right)
    if op == "in":
        return contains(right, left)
    if isinstance(left, Const) and isinstance(right, Const):
        a, b = left.value, right.value
        if a is None or b is None:
            return False  # it raises
        if isinstance(a, int | float) and isinstance(b, int | float):
            return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
    return None


def compared(op: str, left: Value, right: Value) -> bool | None:
    """Whether a comparison holds: yes, no, or it depends."""
    if not left.atoms or not right.atoms:
        return None
    said = {_compared(op, a, b) for a in left.atoms for b in right.atoms}
    return said.pop() if len(said) == 1 else None


def narrowed(op: str, value: Value, other: Value) -> Value:
    """What is left of a value where `value op other` holds."""
    right = other.only
    if right is None:
        return value
    if value.atoms is None:
        if op in ("==", "is") and isinstance(right, Const):
            return other
        if op == "in" and isinstance(right, Series):
            return join(right.items)
        return value
    return value.kept(lambda atom: _compared(op, atom, right) is not False)


OPS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
OPPOSITE = {
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
MIRRORED = {"==": "==", "!=": "!=", "is": "is", "is not": "is not"} | {
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
}
