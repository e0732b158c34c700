"""Whether some server that starts comes to a call with a class, or why not."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from kvcodemod.facts.conditions.call_sites import Site, Tests, tests_before
from kvcodemod.facts.configurations.runtime import Asked, Lookup, Shared
from kvcodemod.facts.configurations.servers import Servers
from kvcodemod.facts.configurations.values import (
    EITHER,
    FALSE,
    TRUE,
    Atom,
    Const,
    Member,
    Value,
    const,
    join,
    one,
)
from kvcodemod.facts.configurations.world import Place, State, World
from kvcodemod.facts.paths.call_graph import Chains, PoolCall
from kvcodemod.facts.paths.shortest_chains import Allowed, Chain
from kvcodemod.facts.program.program import Code
from kvcodemod.facts.syntax.bodies import walk_all
from kvcodemod.facts.syntax.parsing import dotted

_UP = 3
"""How many callers upwards the conditions of construction are collected."""
_MOST_WAYS = 40
_MOST_TRIES = 16
"""Servers tried one by one, of one kind."""
_MOST_CASES = 8
_OTHER = "\0other"

Step = tuple[Code, Tests]
Choices = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Way:
    """One way to come to be built: the tests in each function that it goes through."""

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Judgement:
    """What came of the search.

    Attributes:
        witness: a server that gets there, told to the last option.
        possible: where there is none: servers that nothing known keeps from it.
        chain: the way that it takes.
        assumes: what has to hold besides and hangs on something that is not known.
        facts: what excludes all servers, one for each kind that was tried.
    """

    witness: World | None = None
    possible: World | None = None
    chain: Chain | None = None
    assumes: tuple[Place, ...] = ()
    facts: tuple[Place, ...] = ()

    @property
    def world(self) -> World | None:
        """The servers that get there, or may."""
        return self.witness or self.possible


@dataclass(frozen=True)
class Found:
    """A way through; and what the options have to be for it, as told by its tests."""

    chain: Chain
    needs: Choices


@dataclass(frozen=True, eq=False)
class Question:
    """A call and a class that could stand there.

    Attributes:
        inside: the tests before each place where the method fails; none, if it always
            does.
        leads: the way to the call on a server that gets to what is allowed, or None.
    """

    call: PoolCall
    cls: str
    inside: tuple[Step, ...]
    leads: Callable[[Allowed], Chain | None]


class Configured:
    """Joins the conditions of a path, of construction and of start-up."""

    def __init__(self, chains: Chains) -> None:
        """Nothing is followed yet."""
        self.chains = chains
        self.program = chains.program
        self.servers = Servers(chains.program)
        self.built = chains.receivers.built
        self._ways: dict[str, tuple[Way, ...]] = {}
        self._architectures: dict[Way, tuple[str, ...]] = {}
        self._called: dict[tuple[str, int], list[tuple[Code, ast.Call]]] = {}
        self._makers: dict[str, list[tuple[Code, ast.Call]]] = {}
        self._lookups: dict[tuple[World, Member | None, bool], Lookup] = {}
        self._led: dict[tuple[Member, int, str], Place | None] = {}
        self._asked_there: dict[Place, tuple[str, ...]] = {}
        self._unmet_at: dict[Place, Step] = {}
        self._because: dict[Place, tuple[Place, ...]] = {}
        self._shared = Shared()
        self._idle: dict[tuple[World, Member], frozenset[str]] = {}

    # -- construction

    def ways(self, cls: str) -> tuple[Way, ...]:
        """Every way in which a class comes to be built; none if that is too much."""
        if cls not in self._ways:
            self._ways[cls] = ()  # a cycle ends here
            found: list[Way] = []
            for use in self.built.uses(cls):
                code = self.program.function(use.function) if use.function else None
                if code is None:
                    found.append(Way(()))
                    continue
                bare = cls.rpartition(".")[2]
                tests = tests_before(code.node.body, bare, use.line) or ()
                if use.owner in self.program.members:
                    above = self.ways(use.owner) or (Way(()),)
                else:
                    above = tuple(self._above(code, _UP))
                found.extend(Way(((code, tests), *way.steps)) for way in above)
            different = tuple(dict.fromkeys(map(self._short, found)))
            self._ways[cls] = different if len(different) <= _MOST_WAYS else ()
        return self._ways[cls]

    def _short(self, way: Way) -> Way:
        """Without the steps that ask for nothing."""
        files = self.servers.platforms
        steps = (s for s in way.steps if s[1] or files.of_file(s[0].path) is not None)
        return Way(tuple(steps))

    def _above(self, code: Code, left: int) -> Iterator[Way]:
        callers = list(self._calling(code)) if left else []
        if left and not callers:
            for name in self.built.makers_for(code.qualname):
                maker = self.program.function(name)
                if maker is not None:
                    callers.append((maker, ()))
        if not callers:
            yield Way(())
        for caller, tests in callers:
            for way in self._above(caller, left - 1):
                yield Way(((caller, tests), *way.steps))

    def _calling(self, code: Code) -> Iterator[Step]:
        """Where a function is called; a method: by its class, or where that is made."""
        sites = list(self.built.calls_of(code.qualname))
        if code.owner:
            order = {code.owner, *self.program.order(code.owner)}
            own = [
                (caller, site)
                for caller, site in sites
                if _on_self(site.call)
                and order & {caller.owner, *self.program.order(caller.owner)}
            ]
            made = [] if own else list(self.built.calls_of(code.owner, True))
            sites = own or made or sites
        for caller, site in sites:
            yield caller, site.tests

    def _callers(self, code: Code) -> Iterable[tuple[Code, ast.Call]]:
        """Who calls a function: on a path, or where pools are built."""
        if code.key not in self._called:
            found = [(edge.caller, edge.call) for edge in self.chains.into(code)]
            if not found:
                calls = self.built.calls_of(code.qualname)
                found = [(caller, site.call) for caller, site in calls]
            self._called[code.key] = found
        return self._called[code.key]

    # -- one world

    def lookup(
        self, world: World, options: dict[str, Value], member: Member | None
    ) -> Lookup:
        """What expressions come to in a world."""
        key = (world, member, bool(options))
        if key not in self._lookups:
            self._lookups[key] = Lookup(
                self.program,
                self.servers.modules,
                self.servers.settings,
                world,
                options,
                member,
                self._callers,
                self._buildable,
                self._made,
                self._shared,
            )
        return self._lookups[key]

    def _made(self, cls: str) -> Iterable[tuple[Code, ast.Call]]:
        """Where a class is called."""
        if cls not in self._makers:
            sites = self.built.calls_of(cls, True)
            self._makers[cls] = [(caller, site.call) for caller, site in sites]
        return self._makers[cls]

    def _buildable(self, cls: str, lookup: Lookup) -> bool:
        """Whether a server can hold an object of a class or of one below it."""
        below = [n for n in self.program.table.below(cls) if n in self.program.members]
        if not below:
            return True
        for name in below:
            if not self.built.uses(name):
                continue
            ways = self.ways(name)
            if not ways or any(
                all(lookup.meets(c, t) for c, t in way.steps) for way in ways
            ):
                return True
        return False

    def _unmet(self, lookup: Lookup, code: Code, tests: Tests) -> Place | None:
        """The first test that cannot come out as told."""
        if lookup.meets(code, tests):
            return None
        place = _place(lookup, code, tests)
        self._unmet_at.setdefault(place, (code, tests))
        return place

    def _trial(self, world: World, way: Way, asked: Question) -> Found | Place:
        """The way of some server of a world; or what keeps the last of them from it."""
        elsewhere = self._elsewhere(world, asked.cls, way)
        if elsewhere is not None:
            return elsewhere
        started = self.servers.started(world)
        if started.refused is not None:
            return _refusal(started.refused)
        options = dict(started.options) if started.understood else {}
        last: Place | None = None
        for member in self.servers.final(world):
            lookup = self.lookup(world, options, member)
            found = self._on_server(lookup, world, member, way, asked)
            if isinstance(found, Found):
                return found
            last = found
        name = self.servers.names.algorithm_option
        return last or Place(
            asked.call.code.path,
            asked.call.call.lineno,
            f"start-up sets {name} to another one",
        )

    def _elsewhere(self, world: World, cls: str, way: Way) -> Place | None:
        """Code on the way that runs on another platform only."""
        if world.platform is None:
            return None
        platforms = self.servers.platforms
        found = self.program.class_of(cls)
        needs = [(platforms.of_class(cls), found[0].path if found else "", 1)]
        needs += [(platforms.of_file(c.path), c.path, 1) for c, _ in way.steps]
        for platform, path, line in needs:
            if platform is not None and platform != world.platform:
                return Place(path, line, f"imports what only {platform} has")
        return None

    def _on_server(
        self,
        lookup: Lookup,
        world: World,
        member: Member,
        way: Way,
        asked: Question,
    ) -> Found | Place:
        met: list[Place] = []
        banned: set[int] = set()
        inside = asked.inside if len(asked.inside) == 1 else ()
        built = False
        while True:
            allowed = self._allowed(lookup, world, member, met, banned)
            chain = asked.leads(allowed)
            if chain is None:
                last = _last(met, asked)
                self._explain(last, world, member)
                return last
            unbuilt = None if built else self._unbuilt(lookup, way, asked)
            if unbuilt is not None:
                return unbuilt
            built = True
            on_way = [(code, site.tests) for code, site in chain.sites]
            needs = self._needs(lookup, (*way.steps, *on_way, *inside))
            refused = self._refused(world, needs)
            if refused is None:
                return Found(chain, needs)
            worst = {
                id(site)
                for code, site in chain.sites
                if self._refused(world, self._needs(lookup, [(code, site.tests)]))
            }
            if not worst:
                return Found(chain, needs)
            banned |= worst
            met.append(refused)

    def _unbuilt(self, lookup: Lookup, way: Way, asked: Question) -> Place | None:
        """What keeps a class from being built this way, or its method from failing."""
        for code, tests in way.steps:
            unmet = self._unmet(lookup, code, tests)
            if unmet is not None:
                return unmet
        last: Place | None = None
        for code, tests in asked.inside:
            last = self._unmet(lookup, code, tests)
            if last is None:
                return None
        return last

    def _explain(self, place: Place, world: World, member: Member) -> None:
        """Why start-up does not come to what a test on the way needs."""
        if place not in self._because and place in self._unmet_at:
            widths = self.servers.names.width_options
            chosen = tuple(c for c in world.chosen if c[0] not in widths)
            world = replace(world, chosen=chosen, free=True)
            raw = self.lookup(world, {}, member)
            needs = self._needs(raw, [self._unmet_at[place]])
            more = _with(world, needs)
            said = self._stopped(more, dict(needs)) if more != world else None
            self._because[place] = () if said is None else (said,)

    def _needs(self, lookup: Lookup, steps: Iterable[Step]) -> Choices:
        """What options have to be so that tests come out as told, if that is more."""
        state = State(lookup.options)
        for code, tests in steps:
            after = lookup.holds(code, tests, State(state.options))
            if after is not None:
                state = State(after.options)
        found: list[tuple[str, Value]] = []
        for name, value in sorted(state.options.items(), key=lambda item: item[0]):
            known = lookup.options.get(name)
            if known is None:
                known = lookup.world.option(self.servers.settings, name)
            declared = name in self.servers.settings.all
            if declared and value.known and value != known:
                found.append((name, value))
        return tuple(found)

    def _refused(self, world: World, needs: Choices) -> Place | None:
        """What keeps start-up from coming to that, whatever is asked for, or None.

        What it leaves alone has to be asked for. What it sets itself can also have been
        anything else before.
        """
        sure = [n for n in needs if n[0] not in self.servers.assigned]
        cases: list[list[tuple[str, Value]]] = [sure]
        for name, value in needs:
            if name in self.servers.assigned and name not in dict(world.chosen):
                rest = self._rest(world, name, value)
                if rest is not None and len(cases) < _MOST_CASES:
                    cases = [[*c, (name, v)] for c in cases for v in (value, rest)]
        last: Place | None = None
        for case in cases:
            more = _with(world, case)
            last = self._stopped(more, dict(needs)) if more != world else None
            if last is None:
                return None
        return last

    def _rest(self, world: World, name: str, value: Value) -> Value | None:
        """What else an option can be; None where that is open."""
        setting = self.servers.settings.all[name]
        before = world.option(self.servers.settings, name)
        if before.known:
            return before.kept(lambda atom: atom not in (value.atoms or ()))
        numbers = [a.value for a in value.atoms or () if isinstance(a, Const)]
        if setting.number and numbers and all(isinstance(n, int) for n in numbers):
            least = min(n for n in numbers if isinstance(n, int))
            return join((setting.default, *(const(n) for n in range(least)[-3:])))
        return None

    def _stopped(self, world: World, needs: dict[str, Value]) -> Place | None:
        """What keeps all servers of a world from starting with what is needed."""
        started = self.servers.started(world)
        if started.refused is not None or not started.understood:
            return started.refused and _refusal(started.refused)
        options = dict(started.options)
        wanted = {
            name: value
            for name, value in needs.items()
            if name in options and not _share(options[name], value)
        }
        if not self.servers.final(world):
            wanted[self.servers.names.algorithm_option] = FALSE
        for name in sorted(wanted):
            setting = self.servers.settings.all[name]
            said = "turned off" if wanted[name] == FALSE else "at something else"
            return Place(setting.path, setting.line, f"start-up leaves {name} {said}")
        return None

    def _allowed(
        self,
        lookup: Lookup,
        world: World,
        member: Member,
        met: list[Place],
        banned: set[int],
    ) -> Allowed:
        """What a server gets to; what keeps it from going on is added to `met`."""
        key = (world, member)
        if key not in self._idle:
            self._idle[key] = self.servers.idle(member, world, lookup.options)
        idle = self._idle[key]

        def allowed(code: Code, site: Site) -> bool:
            if id(site) in banned:
                return False
            if self._is_idle(code, idle, member, met):
                return False
            unmet = self._unmet(lookup, code, site.tests)
            if unmet is not None:
                met.append(unmet)
            return unmet is None

        return allowed

    # -- the search

    def judge(self, asked: Question) -> Judgement:
        """Whether a server gets to a call with a class that fails there."""
        if not self.servers.algorithms:
            return Judgement()
        facts: list[Place] = []
        left: list[tuple[World, Way, Found, Choices]] = []
        for way in self.ways(asked.cls) or (Way(()),):
            chosen = self._chosen(way)
            if isinstance(chosen, Place):
                facts.append(chosen)
                continue
            for member in self.servers.algorithms:
                algorithm = (self.servers.names.algorithm_option, const(member.name))
                nowhere = self._nowhere(World(chosen=(algorithm,)), asked)
                if nowhere is not None:
                    facts.append(nowhere)
                    continue
                world = World(
                    architectures=self.architectures(way),
                    chosen=(algorithm, *chosen[0]),
                )
                found = self._trial(world, way, asked)
                if isinstance(found, Place):
                    facts.append(found)
                    continue
                left.append((world, way, found, chosen[1]))
        # what a plain server does comes before what one needs options for
        left.sort(key=lambda item: bool(item[2].needs))
        best: Judgement | None = None
        for world, way, found, _ in left:
            witness = self._witness(world, way, found, asked)
            if witness is not None and not witness.assumes:
                return witness
            if witness is not None:
                fewer = best is None or len(witness.assumes) < len(best.assumes)
                best = witness if fewer else best
        if best is not None:
            return best
        for world, way, _, either in left:
            possible = self._possible(world, way, asked, self._refine(either), facts)
            if possible is not None:
                return possible
        each = (p for fact in facts for p in (fact, *self._because.get(fact, ())))
        return Judgement(facts=tuple(dict.fromkeys(each)))

    def _nowhere(self, world: World, asked: Question) -> Place | None:
        """Whether nothing that servers of a world run leads there at all."""
        started = self.servers.started(world)
        if started.refused is not None or not started.understood:
            return started.refused and _refusal(started.refused)
        last: Place | None = None
        for member in self.servers.final(world):
            key = (member, id(asked.call), asked.cls)
            if key not in self._led:
                idle = self.servers.idle(member, world, {})
                met: list[Place] = []

                chain = asked.leads(partial(self._runs, idle, member, met))
                self._led[key] = None if chain else _last(met, asked)
            last = self._led[key]
            if last is None:
                return None
        return last

    def _runs(
        self,
        idle: frozenset[str],
        member: Member,
        met: list[Place],
        code: Code,
        site: Site,
    ) -> bool:
        return not self._is_idle(code, idle, member, met)

    def _is_idle(
        self, code: Code, idle: frozenset[str], member: Member, met: list[Place]
    ) -> bool:
        if (code.owner or code.qualname) not in idle:
            return False
        text = f"nothing that {member.name} runs leads to {code.symbol}"
        met.append(Place(code.path, code.node.lineno, text))
        return True

    def _witness(
        self, world: World, way: Way, found: Found, asked: Question
    ) -> Judgement | None:
        """One server of a world, all else as it is by default."""
        wanted = dict(_with(world, found.needs).chosen)
        first = tuple((name, one(_nearest(v)[0])) for name, v in wanted.items())
        models: list[tuple[str, ...]] = [(name,) for name in world.architectures]
        todo = deque(World(None, model, first, False) for model in models or [()])
        seen = set(todo)
        for _ in range(_MOST_TRIES):
            if not todo:
                break
            server = todo.popleft()
            got = self._trial(server, way, asked)
            if isinstance(got, Found) and not got.needs:
                for platform in self.servers.names.platforms:
                    there = replace(server, platform=platform)
                    if self._reaches(there, way, asked):
                        return self._least(there, way, asked)
            for more in self._next(server, got, wanted):
                if more not in seen:
                    seen.add(more)
                    todo.append(more)
        return None

    def _next(
        self, server: World, got: Found | Place, wanted: dict[str, Value]
    ) -> Iterator[World]:
        """Servers that differ in one option of those that have kept this one back."""
        if isinstance(got, Found):
            yield _with(server, [(n, one(_nearest(v)[0])) for n, v in got.needs])
            return
        settings = self.servers.settings
        several = sorted(name for name, value in wanted.items() if value.only is None)
        for name in dict.fromkeys((*self._asked_at(got), *several)):
            now = server.option(settings, name)
            setting = settings.all[name]
            value = wanted.get(name, setting.domain)
            if not value.known and setting.number:
                value = join((setting.default, const(1), const(2)))
            for atom in _nearest(value):
                if one(atom) != now and name != settings.names.algorithm_option:
                    yield _with(server, [(name, one(atom))])

    def _asked_at(self, place: Place) -> tuple[str, ...]:
        """The options that the statement at a place hangs on: those of its tests."""
        if place not in self._asked_there:
            module = self.servers.modules.try_get(place.path)
            found: set[str] = set()
            for node in walk_all(module.tree) if module else ():
                if isinstance(node, ast.If) and (
                    node.lineno <= place.line <= (node.end_lineno or node.lineno)
                ):
                    found |= _names_in(node.test)
                elif getattr(node, "lineno", 0) == place.line:
                    found |= _names_in(node)
            known = found & self.servers.settings.all.keys()
            self._asked_there[place] = tuple(sorted(known))
        return self._asked_there[place]

    def _reaches(self, server: World, way: Way, asked: Question) -> bool:
        """Whether a server gets there as it is told."""
        found = self._trial(server, way, asked)
        return isinstance(found, Found) and not found.needs

    def _least(self, world: World, way: Way, asked: Question) -> Judgement:
        """The same without what need not be asked for."""
        for name, value in world.chosen:
            less = replace(world, chosen=tuple(c for c in world.chosen if c[0] != name))
            same = less.option(self.servers.settings, name) == value
            if same or (
                name != self.servers.names.algorithm_option
                and self._reaches(less, way, asked)
            ):
                world = less
        for name in self.servers.names.width_options:  # what may be refused is said
            for value in self.servers.width(name):
                more = _with(world, [(name, value)])
                if self._doubts(more) < self._doubts(world) and self._reaches(
                    more, way, asked
                ):
                    world = more
        found = self._trial(world, way, asked)
        assert isinstance(found, Found)
        assumes = self._undecided(world, way, asked)
        return Judgement(witness=world, chain=found.chain, assumes=assumes)

    def _doubts(self, world: World) -> int:
        """How often start-up could refuse it for its drafts, for all that is known."""
        words = self.servers.names.path_words
        maybe = self.servers.started(world).maybe
        return sum(any(word in place.text for word in words) for place in maybe)

    def _undecided(self, world: World, way: Way, asked: Question) -> tuple[Place, ...]:
        """The tests before a class is built and its method fails that are not told.

        Of those that have to be true: what is left out where nothing is told is what
        happens by default.
        """
        options = dict(self.servers.started(world).options)
        found: list[Place] = []
        for member in self.servers.final(world)[:1]:
            lookup = self.lookup(world, options, member)
            inside = asked.inside if len(asked.inside) == 1 else ()
            for code, tests in (*way.steps, *inside):
                for count, (test, wanted) in enumerate(tests):
                    other = (*tests[:count], (test, not wanted))
                    if wanted and lookup.meets(code, other):
                        place = Place(code.path, test.lineno, ast.unparse(test))
                        found.append(place)
        return tuple(dict.fromkeys(found))

    def _refine(self, either: Choices) -> list[list[Choices]]:
        """What is told apart to show that no server gets there."""
        names = self.servers.names.width_options
        known = [name for name in names if name in self.servers.settings.all]
        return [
            *(_each(name, self.servers.width(name)) for name in known),
            *(_each(name, map(one, _nearest(v))) for name, v in either),
        ]

    def _possible(
        self,
        world: World,
        way: Way,
        asked: Question,
        refine: list[list[Choices]],
        facts: list[Place],
    ) -> Judgement | None:
        """Servers, told apart as far as is worth it, that nothing is in the way of."""
        found = self._trial(world, way, asked)
        if isinstance(found, Place):
            facts.append(found)
            return None
        if len(world.architectures) > 1:
            finer = [replace(world, architectures=(n,)) for n in world.architectures]
        elif refine:
            finer = [_with(world, choice) for choice in refine[0]]
            refine = refine[1:]
        elif world.platform is None:
            names = self.servers.names
            finer = [replace(world, platform=name) for name in names.platforms]
        else:
            assumes = self._undecided(world, way, asked)
            told = self._told(world, way, found.chain)
            return Judgement(possible=told, chain=found.chain, assumes=assumes)
        for more in finer:
            possible = self._possible(more, way, asked, refine, facts)
            if possible is not None:
                return possible
        return None

    def _told(self, world: World, way: Way, chain: Chain) -> World:
        """Without the widths that neither the way there nor construction asks for."""
        widths = self.servers.names.width_options
        chosen = tuple(c for c in world.chosen if c[0] not in widths)
        less = replace(world, chosen=chosen)
        started = self.servers.started(less)
        options = dict(started.options)
        steps = [*way.steps, *((code, site.tests) for code, site in chain.sites)]
        asked: set[str] = set()
        for member in self.servers.final(less):
            lookup = self.lookup(less, options, member)
            asked |= {name for name, _ in self._needs(lookup, steps)}
        kept = tuple(c for c in world.chosen if c[0] not in widths or c[0] in asked)
        return replace(world, chosen=kept)

    def _chosen(self, way: Way) -> tuple[Choices, Choices] | Place:
        """What has to be asked for so that a class is built this way.

        First the options that start-up leaves as they are, with what they have to be;
        then those that it may set, with what they can be.
        """
        world = World()
        lookup = self.lookup(world, {}, None)
        state = State()
        asked: set[str] = set()
        for code, tests in way.steps:
            after = lookup.holds(code, tests, state)
            if after is None:
                return _place(lookup, code, tests)
            state = State(after.options)
            needs = lookup.asked_for(code, tests)
            asked |= {name for kind, name in needs if kind == "option"}
        needed = dict(state.options)
        told = tuple((n, v) for n, v in needed.items() if v.known)
        plain = World(None, self.architectures(way), told, False)
        open_ = set() if self._fits(plain, way) else asked - needed.keys()
        for name in sorted(open_):
            found = self._needed(way, name)
            if found is not None:
                needed[name] = found
        sure: list[tuple[str, Value]] = []
        either: list[tuple[str, Value]] = []
        for name in sorted(needed):
            value = needed[name]
            before = world.option(self.servers.settings, name)
            if not value.known or value == before:
                continue
            if name == self.servers.names.algorithm_option:
                continue
            if name not in self.servers.assigned:
                sure.append((name, value))
            elif before.known:
                either.append((name, before))
        return tuple(sure), tuple(either)

    def _needed(self, way: Way, name: str) -> Value | None:
        """What a switch has to be on a way, if it cannot be what it is by default."""
        setting = self.servers.settings.all.get(name)
        if setting is None or setting.domain != EITHER:
            return None
        off = setting.default
        if off not in (TRUE, FALSE):
            return None
        if self._fits(World(chosen=((name, off),)), way):
            return None
        return FALSE if off == TRUE else TRUE

    def architectures(self, way: Way) -> tuple[str, ...]:
        """The model architectures that a way needs; none where any will do."""
        if way not in self._architectures:
            self._architectures[way] = tuple(self._architectures_of(way))
        return self._architectures[way]

    def _architectures_of(self, way: Way) -> Iterator[str]:
        lookup = self.lookup(World(), {}, None)
        needs: set[Asked] = set()
        for code, tests in way.steps:
            needs |= lookup.asked_for(code, tests)
        if ("architecture", "") not in needs:
            return
        if self._fits(World(architectures=(_OTHER,)), way):
            return
        for name in sorted(name for kind, name in needs if kind == "model"):
            if self._fits(World(architectures=(name,)), way):
                yield name

    def _fits(self, world: World, way: Way) -> bool:
        lookup = self.lookup(world, {}, None)
        return all(lookup.meets(code, tests) for code, tests in way.steps)


def _names_in(node: ast.AST) -> set[str]:
    return {
        part.attr if isinstance(part, ast.Attribute) else part.id
        for part in walk_all(node)
        if isinstance(part, ast.Attribute | ast.Name)
    }


def _each(name: str, values: Iterable[Value]) -> list[Choices]:
    return [((name, value),) for value in values]


def _with(world: World, choices: Iterable[tuple[str, Value]]) -> World:
    """The same with some more asked for."""
    chosen = {**dict(world.chosen), **dict(choices)}
    return replace(world, chosen=tuple(chosen.items()))


def _refusal(place: Place) -> Place:
    return replace(place, text=f"start-up refuses it: {place.text}")


def _share(left: Value, right: Value) -> bool:
    """Whether two values can be the same."""
    if left.atoms is None or right.atoms is None:
        return True
    return bool(left.atoms & right.atoms)


def _nearest(value: Value) -> list[Atom]:
    """What a value can be: switches that are off, small numbers and words first."""
    return sorted(
        value.atoms or (),
        key=lambda a: (str(type(a)), isinstance(a, Const) and _order(a), repr(a)),
    )


def _order(atom: Const) -> tuple[bool, float, int, str]:
    value = atom.value
    number = float(value) if isinstance(value, int | float) else 0.0
    return value is not None, number, len(str(value)), str(value)


def _last(met: list[Place], asked: Question) -> Place:
    """The last thing that was in the way."""
    nowhere = Place(asked.call.code.path, asked.call.call.lineno, "no path leads here")
    return met[-1] if met else nowhere


def _on_self(call: ast.Call) -> bool:
    func = call.func
    return isinstance(func, ast.Attribute) and dotted(func.value) == "self"


def _place(lookup: Lookup, code: Code, tests: Tests) -> Place:
    """The first of the tests that cannot come out as told."""
    for count in range(1, len(tests) + 1):
        state = State(dict(lookup.options))
        if lookup.holds(code, tests[:count], state) is None:
            test, wanted = tests[count - 1]
            text = ast.unparse(test)
            text = text if wanted else f"not ({text})"
            return Place(code.path, test.lineno, f"needs {text}")
    return Place(code.path, code.node.lineno, code.symbol)
