"""Follows start-up from its source: what is refused, and what is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from kvcodemod.config import Names
from kvcodemod.facts.configurations.settings import Settings
from kvcodemod.facts.configurations.statements import Statements
from kvcodemod.facts.configurations.values import FunctionRef, Record, Value, one
from kvcodemod.facts.configurations.world import Place, State, Stopped, TooLong, World
from kvcodemod.facts.syntax.modules import Modules

Key = tuple[object, ...]
Read = tuple[str, str]
"""Something of a server that a function has asked for."""

_UNSET = object()


@dataclass(frozen=True)
class Started:
    """What start-up comes to in one world.

    Attributes:
        refused: where it stops whatever else holds, or None.
        maybe: where it stops under something that is not known.
        options: what has been decided; none where it is refused.
        understood: whether it was followed to the end.
        assigned: the options that it has set, as opposed to asked about.
    """

    refused: Place | None
    maybe: tuple[Place, ...]
    options: tuple[tuple[str, Value], ...]
    understood: bool
    assigned: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Ran:
    """What a call did: what it returned (None: it stopped), read, set, and raised."""

    value: Value | None
    reads: dict[Read, None]
    writes: dict[str, Value]
    assigned: frozenset[str]
    raised: tuple[Place, ...]
    unsure: int
    steps: int


@dataclass(eq=False)
class Branch:
    """What a call asks for next, and what it goes on with for each answer."""

    read: Read
    ways: dict[object, Branch | Ran] = field(default_factory=dict)


@dataclass(eq=False)
class Memory:
    """What functions of start-up did, by what they were given and asked for.

    A function does the same where it is given the same, and all that it asks for is the
    same: servers that differ in one option share most of start-up.
    """

    ran: dict[Key, Branch | Ran] = field(default_factory=dict)

    def find(self, key: Key, now: Callable[[Read], object]) -> Ran | None:
        """What a call did that was given and told the same."""
        node = self.ran.get(key)
        while isinstance(node, Branch):
            node = node.ways.get(now(node.read))
        return node

    def keep(
        self, key: Key, reads: Iterable[Read], now: Callable[[Read], object], ran: Ran
    ) -> None:
        """Keep what a call did; `reads` in the order in which it asked."""
        ways: dict[object, Branch | Ran] = self.ran  # type: ignore[assignment]
        at: object = key
        for read in reads:
            node = ways.get(at)
            if not isinstance(node, Branch) or node.read != read:
                node = ways[at] = Branch(read)
            ways, at = node.ways, now(read)
        ways[at] = ran


class Follower(Statements):
    """Follows the start-up of one world; make a new one for each."""

    def __init__(
        self,
        modules: Modules,
        settings: Settings,
        names: Names,
        world: World,
        memory: Memory | None = None,
    ) -> None:
        """Nothing is followed yet; `memory` is what others have left."""
        super().__init__(modules, settings, names, world)
        self._memory = memory or Memory()
        self._reads: dict[Read, None] = {}
        self._wrote: set[str] = set()
        self._assigned: set[str] = set()
        self._values: dict[str, tuple[Value, dict[Read, None]]] = {}

    def note(self, kind: str, name: str = "") -> None:
        """The call that is under way hangs on this."""
        self._reads[kind, name] = None

    def decide(self, state: State, name: str, value: Value) -> None:
        """The call that is under way has found this out."""
        self._wrote.add(name)
        super().decide(state, name, value)

    def assign(self, state: State, name: str, value: Value) -> None:
        """The call that is under way sets this."""
        self._assigned.add(name)
        super().assign(state, name, value)

    def joined(self, ways: list[State]) -> State | None:
        """What one way has set and another has not hangs on what it was."""
        if any(way.options is not ways[0].options for way in ways):
            for name in sorted(self._wrote):
                self._reads["option", name] = None
        return super().joined(ways)

    def qualified(self, full: str) -> Value:
        """What a qualified name stands for, with what that hangs on."""
        if full not in self._values:
            outer, self._reads = self._reads, {}
            try:
                value = super().qualified(full)
            finally:
                own, self._reads = self._reads, outer | self._reads
            self._values[full] = (value, own)
        value, needs = self._values[full]
        self._reads |= needs
        return value

    def _now(self, options: Mapping[str, Value], read: Read) -> object:
        """What something that was asked for is, where a call begins."""
        kind, name = read
        if kind == "option":
            known = options.get(name)
            if known is None and name in self.settings.all:
                known = self.world.option(self.settings, name)
            return _UNSET if known is None else known.atoms
        if kind == "platform":
            return self.world.platform
        return self.world.architectures

    def enter(
        self,
        ref: FunctionRef,
        args: list[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> Value:
        """What a function returns; done once for servers that it cannot tell apart."""
        if self._handled:
            return super().enter(ref, args, keywords, state)
        key = (id(ref.node), ref.bound, *args, *sorted(keywords.items()))
        before = state.options
        now = partial(self._now, before)
        ran = self._memory.find(key, now)
        if ran is not None:
            self._reads |= ran.reads
            return self._again(ran, state)
        outer = (self._reads, self._wrote, self._assigned)
        self._reads, self._wrote, self._assigned = {}, set(), set()
        raised, unsure, steps = len(self.raised), self.unsure, self.steps
        value: Value | None = None
        try:
            value = super().enter(ref, args, keywords, state)
        except Stopped:
            pass
        finally:
            own, wrote = self._reads, self._wrote
            self._reads, self._wrote = outer[0] | own, outer[1] | wrote
            here, self._assigned = self._assigned, outer[2] | self._assigned
        if ("stack", "") not in own:
            ran = Ran(
                value,
                own,
                {n: state.options[n] for n in wrote if n in state.options},
                frozenset(here),
                tuple(self.raised[raised:]),
                self.unsure - unsure,
                self.steps - steps,
            )
            self._memory.keep(key, own, now, ran)
        if value is None:
            raise Stopped
        return value

    def _again(self, ran: Ran, state: State) -> Value:
        """What a call did, without following it."""
        self.raised.extend(ran.raised)
        self._assigned.update(ran.assigned)
        self.unsure += ran.unsure
        self.steps += ran.steps
        if self.steps > self.longest:
            raise TooLong
        if ran.value is None:
            raise Stopped
        if ran.writes:
            self._wrote.update(ran.writes)
            state.options = {**state.options, **ran.writes}
        return ran.value

    def start(self) -> Started:
        """From the first check to the last."""
        state = State()
        home = self.settings.home
        if home is None:
            return Started(None, (), (), False)
        if self.names.device_option in self.settings.all:
            state.decide(self.names.device_option, self.device())
        understood = True
        refused = None
        try:
            for name in self.names.startup_methods:
                method = self.attribute(one(Record()), name, state)
                if isinstance(method.only, FunctionRef):
                    self.call(method, [], {}, state)
        except Stopped:
            refused = self.raised[-1] if self.raised else None
        except (TooLong, RecursionError):
            understood = False
        maybe = tuple(dict.fromkeys(self.raised))
        if refused is not None:
            return Started(refused, maybe, (), True)
        options = tuple(sorted(state.options.items(), key=lambda item: item[0]))
        assigned = frozenset(self._assigned)
        return Started(None, maybe, options, understood, assigned)
