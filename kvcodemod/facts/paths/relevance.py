"""Which functions can matter for a path, told from their text before they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from kvcodemod.facts.prefilter.words import covering
from kvcodemod.facts.program.program import Code, Program, outer_functions
from kvcodemod.facts.syntax.modules import Module
from kvcodemod.facts.syntax.text import Text, any_within, span
from kvcodemod.tree.source import SourceError

_STORED = re.compile(r"\bself\.(\w+)[ \t]*(?::[^=]*)?=")


class Relevance:
    """Finds the entry functions and helpers that can lead to a pool or an allocator."""

    def __init__(self, program: Program) -> None:
        """Read the texts of the entry folders and of the helpers they import."""
        self.program = program
        self.broken: list[SourceError] = []
        names = program.names
        words = {*names.pool_words, *names.allocator_words, *names.pool_getters}
        bare = frozenset(name.rpartition(".")[2] for name in program.members)
        literals = sorted({*words, *covering(bare)})
        self._pattern = re.compile("|".join(map(re.escape, literals)))
        self._words = _Finder(program, self._pattern)
        self.methods = frozenset(
            method.name
            for name in program.members
            for owner in program.order(name)
            if owner in program.table.classes
            for method in program.table.classes[owner].methods
        )
        self._telling = frozenset(m for m in self.methods if "_" in m.strip("_"))
        self._helping: frozenset[str] = frozenset()
        self.entries: list[Code] = []
        self.names: frozenset[str] = frozenset()
        self._read()

    def _read(self) -> None:
        """Find the functions that can lead to a pool; parse no file without one.

        A function can if a word for pools stands in it, or if it calls one that can.
        """
        waiting = self.program.entry_files
        texts = {path: self._text(path) for path in waiting}
        found: set[tuple[str, int]] = set()
        names: set[str] = set()
        calls: dict[tuple[str, int], frozenset[str]] = {}
        helpers = self.program.helper_files
        codes = [code for path in helpers for code in self._helpers(path)]
        calls.update((code.key, self.calls(code)) for code in codes)
        found.update(code.key for code in codes if self.hit(code))
        self._close(codes, calls, found, names)
        self._helping = frozenset(names)
        grown = True
        while grown:
            ready = [
                path
                for path in waiting
                if self._pattern.search(texts[path].text)
                or not self._telling.isdisjoint(texts[path].called)
                or not names.isdisjoint(texts[path].called)
            ]
            waiting = [path for path in waiting if path not in ready]
            fresh: list[Code] = []
            for path in ready:
                module = self._module(path)
                if module is not None:
                    outer = outer_functions(self.program, module)
                    fresh.extend(code for code in outer if self._may_start(code))
            codes.extend(fresh)
            calls.update((code.key, self.calls(code)) for code in fresh)
            found.update(
                code.key
                for code in fresh
                if self.hit(code) or not self._telling.isdisjoint(calls[code.key])
            )
            grown = self._close(codes, calls, found, names) or bool(fresh)
        self.entries = [
            code
            for code in sorted(codes, key=lambda code: code.key)
            if code.key in found and code.path in texts
        ]
        self.names = frozenset(names)

    def _may_start(self, code: Code) -> bool:
        """Whether a function of an entry file is about speculative decoding.

        In the entry folders all are; in glue, those in which one of its words stands.
        """
        names = self.program.names
        if code.path.partition("/")[2].startswith(names.entry_folders):
            return True
        return self._speaking.stands_in(code)

    @cached_property
    def _speaking(self) -> _Finder:
        """The words of speculative decoding."""
        words = "|".join(map(re.escape, self.program.names.path_words))
        pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])")
        return _Finder(self.program, pattern)

    def _close(
        self,
        codes: list[Code],
        calls: dict[tuple[str, int], frozenset[str]],
        found: set[tuple[str, int]],
        names: set[str],
    ) -> bool:
        """Add the callers of what was found; tells whether there are new names."""
        before = len(names)
        for code in codes:
            if code.key in found and not code.node.name.startswith("__"):
                names.add(code.node.name)
        grown = True
        while grown:
            grown = False
            for code in codes:
                if code.key not in found and not names.isdisjoint(calls[code.key]):
                    found.add(code.key)
                    if not code.node.name.startswith("__"):
                        grown |= code.node.name not in names
                        names.add(code.node.name)
        return len(names) > before

    def _text(self, path: str) -> Text:
        try:
            return self.program.text_at(path)
        except SourceError as error:
            self.broken.append(error)
            return Text("")

    def _helpers(self, path: str) -> Iterator[Code]:
        module = self._module(path)
        for code in outer_functions(self.program, module) if module else ():
            if not code.node.name.startswith("__"):
                yield code

    def _module(self, path: str) -> Module | None:
        try:
            return self.program.modules.get(path)
        except SourceError as error:
            self.broken.append(error)
            return None

    def hit(self, code: Code) -> bool:
        """Whether a word that pools or allocators go by stands in a function."""
        return self._words.stands_in(code)

    def handles(self, code: Code) -> bool:
        """Whether a function itself may have a pool or an allocator in hands."""
        calls = self.calls(code)
        return (
            self.hit(code)
            or not calls.isdisjoint(self._telling)
            or not calls.isdisjoint(self._helping)
            or self._fields.stands_in(code)
        )

    @cached_property
    def _fields(self) -> _Finder:
        """The fields that are assigned on a line where a word for pools stands."""
        found: set[str] = set()
        for path in sorted({code.path for code in self.entries}):
            text = self.program.text_at(path)
            lines = text.text.split("\n")
            for number in text.lines_matching(self._pattern):
                found.update(_STORED.findall(lines[number - 1]))
        inner = "|".join(map(re.escape, sorted(found))) or "(?!)"
        return _Finder(self.program, re.compile(rf"\.(?:{inner})\b"))

    def calls(self, code: Code) -> frozenset[str]:
        """The names that a function calls, by its text."""
        return self.program.text(code.module).called_in(*span(code.node))

    def leads_on(self, code: Code) -> bool:
        """Whether it can be worth it to read a function that is called on a path."""
        calls = self.calls(code)
        return (
            self.hit(code)
            or not calls.isdisjoint(self.names)
            or not calls.isdisjoint(self._telling)
        )


class _Finder:
    """Tells in which functions a pattern matches; each file is searched once."""

    def __init__(self, program: Program, pattern: re.Pattern[str]) -> None:
        self._program = program
        self._pattern = pattern
        self._lines: dict[str, list[int]] = {}

    def stands_in(self, code: Code) -> bool:
        if code.path not in self._lines:
            text = self._program.text(code.module)
            self._lines[code.path] = text.lines_matching(self._pattern)
        return any_within(self._lines[code.path], *span(code.node))
