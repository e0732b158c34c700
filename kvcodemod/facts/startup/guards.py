"""Combinations of options that are refused at start-up, before anything is served."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from kvcodemod.facts.conditions.guards import Guard
from kvcodemod.facts.conditions.options import Options, contradict, leaves, switched_on
from kvcodemod.facts.program.program import Code, Program, outer_functions
from kvcodemod.facts.startup.architectures import Architectures
from kvcodemod.facts.startup.construction import Built, Way
from kvcodemod.facts.startup.refused_options import Refused, checks
from kvcodemod.facts.syntax.expressions import identifiers

_IDENTIFIER = re.compile(rb"[A-Za-z]\w*_\w+", re.A)


class Startup:
    """Finds the refusals that keep a class away from a path."""

    def __init__(self, program: Program, built: Built) -> None:
        """Nothing is read yet."""
        self.program = program
        self.built = built
        self._near: dict[frozenset[str], tuple[str, ...]] = {}
        self._words: dict[str, frozenset[str]] | None = None
        self._refused: dict[str, tuple[Refused, ...]] = {}
        self._checks: dict[tuple[str, int], tuple[Refused, ...]] = {}
        self.architectures = Architectures(program)

    def guards(
        self, cls: str, path: Iterable[tuple[Code, ast.Call]], options: Options = ()
    ) -> tuple[Guard, ...]:
        """The refusals that hold for a class and a path; empty where it gets through.

        Every way to build the class has to be refused.

        Args:
            cls: the class whose options decide.
            path: the functions and calls on the way, from the first on.
            options: what holds for the receiver, so that some ways to build the
                class are out of the question.
        """
        steps = list(path)
        first = steps[0][0]
        place = f"{first.path.rpartition('/')[2]} {first.symbol}".lower()
        found: list[Refused] = []
        for way in self.built.ways(cls):
            if contradict(way.options, options):
                continue
            valid = [r for r in self._on(way) if self._refuses(r, place, steps)]
            if not valid:
                return ()
            found.extend(valid)
        places = {(r.path, r.line): r for r in found}
        return tuple(
            Guard("start-up", path, line, places[path, line].text)
            for path, line in sorted(places)
        )

    def _refuses(
        self, refused: Refused, place: str, steps: list[tuple[Code, ast.Call]]
    ) -> bool:
        only = refused.only
        if only is not None and not any(name in place for name in only):
            return False
        allowed = refused.allowed
        if allowed is not None and not any(name in place for name in allowed):
            return True
        if any(name in place for name in refused.refused):
            return True
        return refused.trees and any(
            _under_topk(self.program, code, call) for code, call in steps
        )

    def _on(self, way: Way) -> Iterator[Refused]:
        """The refusals that depend on an option of a way, or stand on the way."""
        switches = switched_on(way.options)
        for path in self._paths(switches):
            for refused in self._read(path):
                if any(same_option(a, b) for a in switches for b in refused.switches):
                    yield refused
        for name in way.through:
            code = self.program.function(name)
            if code is not None:
                yield from self._inside(code)
        architectures = self.architectures.of(way)
        if architectures:
            yield from self._for(architectures)

    def _for(self, architectures: frozenset[str]) -> Iterator[Refused]:
        """The refusals that are made for these model architectures."""
        for block in self.architectures.blocks(architectures):
            first, last = block.body[0].lineno, block.body[-1].end_lineno or 0
            for refused in self._inside(block.code):
                if first <= refused.line <= last:
                    yield refused
            for code in self.architectures.called(block):
                yield from self._inside(code)

    def _inside(self, code: Code) -> tuple[Refused, ...]:
        if code.key not in self._checks:
            self._checks[code.key] = tuple(checks(self.program, code))
        return self._checks[code.key]

    def _paths(self, switches: frozenset[str]) -> tuple[str, ...]:
        """The start-up files in whose text one of the switches stands."""
        if self._words is None:
            starts = [f"{word}_".encode() for word in self.program.names.path_words]
            self._words = {
                path: frozenset(w.decode() for w in _IDENTIFIER.findall(data))
                for path in self.program.startup_files
                for data in [self.program.tree.data(path)]
                if any(start in data for start in starts)
            }
        if switches not in self._near:
            self._near[switches] = tuple(
                path
                for path, words in self._words.items()
                if any(_named(mine, words) for mine in switches)
            )
        return self._near[switches]

    def _read(self, path: str) -> tuple[Refused, ...]:
        """Every refusal about speculative decoding in a file, in order of place."""
        if path not in self._refused:
            module = self.program.modules.try_get(path)
            self._refused[path] = tuple(
                refused
                for code in (outer_functions(self.program, module) if module else ())
                for refused in self._inside(code)
            )
        return self._refused[path]


def _named(option: str, words: frozenset[str]) -> bool:
    """Whether one of the words means an option."""
    if option in words:
        return True
    telling = [w for w in option.split("_") if w and w not in _COMMON]
    return len(telling) >= 2 and any(
        same_option(option, word) for word in words if telling[0] in word
    )


def same_option(one: str, other: str) -> bool:
    """Whether two names mean one option: `kv_shard_rank`, `enable_kv_cache_sharding`.

    All telling words of the first, two at least, begin words of the second.
    """
    if one == other:
        return True
    words = [w for w in one.split("_") if w and w not in _COMMON]
    others = [w for w in other.split("_") if w]
    return len(words) >= 2 and all(any(o.startswith(w) for o in others) for w in words)


_COMMON = frozenset({"enable", "is", "use", "has", "rank", "size", "get", "max", "num"})


def _under_topk(program: Program, code: Code, call: ast.Call) -> bool:
    """Whether a call stands under a condition on the width of the draft tree."""
    for node, _ in program.located(code.node):
        if not isinstance(node, ast.If) or node.lineno > call.lineno:
            continue
        inside = node.lineno <= call.lineno <= (node.end_lineno or 0)
        if (inside or leaves(node.body)) and any(
            name.endswith("topk") for name in identifiers(node.test)
        ):
            return True
    return False
