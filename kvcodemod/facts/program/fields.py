"""What attributes a class has, and what its constructor's parameters are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kvcodemod.facts.classes.constructors import super_after, super_init
from kvcodemod.facts.classes.table import own_functions
from kvcodemod.facts.conditions.options import Options
from kvcodemod.facts.program.arguments import argument, default_of, keyword_of
from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.syntax.parsing import Function, dotted
from kvcodemod.facts.syntax.text import any_within, span, within

_HARMLESS = frozenset({"object", "ABC", "Generic", "Protocol"})
"""Bases outside the tree that bring no methods of interest."""


@dataclass(frozen=True, eq=False)
class Assigned:
    """One `self.attr = value` (or a class-level one, where `code` is None).

    Attributes:
        options: what holds where it is assigned.
    """

    code: Code | None
    value: ast.expr | None
    annotation: ast.expr | None
    line: int
    options: Options = ()


@dataclass(frozen=True, eq=False)
class Given:
    """An argument for a constructor's parameter; `code` is where it stands."""

    code: Code
    value: ast.expr


class Fields:
    """Attributes of pool and allocator classes, and constructor arguments."""

    def __init__(self, program: Program) -> None:
        """Nothing is read yet."""
        self.program = program
        self._running: dict[tuple[str, str], frozenset[str]] = {}
        self._names: dict[str, tuple[frozenset[str], bool]] = {}
        self._owned: dict[str, frozenset[str]] = {}
        self._assigned: dict[tuple[str, str], tuple[Assigned, ...]] = {}
        self._assigning: dict[tuple[str, str], tuple[Assigned, ...]] = {}
        self._sites: dict[str, tuple[tuple[Code, ast.Call], ...]] = {}

    def has(self, cls: str, attribute: str) -> bool:
        """Whether instances have the attribute, as far as the source can tell."""
        names, open_ended = self._all(cls)
        return open_ended or attribute in names

    def _all(self, cls: str) -> tuple[frozenset[str], bool]:
        if cls not in self._names:
            names: set[str] = set()
            open_ended = False
            for owner in self.program.order(cls):
                if owner not in self.program.table.classes:
                    open_ended |= owner.rpartition(".")[2] not in _HARMLESS
                    continue
                names |= self._own(owner)
            open_ended |= "__getattr__" in names or "__getattribute__" in names
            self._names[cls] = (frozenset(names), open_ended)
        return self._names[cls]

    def _own(self, owner: str) -> frozenset[str]:
        """The names that one class's body gives its instances."""
        if owner not in self._owned:
            module, node = self.program.table.node(owner)
            stores = within(self.program.text(module).stores, span(node))
            self._owned[owner] = frozenset((*stores, *_class_names(node)))
        return self._owned[owner]

    def assigned(self, cls: str, attribute: str) -> tuple[Assigned, ...]:
        """Every assignment of the attribute that runs for instances of the class."""
        key = (cls, attribute)
        if key not in self._assigned:
            self._assigned[key] = tuple(self._assignments(cls, attribute))
        return self._assigned[key]

    def _assignments(self, cls: str, attribute: str) -> Iterator[Assigned]:
        for owner in self.program.order(cls):
            key = (owner, attribute)
            if key not in self._assigning:
                self._assigning[key] = tuple(self._assigned_by(owner, attribute))
            for item in self._assigning[key]:
                code = item.code
                if code is None or self._runs(cls, owner, code.node.name):
                    yield item

    def _assigned_by(self, owner: str, attribute: str) -> Iterator[Assigned]:
        """Every assignment of the attribute in the body of a class."""
        found = self.program.class_of(owner)
        if found is None:
            return
        module, node = found
        lines = self.program.text(module).stores.get(attribute, [])
        if any_within(lines, *span(node)):
            for function in own_functions(node):
                if any_within(lines, *span(function)):
                    qualname = f"{owner}.{function.name}"
                    code = self.program.code(module, function, qualname, owner)
                    yield from _values(self.program, code, function, attribute)
        for statement in node.body:
            if (
                isinstance(statement, ast.AnnAssign)
                and dotted(statement.target) == attribute
            ):
                yield Assigned(None, None, statement.annotation, statement.lineno)

    def _runs(self, cls: str, owner: str, function: str) -> bool:
        """Whether the owner's version of a method runs for instances of the class."""
        key = (cls, function)
        if key not in self._running:
            self._running[key] = frozenset(self._reached(cls, function))
        return owner in self._running[key]

    def _reached(self, cls: str, function: str) -> Iterator[str]:
        """The classes whose version of a method runs: the first, and what it calls."""
        todo = [""]
        seen: set[str] = set()
        while todo:
            code = self.program.method(cls, function, after=todo.pop())
            if code is None or code.owner in seen:
                continue
            seen.add(code.owner)
            yield code.owner
            for call in self.program.scope(code).calls:
                target = call.func
                if not isinstance(target, ast.Attribute) or target.attr != function:
                    continue
                if isinstance(target.value, ast.Call):
                    if dotted(target.value.func) == "super":
                        arguments = target.value.args
                        after = dotted(arguments[0]) if arguments else None
                        todo.append(
                            self.program.resolve(code, after) if after else code.owner
                        )
                    continue
                name = dotted(target.value)
                if name is None or name == "self":
                    continue
                other = self.program.resolve(code, name)
                order = self.program.order(cls)
                if other in order:  # Base.method(self, ...)
                    todo.append(order[order.index(other) - 1])

    def given(self, cls: str, owner: str, parameter: str) -> list[Given] | None:
        """What instances of `cls` get for a parameter of the owner's constructor.

        None where nothing can be told; a default counts as given.
        """
        program = self.program
        init = program.method(cls, "__init__")
        if init is None:
            return None
        if init.owner == owner:
            return self._from_sites(cls, init, parameter)
        while init is not None:
            call = super_init(init.node)
            if call is None:
                return None
            after = self._after(init, call)
            above = program.method(cls, "__init__", after=after)
            if above is None:
                return None
            if above.owner == owner:
                value = argument(above.node, call, parameter)
                if value is not None:
                    return [Given(init, value)]
                if any(k.arg is None for k in call.keywords):
                    passed = self._from_sites(cls, init, parameter, through=True)
                    if passed:
                        return passed
                default = default_of(above.node, parameter)
                return [Given(above, default)] if default is not None else None
            init = above
        return None

    def _after(self, init: Code, call: ast.Call) -> str:
        method = self.program.table.classes.get(init.owner)
        known = method.method("__init__") if method else None
        if known is None:
            return init.owner
        return super_after(self.program.table, known, call)

    def _from_sites(
        self, cls: str, init: Code, parameter: str, through: bool = False
    ) -> list[Given] | None:
        found: list[Given] = []
        default = None if through else default_of(init.node, parameter)
        missing = False
        for code, call in self.sites(cls):
            value = (
                keyword_of(code, call, parameter, self.program)
                if through
                else argument(init.node, call, parameter)
                or keyword_of(code, call, parameter, self.program)
            )
            if value is not None:
                found.append(Given(code, value))
            else:
                missing = True
        if default is not None and (missing or not found):
            found.append(Given(init, default))
        return found or None

    def sites(self, cls: str) -> tuple[tuple[Code, ast.Call], ...]:
        """The calls that construct the class, directly or through a local name."""
        if cls not in self._sites:
            self._sites[cls] = tuple(self._find_sites(cls))
        return self._sites[cls]

    def _find_sites(self, cls: str) -> Iterator[tuple[Code, ast.Call]]:
        seen: set[tuple[str, int]] = set()
        for use in self.program.uses:
            if use.name != cls or not use.function:
                continue
            code = self.program.function(use.function)
            if code is None or code.key in seen:
                continue
            seen.add(code.key)
            for call in self.program.scope(code).calls:
                if cls in self._callee(code, call.func, 0):
                    yield code, call

    def _callee(self, code: Code, node: ast.expr, depth: int) -> set[str]:
        if isinstance(node, ast.IfExp):
            return self._callee(code, node.body, depth) | self._callee(
                code, node.orelse, depth
            )
        name = dotted(node)
        if name is None or depth > 3:
            return set()
        bound = self.program.scope(code).bound.get(name, ())
        found: set[str] = set()
        for value in bound:
            found |= self._callee(code, value, depth + 1)
        return found or {self.program.resolve(code, name)}


def _class_names(node: ast.ClassDef) -> Iterator[str]:
    for function in own_functions(node):
        yield function.name
    for statement in node.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    yield part.id


def _values(
    program: Program, code: Code, function: Function, attribute: str
) -> Iterator[Assigned]:
    for statement, options in program.located(function):
        if isinstance(statement, ast.Assign):
            targets: list[ast.expr] = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        else:
            continue
        for target in targets:
            if dotted(target) == f"self.{attribute}":
                annotation = getattr(statement, "annotation", None)
                yield Assigned(
                    code, statement.value, annotation, statement.lineno, options
                )
