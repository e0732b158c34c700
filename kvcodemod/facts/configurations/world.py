"""The server that is followed: its platform, model and options, and what is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kvcodemod.facts.configurations.settings import Settings
from kvcodemod.facts.configurations.values import UNKNOWN, Value, join
from kvcodemod.facts.program.program import Code
from kvcodemod.facts.syntax.modules import Module


@dataclass(frozen=True)
class World:
    """What is fixed beforehand.

    Attributes:
        platform: `cuda`, `hip`, `npu`, ..., or None for any.
        architectures: the model's class as `config.json` has it: one of these; none for
            any.
        chosen: option -> what the person asks for.
        free: whether all other options can be anything; else they are the defaults.
    """

    platform: str | None = None
    architectures: tuple[str, ...] = ()
    chosen: tuple[tuple[str, Value], ...] = ()
    free: bool = True

    @cached_property
    def _chosen(self) -> dict[str, Value]:
        return dict(self.chosen)

    def option(self, settings: Settings, name: str) -> Value:
        """What an option is before start-up touches it."""
        if name in self._chosen:
            return self._chosen[name]
        setting = settings.all.get(name)
        if setting is None:
            return UNKNOWN
        if not self.free and name == settings.names.draft_model_option:
            return UNKNOWN  # whoever needs one names one
        return setting.domain if self.free else setting.default


@dataclass(frozen=True)
class Place:
    """A place in the tree, and what is said of it."""

    path: str
    line: int
    text: str


class Stopped(Exception):
    """The statement never gets done: something is raised."""


class NotYet(Stopped):
    """It hangs on something of which no value has been found so far."""


class TooLong(Exception):
    """More than is worth following."""


@dataclass
class State:
    """What holds at one point: the options as decided, and the locals of a function.

    The options are never changed in place: many states share them.
    """

    options: Mapping[str, Value] = field(default_factory=dict)
    names: dict[str, Value] = field(default_factory=dict)

    def copy(self) -> State:
        """The same, to be changed apart."""
        return State(self.options, dict(self.names))

    def decide(self, name: str, value: Value) -> None:
        """An option is this from here on."""
        self.options = {**self.options, name: value}

    def become(self, other: State) -> None:
        """Take over all of another."""
        self.options, self.names = other.options, other.names


@dataclass
class Frame:
    """One function that is being followed.

    `code` is given where nothing has run before: its locals are looked up as needed.
    """

    module: Module
    owner: str = ""
    imports: dict[str, str] = field(default_factory=dict)
    returns: list[tuple[Value, State]] = field(default_factory=list)
    breaks: list[list[State]] = field(default_factory=list)
    continues: list[list[State]] = field(default_factory=list)
    code: Code | None = None


def merged(states: list[State], settings: Settings, world: World) -> State | None:
    """What holds after one of several; None where there is none."""
    if len(states) < 2:
        return states[0] if states else None
    first, *others = states
    names: dict[str, Value] = {}
    for name, value in first.names.items():
        if all(name in state.names for state in others):
            values = [value, *(state.names[name] for state in others)]
            names[name] = value if _alike(values) else join(values)
    if all(state.options is first.options for state in others):
        return State(first.options, names)
    options = dict(first.options)
    for state in others:
        here = state.options
        different = [n for n, v in here.items() if options.get(n) is not v]
        different.extend(options.keys() - here.keys())
        for name in different:
            values = [
                value if value is not None else world.option(settings, name)
                for value in (options.get(name), here.get(name))
            ]
            options[name] = values[0] if _alike(values) else join(values)
    return State(options, names)


def _alike(values: list[Value]) -> bool:
    return all(value is values[0] for value in values)
