"""The shortest way from speculative decoding to a call, backwards over the edges."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from kvcodemod.facts.conditions.call_sites import Site, catches
from kvcodemod.facts.conditions.guards import Guard
from kvcodemod.facts.conditions.options import Options, contradict
from kvcodemod.facts.paths.call_graph import Chains, Edge, PoolCall
from kvcodemod.facts.paths.shared_helpers import SharedHelpers
from kvcodemod.facts.program.program import Code
from kvcodemod.facts.receivers.evaluator import is_super
from kvcodemod.facts.startup.guards import Startup

Tracked = tuple[str, frozenset[str]] | None
"""The parameter that a class must have come through, and the classes that fit."""

Cases = tuple[Options, ...]

Allowed = Callable[[Code, Site], bool]
"""Whether a server comes to a call in a function."""

State = tuple[tuple[str, int], Tracked]


@dataclass(frozen=True)
class Hop:
    """One step of a chain: on this line of this function the next one is called."""

    path: str
    line: int
    symbol: str
    calls: str


@dataclass(frozen=True)
class Chain:
    """The way to a call; the first hop stands in speculative decoding.

    Attributes:
        start: the line on which the first hop's function begins.
        guards: what keeps the class from coming this way, if anything does.
        sites: the calls themselves, each with the function that it stands in.
    """

    start: int
    hops: tuple[Hop, ...]
    guards: tuple[Guard, ...]
    sites: tuple[tuple[Code, Site], ...] = field(default=(), compare=False)


class ShortestChains:
    """Searches backwards from calls to entry functions."""

    def __init__(
        self, chains: Chains, startup: Startup, ordinary: SharedHelpers
    ) -> None:
        """Use the edges that `chains` has found."""
        self.chains = chains
        self.ordinary = ordinary
        self.startup = startup

    def shortest(
        self,
        call: PoolCall,
        cls: str,
        error: str,
        cases: Cases = ((),),
        options: Options = (),
        allowed: Allowed | None = None,
    ) -> Chain | None:
        """The shortest way for a class; one without guards if there is any.

        Args:
            call: where the way ends.
            cls: the class whose method is called there.
            error: what the call raises; a handler for it on the way is a guard.
            cases: options one set of which has to hold all the way.
            options: what is known about the receiver.
            allowed: what the server that is looked at gets to; without it, all.
        """
        if allowed is not None and not allowed(call.code, call.site):
            return None
        cases = tuple(
            (*case, *more) for case in cases for more in self.chains.cases(call, cls)
        )
        own = [guard for guard in call.site.handlers if catches(guard, error)]
        excluded = dict(call.held).get(cls)
        if excluded is not None:
            own.append(excluded)
        found = None
        if not own:
            found = self._search(call, cls, error, cases, options, False, allowed)
        if found is None:
            found = self._search(call, cls, error, cases, options, True, allowed)
        if found is None:
            return None
        guards = [g for edge in found for g in edge.site.handlers if catches(g, error)]
        refused = self.startup.guards(cls, _steps(found, call), options)
        return self._chain(call, found, (*guards, *own, *refused))

    def _search(
        self,
        call: PoolCall,
        cls: str,
        error: str,
        cases: Cases,
        options: Options,
        guarded: bool,
        allowed: Allowed | None,
    ) -> list[Edge] | None:
        """Breadth first to an entry that no other entry calls, or else to any."""
        start = (call.code.key, self._receiver(call, cls))
        came: dict[State, tuple[Edge, State] | None] = {start: None}
        todo: deque[tuple[Code, State]] = deque([(call.code, start)])
        other: State | None = None
        reached_top = False  # or would have been, but for a guard
        while todo:
            code, state = todo.popleft()
            if self._may_start(code, state[1], guarded):
                top = self.chains.is_top(code)
                reached_top |= top
                edges = _edges(came, state)
                if guarded or not self.startup.guards(
                    cls, _steps(edges, call), options
                ):
                    if top:
                        return edges
                    other = other or state
            for edge in self.chains.into(code):
                if allowed is not None and not allowed(edge.caller, edge.site):
                    reached_top = True
                    continue
                if not guarded and any(catches(g, error) for g in edge.site.handlers):
                    reached_top = True
                    continue
                here = edge.site.options
                if self.ordinary.makes(edge.caller, edge.site):
                    continue
                if here and (
                    self.chains.receivers.built.impossible(cls, here)
                    or all(contradict(case, here) for case in cases)
                ):
                    continue
                fits, tracked = self._before(edge, state[1], guarded)
                before = (edge.caller.key, tracked)
                if fits and before not in came:
                    came[before] = (edge, state)
                    todo.append((edge.caller, before))
        return _edges(came, other) if other and not reached_top else None

    def _may_start(self, code: Code, tracked: Tracked, guarded: bool) -> bool:
        if code.key not in self.chains.entries:
            return False
        if tracked is None:
            return True
        value = self.chains.receivers.declared(code).get(tracked[0])
        return value is not None and _some(value.held, tracked[1], guarded)

    def _before(
        self, edge: Edge, tracked: Tracked, guarded: bool
    ) -> tuple[bool, Tracked]:
        """Whether the classes can come over an edge, and what to track before it."""
        if tracked is None:
            return True, None
        name, classes = tracked
        value = edge.given.get(name)
        if value is None or not _some(value.held, classes, guarded):
            return False, None
        argument = _argument(edge, name)
        if argument is None:
            return True, None
        return True, self._tracked(edge.caller, argument, classes, 0)

    def _receiver(self, call: PoolCall, cls: str) -> Tracked:
        if call.by_super:
            first = [*call.code.node.args.posonlyargs, *call.code.node.args.args]
            return (first[0].arg, frozenset((cls,))) if first else None
        if call.receiver is None:
            return None
        return self._tracked(call.code, call.receiver, frozenset((cls,)), 0)

    def _tracked(
        self, code: Code, node: ast.expr, classes: frozenset[str], depth: int
    ) -> Tracked:
        if isinstance(node, ast.Name):
            bound = self.chains.program.scope(code).bound.get(node.id, ())
            if len(bound) == 1 and depth < 4:
                return self._tracked(code, bound[0], classes, depth + 1)
            spec = code.node.args
            params = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
            if not bound and any(arg.arg == node.id for arg in params):
                return node.id, classes
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
            and code.owner in self.chains.program.members
        ):
            receivers = self.chains.receivers
            holders = frozenset(
                name
                for name in self.chains.program.table.below(code.owner)
                if _some(receivers.attribute(name, node.attr).held, classes, True)
            )
            return ("self", holders) if holders else None
        return None

    def _chain(
        self, call: PoolCall, edges: list[Edge], guards: tuple[Guard, ...]
    ) -> Chain:
        hops = [
            Hop(e.caller.path, e.call.lineno, e.caller.symbol, e.callee.symbol)
            for e in edges
        ]
        code = call.code
        hops.append(Hop(code.path, call.call.lineno, code.symbol, call.method))
        first = edges[0].caller if edges else code
        sites = [*((edge.caller, edge.site) for edge in edges), (code, call.site)]
        return Chain(
            first.node.lineno,
            tuple(hops),
            tuple(dict.fromkeys(guards)),
            tuple(sites),
        )


def _edges(came: dict[State, tuple[Edge, State] | None], state: State) -> list[Edge]:
    found: list[Edge] = []
    step = came[state]
    while step is not None:
        found.append(step[0])
        step = came[step[1]]
    return found


def _steps(edges: list[Edge], call: PoolCall) -> list[tuple[Code, ast.Call]]:
    return [*((edge.caller, edge.call) for edge in edges), (call.code, call.call)]


def _some(
    held: tuple[tuple[str, Guard | None], ...], classes: frozenset[str], guarded: bool
) -> bool:
    return any(name in classes and (guarded or guard is None) for name, guard in held)


def _argument(edge: Edge, name: str) -> ast.expr | None:
    """The expression that a call passes for a parameter, the receiver included."""
    spec = edge.callee.node.args
    order = [a.arg for a in [*spec.posonlyargs, *spec.args]]
    func = edge.call.func
    if edge.callee.owner and order:
        if order[0] == name:
            if not isinstance(func, ast.Attribute):
                return None
            if is_super(func.value):
                return ast.Name(name, ast.Load())  # the caller's own `self`
            return func.value
        order = order[1:]
    for keyword in edge.call.keywords:
        if keyword.arg == name:
            return keyword.value
    for parameter, value in zip(order, edge.call.args, strict=False):
        if parameter == name:
            return value
    return None
