"""Which classes a call is meant for, where the call itself says so.

Three things tell that a method belongs to some of the pools only. All classes that have
it are built under one option: then who calls it runs with that option. Or one class
brings it and a draft worker calls it on its own draft model's pool: the algorithm fixes
that model, and pools that lack the method are not its kind. Or no class of a pool's
line takes the arguments that a draft worker passes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from kvcodemod.facts.classes.signatures import mismatch
from kvcodemod.facts.conditions.guards import Guard
from kvcodemod.facts.paths.call_graph import Chains, PoolCall


class IntendedClasses:
    """Judges whether a class can really stand behind a call."""

    def __init__(self, chains: Chains) -> None:
        """Look at all calls first: one call can tell about another."""
        self.chains = chains
        self.table = chains.program.table
        self.built = chains.receivers.built
        self._foreign: dict[str, set[str]] = {}
        for call in chains.every_call():
            if self.is_draft(call):
                foreign = self._foreign.setdefault(self._group(call), set())
                foreign.update(n for n, _ in call.held if self._is_foreign(call, n))
                family = self._family(call)
                if family:
                    below = self.table.below(family)
                    foreign.update(
                        name
                        for name, _ in call.held
                        if name not in below
                        and self.table.lookup(name, call.method) is None
                    )

    def plausible(
        self, call: PoolCall, cls: str, kind: str, guard: Guard | None
    ) -> bool:
        """Whether a finding about the class at this call makes sense."""
        if guard is not None and guard.method and guard.method != call.method:
            return False  # an attribute check for something else keeps it away
        if self.is_draft(call) and cls in self._foreign[self._group(call)]:
            return False
        if kind != "missing":
            return True
        having = [name for name, _ in call.held if self._works(name, call.method)]
        if guard is not None and guard.kind == "hasattr":
            return 2 * len(having) >= len(call.held)
        if self._declared_by_family(call, cls):
            return False
        return not self._option_of(call, having)

    def _declared_by_family(self, call: PoolCall, cls: str) -> bool:
        """Whether an intermediate base declares the method, and not for this class."""
        for name, _ in call.held:
            for owner in self.table.mro(name)[1:]:
                known = self.table.classes.get(owner)
                if known is None or known.method(call.method) is None:
                    continue
                role = self.chains.program.roles.get(owner)
                if role == "abstract" and cls not in self.table.below(owner):
                    return True
        return False

    def prune(self) -> None:
        """Take classes outside the draft's family off the edges from its calls."""
        for edges in self.chains.edges.values():
            for edge in edges:
                call = self.chains.call_at(edge.caller, edge.call)
                if call is None or not self.is_draft(call):
                    continue
                foreign = self._foreign[self._group(call)]
                first = [
                    *edge.callee.node.args.posonlyargs,
                    *edge.callee.node.args.args,
                ]
                if not foreign or not first or first[0].arg not in edge.given:
                    continue
                value = edge.given[first[0].arg]
                held = tuple(item for item in value.held if item[0] not in foreign)
                edge.given[first[0].arg] = replace(value, held=held)

    def is_draft(self, call: PoolCall) -> bool:
        """Whether the receiver belongs to a draft model."""
        node = call.receiver
        scope = self.chains.program.scope(call.code)
        for _ in range(3):
            if node is None:
                return False
            if isinstance(node, ast.Name):
                bound = scope.bound.get(node.id, ())
                node = bound[0] if len(bound) == 1 else None
                continue
            return self.chains.receivers.is_draft(node)
        return False

    def _group(self, call: PoolCall) -> str:
        return call.code.owner or call.code.path

    def _is_foreign(self, call: PoolCall, cls: str) -> bool:
        """Whether a whole family, not one override, does not take what is passed."""
        found = self.table.lookup(cls, call.method)
        if found is None or not mismatch(found, call.call):
            return False
        while found is not None:
            if not mismatch(found, call.call):
                return False
            if found.owner not in self.table.mro(cls):
                break
            found = self.table.lookup(cls, call.method, after=found.owner)
            if found is not None and self.chains.program.is_root(found.owner):
                break
        return True

    def _works(self, cls: str, method: str) -> bool:
        found = self.table.lookup(cls, method)
        return found is not None and found.verdict != "raises"

    def _family(self, call: PoolCall) -> str:
        """The one class that brings the method to all that have it, if some lack it."""
        having = [name for name, _ in call.held if self._works(name, call.method)]
        if not having or len(having) == len(call.held):
            return ""
        first = self.table.mro(having[0])
        for name in reversed(first):
            known = self.table.classes.get(name)
            if known is None or known.method(call.method) is None:
                continue
            below = self.table.below(name)
            if all(other in below for other in having):
                everybody = all(other in below for other, _ in call.held)
                return "" if everybody else name
        return ""

    def _option_of(self, call: PoolCall, having: Iterable[str]) -> frozenset[str]:
        """The options under which all that have a method are built, and no other is."""
        having = list(having)
        if not having:
            return frozenset()
        common = frozenset.intersection(*(self.built.switches(n) for n in having))
        others = [n for n, _ in call.held if n not in having]
        return common - frozenset(
            w for n in others for w in self.built.some_switches(n)
        )
