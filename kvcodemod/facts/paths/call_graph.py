"""Which pool and allocator methods speculative decoding reaches, and the way there."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvcodemod.facts.conditions.call_sites import Site, call_sites
from kvcodemod.facts.conditions.guards import Guard
from kvcodemod.facts.conditions.options import Options, contradict
from kvcodemod.facts.conditions.receiver_tests import Conditions
from kvcodemod.facts.paths.relevance import Relevance
from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.receivers.annotations import is_static
from kvcodemod.facts.receivers.evaluator import Receivers
from kvcodemod.facts.receivers.held import Env
from kvcodemod.facts.receivers.values import NOTHING, Value, join
from kvcodemod.facts.syntax.bodies import walk_all
from kvcodemod.facts.syntax.expressions import passed
from kvcodemod.tree.source import SourceError


@dataclass(frozen=True, eq=False)
class PoolCall:
    """A call of a method on something that can be a pool or an allocator.

    Attributes:
        receiver: None where it is `super()` or a method taken earlier as a value.
        held: class -> the guard on the receiver that excludes it, or None.
    """

    code: Code
    call: ast.Call
    receiver: ast.expr | None
    method: str
    held: tuple[tuple[str, Guard | None], ...]
    site: Site
    by_super: bool = False


@dataclass(frozen=True, eq=False)
class Edge:
    """One function calls another; `given` are the callee's parameters."""

    caller: Code
    call: ast.Call
    callee: Code
    site: Site
    given: dict[str, Value]


