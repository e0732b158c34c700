"""What each call on a path comes to for each class: refused, missing, not fitting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from kvcodemod.config import Names
from kvcodemod.facts.classes.signatures import given_options, mismatch
from kvcodemod.facts.classes.table import Method
from kvcodemod.facts.conditions.call_sites import Tests, tests_before
from kvcodemod.facts.conditions.options import Options, contradict
from kvcodemod.facts.conditions.refusals import Refusal, refusals_of
from kvcodemod.facts.configurations.world import Place
from kvcodemod.facts.paths.call_graph import Chains, PoolCall
from kvcodemod.facts.paths.configured import Configured, Judgement, Question
from kvcodemod.facts.paths.copy_flags import Flags, Unmovable
from kvcodemod.facts.paths.intended_classes import IntendedClasses
from kvcodemod.facts.paths.shared_helpers import SharedHelpers
from kvcodemod.facts.paths.shortest_chains import Allowed, Chain, Hop, ShortestChains
from kvcodemod.facts.prefilter.scan import Scan
from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.startup.guards import Startup
from kvcodemod.tree.source import SourceError, SourceTree

_ERRORS = {
    "raises": "NotImplementedError",
    "missing": "AttributeError",
    "signature": "TypeError",
}


@dataclass(frozen=True, eq=False)
class Reached:
    """A call on a path that a class does not survive.

    Attributes:
        method: what the class gets, or None where it has no such method.
        refusals: the conditions of the refusals that can happen, where it has some.
        problem: for a signature, what does not fit.
        judged: the server that gets there, where the tree says what servers there are.
    """

    kind: Literal["raises", "missing", "signature"]
    call: PoolCall
    cls: str
    method: Method | None
    chain: Chain
    refusals: tuple[Refusal, ...] = ()
    problem: str = ""
    judged: Judgement = field(default_factory=Judgement)


@dataclass(frozen=True, eq=False)
class Excluded:
    """A call that a class would not survive, if any server got there with it."""

    kind: str
    call: PoolCall
    cls: str
    facts: tuple[Place, ...]


class Reach:
    """Everything that the rules ask about a tree."""

    def __init__(
        self,
        tree: SourceTree,
        names: Names,
        scan: Scan | None = None,
        only: tuple[str, str] | None = None,
    ) -> None:
        """Nothing is parsed yet; `scan` is one of the tree that is under way.

        With `only`, a class's bare name and a method, nothing else is looked into.
        """
        self.only = only
        self.tree = tree
        self._scan = scan
        self.names = names
        self._lines: dict[str, list[str]] = {}
        self.excluded: list[Excluded] = []

    @cached_property
    def program(self) -> Program:
        """Pools, allocators and the code around them."""
        return Program(self.tree, self.names, self._scan)

    @cached_property
    def chains(self) -> Chains:
        """All paths from speculative decoding."""
        return Chains(self.program).run()

    @property
    def broken(self) -> tuple[SourceError, ...]:
        """Files that matter and could not be read or parsed, in order."""
        chains = self.chains  # this reads the files
        found = {*self.program.table.broken, *chains.broken}
        return tuple(sorted(found, key=lambda e: (e.path, e.line or 0)))

    @cached_property
    def reached(self) -> tuple[Reached, ...]:
        """Every call that some class does not survive, in order of place."""
        return tuple(self._all())

    def _all(self) -> Iterator[Reached]:
        ways = self.ways
        families = IntendedClasses(self.chains)
        families.prune()
        for call in self.chains.every_call():
            for cls, guard in call.held:
                if self.only not in (None, (cls.rpartition(".")[2], call.method)):
                    continue
                found = self._outcome(call, cls)
                if found is None or not families.plausible(call, cls, found[0], guard):
                    continue
                if ways.ordinary.makes(call.code, call.site):
                    continue
                kind, method, refusals, problem = found
                options = call.site.options
                if families.is_draft(call):
                    options = (*options, *self.chains.receivers.draft)
                if self.chains.receivers.built.ruled_out(cls, options):
                    continue
                cases = tuple(refusal.options for refusal in refusals) or ((),)
                chain = ways.shortest(call, cls, _ERRORS[kind], cases, options)
                if chain is None:
                    continue
                asked = self._question(call, cls, kind, method, refusals, options)
                judged = self.configured.judge(asked)
                if judged.facts:
                    self.excluded.append(Excluded(kind, call, cls, judged.facts))
                    continue
                chain = judged.chain or chain
                yield Reached(kind, call, cls, method, chain, refusals, problem, judged)

    def _question(
        self,
        call: PoolCall,
        cls: str,
        kind: str,
        method: Method | None,
        refusals: tuple[Refusal, ...],
        options: Options,
    ) -> Question:
        cases = tuple(refusal.options for refusal in refusals) or ((),)
        inside: list[tuple[Code, Tests]] = []
        code = self.program.method(cls, call.method) if method else None
        for refusal in refusals if code is not None else ():
            assert code is not None
            tests = tests_before(code.node.body, "NotImplementedError", refusal.line)
            inside.append((code, tests or ()))

        def leads(allowed: Allowed) -> Chain | None:
            error = _ERRORS[kind]
            return self.ways.shortest(call, cls, error, cases, options, allowed)

        return Question(call, cls, tuple(inside), leads)

    @property
    def also_near(self) -> frozenset[str]:
        """The files that the search for servers has looked into, if there was one."""
        if "configured" not in self.__dict__:
            return frozenset()
        return self.configured.servers.modules.read

    @property
    def also_parts(self) -> tuple[str, ...]:
        """Pieces of text one of which stands in any other file that could matter."""
        if "configured" not in self.__dict__:
            return ()
        folders = (f.strip("/").replace("/", ".") for f in self.names.entry_folders)
        asked = self.chains.receivers.built.asked
        return (*folders, *(f"{name}(" for name in sorted(asked)))

    @cached_property
    def configured(self) -> Configured:
        """Which servers get where."""
        return Configured(self.chains)

    def _outcome(
        self, call: PoolCall, cls: str
    ) -> (
        tuple[
            Literal["raises", "missing", "signature"],
            Method | None,
            tuple[Refusal, ...],
            str,
        ]
        | None
    ):
        table = self.program.table
        after = call.code.owner if call.by_super else ""
        if after and after not in table.mro(cls):
            return None
        method = table.lookup(cls, call.method, after=after)
        if method is None:
            outside = any(n not in table.classes for n in table.mro(cls))
            known = self.chains.receivers.fields.has(cls, call.method)
            if known or (call.by_super and outside):
                return None
            return "missing", None, (), ""
        if method.kind == "property":
            return None
        if method.verdict in ("raises", "raises-conditionally"):
            passed = given_options(method, call.call)
            possible = tuple(
                refusal
                for refusal in refusals_of(table.function(method))
                if not contradict(refusal.options, (*call.site.options, *passed))
                and not self.chains.receivers.built.impossible(cls, refusal.options)
            )
            if possible:
                return "raises", method, possible, ""
            return None
        if method.kind == "function":
            problem = mismatch(method, call.call)
            if problem:
                return "signature", method, (), problem
        return None

    @cached_property
    def ways(self) -> ShortestChains:
        """The search for chains."""
        startup = Startup(self.program, self.chains.receivers.built)
        return ShortestChains(self.chains, startup, SharedHelpers(self.chains))

    @cached_property
    def unmovable(self) -> tuple[Unmovable, ...]:
        """Every sub-pool that is moved on a path and was built without the flag."""
        return tuple(Flags(self.chains).unmovable())

    def way_to_move(self, wrapper: str, delegate: PoolCall) -> Chain | None:
        """The way to the call in a wrapper's move, through the wrapper itself."""
        found: list[Chain] = []
        for call in self.chains.every_call():
            if call.method == self.names.move and wrapper in dict(call.held):
                target = self.program.method(wrapper, self.names.move)
                if target is not None and target.key == delegate.code.key:
                    chain = self.ways.shortest(call, wrapper, "AssertionError")
                    if chain is not None:
                        found.append(chain)
        if not found:
            return None
        chain = min(
            found,
            key=lambda c: (
                bool(c.guards),
                len(c.hops),
                [(hop.path, hop.line) for hop in c.hops],
            ),
        )
        code, line = delegate.code, delegate.call.lineno
        last = Hop(code.path, line, code.symbol, delegate.method)
        return replace(chain, hops=(*chain.hops, last))

    def home(self, reached: Reached) -> str:
        """The topmost class that could define a missing method for all that lack it."""
        table = self.program.table
        best = reached.cls
        for name in table.mro(reached.cls):
            if name not in self.program.members or self.program.is_root(name):
                continue
            held = [n for n in table.below(name) if self.program.roles[n] == "pool"]
            if all(table.lookup(n, reached.call.method) is None for n in held):
                best = name
        return best

    def waits_for_flag(self, method: Method) -> bool:
        """Whether a refusal is about the flag, so that `apply` knows how to mend it."""
        if method.name != self.names.move or method.verdict != "raises":
            return False
        lines = range(method.line, method.end_line + 1)
        return any(self.names.flag in self.line(method.path, n) for n in lines)

    def line(self, path: str, number: int) -> str:
        """One line of a file, or an empty string."""
        if path not in self._lines:
            try:
                self._lines[path] = self.tree.text(path).text.splitlines()
            except SourceError:
                self._lines[path] = []
        lines = self._lines[path]
        return lines[number - 1] if 0 < number <= len(lines) else ""
