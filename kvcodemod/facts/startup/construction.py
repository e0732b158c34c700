"""Under which options a class is built: what servers with others never hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from kvcodemod.facts.classes.constructors import next_init, super_init
from kvcodemod.facts.classes.table import Method
from kvcodemod.facts.classes.uses import Use
from kvcodemod.facts.conditions.call_sites import Site, call_sites
from kvcodemod.facts.conditions.options import (
    Option,
    Options,
    contradict,
    passed,
    switched_on,
)
from kvcodemod.facts.conditions.receiver_tests import Conditions, Facts
from kvcodemod.facts.program.program import Code, Program, outer_functions
from kvcodemod.facts.startup.implications import Implied
from kvcodemod.facts.syntax.parsing import Function, dotted
from kvcodemod.facts.syntax.text import span

_UP = 3
"""How many callers upwards the conditions are collected."""


@dataclass(frozen=True)
class Way:
    """One way to come to be built: what holds there, and the functions on the way."""

    options: Options
    through: tuple[str, ...] = ()


class Built:
    """Conditions of construction, for every pool and allocator."""

    def __init__(self, program: Program) -> None:
        """Nothing is read yet."""
        self.program = program
        self.implied = Implied(program)
        self.asked: set[str] = set()
        """The names of which every call in the tree was asked for."""
        self._codes: dict[str, list[Code]] = {}
        self._ways: dict[str, tuple[Way, ...]] = {}
        self._needs: dict[str, Options] = {}
        self._callers: dict[str, tuple[Way, ...]] = {}
        self._impossible: dict[tuple[str, Options], bool] = {}

    def impossible(self, cls: str, options: Options) -> bool:
        """Whether no server that has these options holds an instance of the class."""
        if not options:
            return False
        key = (cls, options)
        if key not in self._impossible:
            needs = self.needs(cls)
            ways = self.ways(cls)
            self._impossible[key] = contradict(needs, options) or (
                bool(ways) and all(contradict(way.options, options) for way in ways)
            )
        return self._impossible[key]

    def ruled_out(self, cls: str, options: Options) -> bool:
        """The same as `impossible`, with all that the options imply."""
        ways = self.uses(cls)
        return bool(ways) and all(
            self.implied.contradictory(
                self.program.function(use.function) if use.function else None,
                (*use.options, *above.options, *options),
            )
            for use in ways
            for above in self._above(use.function, _UP)
        )

    def switches(self, cls: str) -> frozenset[str]:
        """The options that are on in every way to be built."""
        ways = self.ways(cls)
        if not ways:
            return frozenset()
        return frozenset.intersection(*(switched_on(way.options) for way in ways))

    def some_switches(self, cls: str) -> frozenset[str]:
        """The options that are on in some way to be built."""
        return frozenset(
            name for way in self.ways(cls) for name in switched_on(way.options)
        )

    def ways(self, cls: str) -> tuple[Way, ...]:
        """Every way in which the class comes to be built."""
        if cls not in self._ways:
            self._ways[cls] = ()  # a cycle ends here
            self._ways[cls] = tuple(
                Way(
                    (*use.options, *above.options),
                    (use.function, *above.through) if use.function else (),
                )
                for use in self.uses(cls)
                for above in self._above(use.function, _UP)
            )
        return self._ways[cls]

    def uses(self, cls: str) -> list[Use]:
        """Where the class is built; inside other pools only if it is nowhere else."""
        uses = [u for u in self.program.uses if u.name == cls and u.owner != cls]
        return [u for u in uses if u.owner not in self.program.members] or uses

    def needs(self, cls: str) -> Options:
        """What the constructors assert about options."""
        if cls not in self._needs:
            found: list[Options] = []
            for owner in self.program.order(cls):
                known = self.program.table.classes.get(owner)
                init = known.method("__init__") if known else None
                if init is not None:
                    function = self.program.table.function(init)
                    found.extend(passed(statement) for statement in function.body)
                    found.append(self._fixed(cls, init, function))
            self._needs[cls] = tuple(o for options in found for o in options)
        return self._needs[cls]

    def _functions(self, path: str) -> list[Code]:
        if path not in self._codes:
            module = self.program.modules.get(path)
            self._codes[path] = list(outer_functions(self.program, module))
        return self._codes[path]

    def _fixed(self, cls: str, init: Method, function: Function) -> Options:
        """What a constructor hands to the next one as a constant: `page_size=1`."""
        call = super_init(function)
        above = next_init(self.program.table, cls, init)
        if call is None or above is None or init.owner not in self.program.order(cls):
            return ()
        order = [p.name for p in above.params if p.kind == "positional"][1:]
        values = dict(zip(order, call.args, strict=False))
        values.update({k.arg: k.value for k in call.keywords if k.arg})
        return tuple(
            Option(name, "==", repr(value.value))
            for name, value in values.items()
            if "_" in name
            and isinstance(value, ast.Constant)
            and type(value.value) in (bool, int)
        )

    def _above(self, function: str, left: int) -> tuple[Way, ...]:
        """Under which conditions a function is called; one empty way if unknown."""
        nothing = (Way(()),)
        if not function or left == 0:
            return nothing
        if function not in self._callers:
            self._callers[function] = nothing  # recursion ends here
            found = [
                Way((*way.options, *above.options), (caller, *above.through))
                for caller, way in self._calls_of(function)
                for above in self._above(caller, left - 1)
            ]
            self._callers[function] = tuple(dict.fromkeys(found)) or nothing
        return self._callers[function]

    def _calls_of(self, function: str) -> Iterator[tuple[str, Way]]:
        found = list(self._direct_calls(function))
        yield from found or ((name, Way(())) for name in self.makers_for(function))

    def makers_for(self, function: str) -> Iterator[str]:
        """For a function kept in a table: where the object it is handed is made."""
        code = self.program.function(function)
        if code is None or code.owner:
            return
        spec = code.node.args
        for arg in [*spec.posonlyargs, *spec.args]:
            name = dotted(arg.annotation) if arg.annotation else None
            if name not in code.module.names:
                continue
            for other in outer_functions(self.program, code.module):
                called = self.program.text(code.module).called_in(*span(other.node))
                if other.qualname != function and name in called:
                    yield other.qualname

    @cached_property
    def _users(self) -> list[str]:
        """The files that use a pool or an allocator, sorted."""
        return sorted({use.path for use in self.program.uses})

    def _direct_calls(self, function: str) -> Iterator[tuple[str, Way]]:
        for code, site in self.calls_of(function):
            tested = self._tested(site.facts)
            yield code.qualname, Way((*site.options, *tested))

    def calls_of(
        self, function: str, everywhere: bool = False
    ) -> Iterator[tuple[Code, Site]]:
        """The calls of a function in the files that use pools, by its bare name."""
        bare = function.rpartition(".")[2]
        for path in self._callers_of(bare) if everywhere else self._users:
            module = self.program.modules.try_get(path)
            if module is None or bare not in self.program.text(module).called:
                continue
            lines = self.program.text(module).lines_of(f"{bare}(")
            for code in self._functions(path):
                if code.qualname == function or code.owner in self.program.members:
                    continue
                first, last = span(code.node)
                if not any(first < line <= last for line in lines):
                    continue
                conditions = Conditions(
                    path,
                    partial(self.program.resolve_class, code),
                    self.program.scope(code).bound,
                )
                for site in call_sites(code.node.body, conditions, path):
                    name = dotted(site.call.func) or ""
                    if name.rpartition(".")[2] == bare:
                        yield code, site

    def _callers_of(self, bare: str) -> list[str]:
        """The files of a server in which a name is called."""
        self.asked.add(bare)
        tests = self.program.names.test_folders
        found = self.program.tree.containing((f"{bare}(".encode(),))
        return [p for p in found if not any(f"/{folder}" in p for folder in tests)]

    def _tested(self, facts: Facts) -> Options:
        """The options that a type test implies: those of the classes that pass it."""
        found: set[str] = set()
        for fact in facts:
            if fact.kind == "is":
                below = {
                    n for cls in fact.classes for n in self.program.table.below(cls)
                }
                built = [n for n in sorted(below) if self.ways(n)]
                if built:
                    found |= frozenset.intersection(*(self.switches(n) for n in built))
        return tuple(Option(name, "truth", "True") for name in sorted(found))