class Chains:
    """Follows every path from the entry folders as far as pools and allocators go."""

    def __init__(self, program: Program) -> None:
        """Nothing is followed yet; see `run`."""
        self.program = program
        self.receivers = Receivers(program)
        self.calls: dict[tuple[str, int], list[PoolCall]] = {}
        self.edges: dict[tuple[str, int], list[Edge]] = {}
        self.broken: list[SourceError] = []
        self.matter: Relevance
        self._worth: frozenset[str] = frozenset()
        self.entries: dict[tuple[str, int], Code] = {}
        self._later: dict[tuple[str, int], Code] = {}
        self._calling: dict[str, list[tuple[str, int]]] = {}
        self._given: dict[tuple[str, int], dict[str, Value]] = {}
        self._sites: dict[tuple[str, int], list[Site]] = {}
        self._codes: dict[tuple[str, int], Code] = {}
        self._out: dict[tuple[str, int], list[Edge]] = {}

    def run(self) -> Chains:
        """Follow all paths to the end."""
        self.matter = Relevance(self.program)
        self.broken = list(self.matter.broken)
        self._worth = self.matter.names | self.matter.methods
        todo: deque[Code] = deque()
        for code in self.matter.entries:
            self.entries[code.key] = code
            if self.matter.handles(code):
                todo.append(code)
            else:
                self._later[code.key] = code
        waiting = {code.key for code in todo}
        while todo:
            code = todo.popleft()
            waiting.discard(code.key)
            self._codes[code.key] = code
            for callee in self._follow(code):
                if callee.key not in waiting:
                    waiting.add(callee.key)
                    todo.append(callee)
        self.edges = {}
        for key in sorted(self._out):
            for edge in self._out[key]:
                self.edges.setdefault(edge.callee.key, []).append(edge)
        for key in self._codes:
            self._later.pop(key, None)
        for key, caller in self._later.items():
            for name in self.matter.calls(caller):
                self._calling.setdefault(name, []).append(key)
        return self

    def into(self, code: Code) -> list[Edge]:
        """The edges into a function, in order of place.

        Functions that only pass batches and the like on are read here, when somebody
        asks who calls what: they change nothing about what is held where.
        """
        for key in self._calling.pop(code.node.name, ()):
            caller = self._later.pop(key, None)
            if caller is not None:
                _, edges = self._read(caller)
                for edge in edges:
                    self.edges.setdefault(edge.callee.key, []).append(edge)
        found = self.edges.get(code.key, [])
        return sorted(found, key=lambda e: (e.caller.key, e.call.lineno))

    def is_top(self, code: Code) -> bool:
        """Whether an entry function is called by no other."""
        return code.key in self.entries and not any(
            edge.caller.key in self.entries and edge.caller.key != code.key
            for edge in self.into(code)
        )

    def followed(self, code: Code) -> bool:
        """Whether a path may go through a function."""
        names = self.program.names
        below = code.path.partition("/")[2]
        if code.owner in self.program.members:
            return code.node.name != "__init__"
        if not self.matter.leads_on(code):
            return False
        if code.key in self.entries or below in names.carrier_files:
            return True
        if below.startswith(names.entry_folders):
            return True
        return not code.owner and below.startswith(names.helper_folders)

    def _follow(self, code: Code) -> Iterator[Code]:
        """Read one function; yields the functions whose parameters grew."""
        try:
            calls, edges = self._read(code)
        except RecursionError:
            reason = (
                "nested too deeply, or leads on in too long a chain, to be followed"
            )
            self.broken.append(SourceError(code.path, code.node.lineno, reason))
            return
        self.calls[code.key] = calls
        self._out[code.key] = edges
        for edge in edges:
            if self._grow(edge):
                yield edge.callee

    def _read(self, code: Code) -> tuple[list[PoolCall], list[Edge]]:
        """The calls and the edges of one function, as far as is known by now."""
        declared = self.receivers.declared(code)
        given = self._given.get(code.key)
        if given is None:
            params = declared
        elif code.key in self.entries:
            names = {**declared, **given}
            params = {
                n: join((declared.get(n, NOTHING), given.get(n, NOTHING)))
                for n in names
            }
        else:
            params = given
        env = Env(params)
        calls: list[PoolCall] = []
        edges: list[Edge] = []
        hinted = self._hinted(code, params)
        for site in self.sites(code):
            if not self._worth_it(site.call.func, hinted):
                continue
            for found in self._pool_calls(code, env, site):
                call = self._possible(found)
                calls.append(call)
                edges.extend(self._into_methods(call, env, site))
            func = site.call.func
            for target, receiver in self.receivers.targets(code, env, func, site.facts):
                if self.followed(target) and target.owner not in self.program.members:
                    edges.append(self._edge(code, env, site, target, receiver))
        return calls, edges

    def _hinted(self, code: Code, params: dict[str, Value]) -> frozenset[str]:
        """Names in a function that may stand for a pool, an allocator or a method."""
        names = {n for n, value in params.items() if value.held or value.methods}
        for name, values in self.program.scope(code).bound.items():
            for value in values:
                if any(self._tells(part, names) for part in walk_all(value)):
                    names.add(name)
        return frozenset(names)

    def _tells(self, node: ast.AST, names: set[str] | frozenset[str]) -> bool:
        if isinstance(node, ast.Attribute):
            return bool(self.receivers.by_word(node.attr)) or (
                node.attr in self.program.names.pool_getters
            )
        if isinstance(node, ast.Name):
            return node.id in names or bool(self.receivers.by_word(node.id))
        return False

    def _worth_it(self, func: ast.expr, hinted: frozenset[str]) -> bool:
        """Whether a call can be one of a pool's method or lead on."""
        if isinstance(func, ast.Attribute):
            if func.attr in self._worth:
                return True
            return any(self._tells(part, hinted) for part in walk_all(func.value))
        if isinstance(func, ast.Name):
            return func.id in self._worth or func.id in hinted
        return True

    def sites(self, code: Code) -> list[Site]:
        """The calls of a function, read once."""
        if code.key not in self._sites:
            scope = self.program.scope(code)
            conditions = Conditions(
                code.path,
                lambda name: self.program.resolve_class(code, name),
                scope.bound,
            )
            self._sites[code.key] = call_sites(code.node.body, conditions, code.path)
        return self._sites[code.key]

    def _pool_calls(self, code: Code, env: Env, site: Site) -> Iterator[PoolCall]:
        func = site.call.func
        if isinstance(func, ast.Attribute):
            if (
                isinstance(func.value, ast.Call)
                and isinstance(func.value.func, ast.Name)
                and func.value.func.id == "super"
            ):
                me = _first_parameter(code)
                held = env.params.get(me, NOTHING).held if me else ()
                if held and code.owner in self.program.members:
                    yield PoolCall(code, site.call, None, func.attr, held, site, True)
                return
            base = self.receivers.value(code, env, func.value, site.facts)
            if base.held:
                yield PoolCall(code, site.call, func.value, func.attr, base.held, site)
        elif isinstance(func, ast.Name | ast.Call):
            taken = self.receivers.value(code, env, func, site.facts)
            for method, receiver in taken.methods:
                held = self._asked(site, method, receiver)
                yield PoolCall(code, site.call, None, method, held, site)

    def _asked(
        self, site: Site, method: str, receiver: Value
    ) -> tuple[tuple[str, Guard | None], ...]:
        """The classes behind a method taken as a value, under the checks before."""
        held = dict(receiver.held)
        has = self.receivers.fields.has
        for fact in site.facts:
            if fact.kind == "has" and fact.attribute == method:
                guard = Guard("hasattr", fact.path, fact.line, fact.text, method)
                held = {n: g if g or has(n, method) else guard for n, g in held.items()}
        return tuple(sorted(held.items(), key=lambda item: item[0]))

    def _possible(self, call: PoolCall) -> PoolCall:
        """Without the classes that a server with the options here never holds."""
        options = call.site.options
        if not options:
            return call
        held = tuple(
            item
            for item in call.held
            if not self.receivers.built.impossible(item[0], options)
            and any(not contradict(o, options) for o in self.cases(call, item[0]))
        )
        return call if held == call.held else replace(call, held=held)

    def cases(self, call: PoolCall, cls: str) -> tuple[Options, ...]:
        """The options under which a wrapper's field holds a class; one empty if none.

        Only for a receiver that is a field of the pool or allocator whose method the
        call stands in.
        """
        node = call.receiver
        owner = call.code.owner
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
            and owner in self.program.members
        ):
            found: list[Options] = []
            for name in self.program.table.below(owner):
                self.receivers.attribute(name, node.attr)
                under = self.receivers.under.get((name, node.attr), {})
                found.extend(under.get(cls, ()))
            if found:
                return tuple(dict.fromkeys(found))
        return ((),)

    def _into_methods(self, call: PoolCall, env: Env, site: Site) -> Iterator[Edge]:
        """Edges into the methods that the receiver's classes really have."""
        into: dict[tuple[str, int], tuple[Code, list[tuple[str, Guard | None]]]] = {}
        for cls, guard in call.held:
            after = call.code.owner if call.by_super else ""
            target = self.program.method(cls, call.method, after=after)
            if target is not None and self.followed(target):
                into.setdefault(target.key, (target, []))[1].append((cls, guard))
        for key in sorted(into):
            target, held = into[key]
            yield self._edge(call.code, env, site, target, Value(held=tuple(held)))

    def _edge(
        self, code: Code, env: Env, site: Site, target: Code, receiver: Value
    ) -> Edge:
        given: dict[str, Value] = {}
        declared = self.receivers.declared(target)
        spec = target.node.args
        order = [a.arg for a in [*spec.posonlyargs, *spec.args]]
        if receiver and order and not is_static(target.node):
            given[order[0]] = receiver
            order = order[1:]
        for name, argument in passed(site.call, order):
            value = self.receivers.value(code, env, argument, site.facts)
            given[name] = (
                self.receivers.fitting(target, name, value)
                if value
                else declared.get(name, NOTHING)
            )
        if any(k.arg is None for k in site.call.keywords):
            for name, value in declared.items():
                given.setdefault(name, value)
        return Edge(code, site.call, target, site, given)

    def _grow(self, edge: Edge) -> bool:
        known = self._given.setdefault(edge.callee.key, {})
        grown = edge.callee.key not in self._codes
        for name, value in edge.given.items():
            both = join((known.get(name, NOTHING), value))
            if both != known.get(name, NOTHING):
                known[name] = both
                grown = True
        return grown

    def call_at(self, code: Code, node: ast.Call) -> PoolCall | None:
        """The pool call that a call expression is, or None."""
        return next((c for c in self.calls.get(code.key, ()) if c.call is node), None)

    def every_call(self) -> Iterator[PoolCall]:
        """Every call on a pool or an allocator, in order of place."""
        for key in sorted(self.calls):
            yield from self.calls[key]


def _first_parameter(code: Code) -> str:
    spec = [*code.node.args.posonlyargs, *code.node.args.args]
    return spec[0].arg if spec else ""
