"""The servers that can be asked for: algorithms, widths, and what start-up says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property

from kvcodemod.facts.configurations.platforms import Platforms
from kvcodemod.facts.configurations.running import Running
from kvcodemod.facts.configurations.settings import Settings
from kvcodemod.facts.configurations.startup import Follower, Memory, Started
from kvcodemod.facts.configurations.values import (
    NONE,
    ClassRef,
    Const,
    Member,
    Record,
    Value,
    const,
    one,
)
from kvcodemod.facts.configurations.world import State, Stopped, TooLong, World
from kvcodemod.facts.program.program import Program
from kvcodemod.facts.syntax.modules import Modules


class Servers:
    """Every server that a tree can be asked for, followed once for each world."""

    def __init__(self, program: Program) -> None:
        """Nothing is followed yet."""
        self.program = program
        self.names = program.names
        self.modules = Modules(program.tree)
        self.settings = Settings(self.modules, program.names)
        self._memory = Memory()
        self._started: dict[World, Started] = {}
        self._idle: dict[frozenset[str], frozenset[str]] = {}

    def follower(self, world: World) -> Follower:
        """A new one for a world."""
        return Follower(self.modules, self.settings, self.names, world, self._memory)

    def started(self, world: World) -> Started:
        """What start-up comes to in a world."""
        if world not in self._started:
            self._started[world] = self.follower(world).start()
        return self._started[world]

    @cached_property
    def enumeration(self) -> str | None:
        """The enumeration of the algorithms: it names the class that runs each."""
        follower = self.follower(World())
        for path in self.program.entry_files:
            if f"def {self.names.worker_factory}".encode() not in (
                self.program.tree.data(path)
            ):
                continue
            module = self.modules.try_get(path)
            for name, node in module.classes() if module else ():
                makes = any(
                    isinstance(s, ast.FunctionDef)
                    and s.name == self.names.worker_factory
                    for s in node.body
                )
                full = f"{module.name}.{name}" if module else ""
                if makes and next(iter(follower.members(full)), None) is not None:
                    return full
        return None

    @cached_property
    def algorithms(self) -> tuple[Member, ...]:
        """The algorithms that a server can be started with."""
        if self.enumeration is None or self.settings.home is None:
            return ()
        if self.names.algorithm_option not in self.settings.all:
            return ()
        found = self.follower(World()).members(self.enumeration)
        return tuple(m for m in found if self._makes_worker(m))

    def _makes_worker(self, member: Member) -> bool:
        """Whether it runs anything; the member for no algorithm does not."""
        return self._worker(member, World(), {}) != frozenset()

    def workers(
        self, member: Member, world: World, options: Mapping[str, Value]
    ) -> frozenset[str] | None:
        """The classes that can run an algorithm; None where it is not known."""
        return self._worker(member, world, options)

    def _worker(
        self, member: Member, world: World, options: Mapping[str, Value]
    ) -> frozenset[str] | None:
        follower = self.follower(world)
        state = State(dict(options))
        factory = follower.attribute(one(member), self.names.worker_factory, state)
        try:
            made = follower.call(factory, [one(Record())], {}, state)
        except Stopped:
            return frozenset()
        except (TooLong, RecursionError):
            return None
        if not made.atoms or not all(
            isinstance(a, ClassRef) or a in (NONE.atoms or ()) for a in made.atoms
        ):
            return None
        return frozenset(a.qualname for a in made.atoms if isinstance(a, ClassRef))

    @cached_property
    def worker_classes(self) -> frozenset[str]:
        """Every class that runs an algorithm, with its bases in the tree."""
        found: set[str] = set()
        for member in self.algorithms:
            for name in self.workers(member, World(), {}) or ():
                found.update(self.program.order(name))
        return frozenset(found)

    def idle(
        self, member: Member, world: World, options: Mapping[str, Value]
    ) -> frozenset[str]:
        """The classes and functions of the entry folders that do not run under it."""
        live = self.workers(member, world, options)
        if live is None:
            return frozenset()
        if live not in self._idle:
            running = self.running.under(live, self.worker_classes)
            self._idle[live] = frozenset(self.running.known) - running
        return self._idle[live]

    @cached_property
    def running(self) -> Running:
        """What leads to what in the entry folders."""
        return Running(self.program, self.modules, self.names.worker_factory)

    @cached_property
    def platforms(self) -> Platforms:
        """Which platform code needs."""
        return Platforms(self.program, self.modules)

    def final(self, world: World) -> tuple[Member, ...]:
        """The algorithms that start-up can have come to in a world."""
        name = self.names.algorithm_option
        started = self.started(world)
        if not started.understood:
            return self.algorithms
        value = dict(started.options).get(name)
        if value is None:
            value = world.option(self.settings, name)
        if not value.atoms:
            return self.algorithms
        said = {
            a.value.upper()
            for a in value.atoms
            if isinstance(a, Const) and isinstance(a.value, str)
        }
        return tuple(m for m in self.algorithms if m.name in said)

    def width(self, name: str) -> Iterator[Value]:
        """How many drafts a step can keep: not said, one, or more."""
        if name not in self.settings.all:
            return
        default = self.settings.all[name].default.only
        if isinstance(default, Const) and default.value is None:
            yield NONE
        yield const(1)
        yield const(2)

    @cached_property
    def assigned(self) -> frozenset[str]:
        """The options that start-up sets itself, on some way at least."""
        started = self.started(World())
        if started.refused is None and started.understood:
            return started.assigned
        return frozenset(self.settings.all)
