"""Which functions can matter for a path, told from their text before they are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kvcodemod.facts.headers import covering
from kvcodemod.facts.modules import Module
from kvcodemod.facts.program import Code, Program
from kvcodemod.facts.text import Text, any_within, span
from kvcodemod.tree.source import SourceError

_IMPORTED = re.compile(
    r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)", re.M
)
_NAME = re.compile(r"\w+")


class Matter:
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
        self._hits: dict[str, list[int]] = {}
        self.methods = frozenset(
            method.name
            for name in program.members
            for owner in program.order(name)
            if owner in program.table.classes
            for method in program.table.classes[owner].methods
        )
        self.entries: list[Code] = []
        self.names: frozenset[str] = frozenset()
        self._read()

    def _read(self) -> None:
        """Find the functions that can lead to a pool; parse no file without one.

        A function can if a word for pools stands in it, or if it calls one that can.
        """
        folders = self.program.names.entry_folders
        waiting = [
            path
            for path in self.program.tree.paths
            if path.partition("/")[2].startswith(folders)
        ]
        texts = {path: self._text(path) for path in waiting}
        found: set[tuple[str, int]] = set()
        names: set[str] = set()
        codes: list[Code] = []
        calls: dict[tuple[str, int], frozenset[str]] = {}
        helpers: set[str] = set()
        grown = True
        while grown:
            ready = [
                path
                for path in waiting
                if self._pattern.search(texts[path].text)
                or not names.isdisjoint(texts[path].called)
            ]
            waiting = [path for path in waiting if path not in ready]
            fresh: list[Code] = []
            for path in ready:
                module = self._module(path)
                if module is not None:
                    fresh.extend(outer_functions(self.program, module))
                    new = sorted(set(self._imported(module)) - helpers)
                    helpers.update(new)
                    for other in new:
                        fresh.extend(self._helpers(other))
            codes.extend(fresh)
            calls.update((code.key, self.calls(code)) for code in fresh)
            found.update(code.key for code in fresh if self.hit(code))
            grown = self._close(codes, calls, found, names) or bool(fresh)
        self.entries = [
            code
            for code in sorted(codes, key=lambda code: code.key)
            if code.key in found and code.path in texts
        ]
        self.names = frozenset(names)

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

    def _imported(self, module: Module) -> Iterator[str]:
        """The helpers' files from which a module imports something that it calls.

        A carrier's classes are used in annotations: its file always counts.
        """
        names = self.program.names
        text = self.program.text(module)
        for found in _IMPORTED.finditer(text.text):
            path = self.program.modules.path_of(f"{found[1]}.x")
            below = path.partition("/")[2] if path else ""
            called = not text.called.isdisjoint(_NAME.findall(found[2]))
            if path is not None and (
                below in names.carrier_files
                or (called and below.startswith(names.helper_folders))
            ):
                yield path

    def hit(self, code: Code) -> bool:
        """Whether a word that pools or allocators go by stands in a function."""
        path = code.path
        if path not in self._hits:
            text = self.program.text(code.module)
            self._hits[path] = text.lines_matching(self._pattern)
        return any_within(self._hits[path], *span(code.node))

    def calls(self, code: Code) -> frozenset[str]:
        """The names that a function calls, by its text."""
        return self.program.text(code.module).called_in(*span(code.node))

    def leads_on(self, code: Code) -> bool:
        """Whether it can be worth it to read a function that is called on a path."""
        return self.hit(code) or bool(self.calls(code) & self.names)


def outer_functions(program: Program, module: Module) -> Iterable[Code]:
    """Functions and methods; what is nested in a function is read along with it."""
    inside: list[tuple[int, int]] = []
    for code in program.functions(module):
        first, last = span(code.node)
        if inside and inside[-1][0] < first and last <= inside[-1][1]:
            continue
        inside.append((first, last))
        yield code
