"""Which functions can matter for a path, told from their text before they are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kvcodemod.facts.headers import covering
from kvcodemod.facts.modules import Module
from kvcodemod.facts.program import Code, Program
from kvcodemod.facts.text import Marks, span
from kvcodemod.tree.source import SourceError

_IMPORTED = re.compile(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import\b", re.M)


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
        self._hits: dict[str, Marks] = {}
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
        entries: list[Code] = []
        helpers: set[str] = set()
        for path in self.program.tree.paths:
            if path.partition("/")[2].startswith(self.program.names.entry_folders):
                module = self._module(path)
                if module is not None:
                    entries.extend(outer_functions(self.program, module))
                    helpers.update(self._imported(module))
        others = [
            code
            for path in sorted(helpers)
            for module in [self._module(path)]
            if module is not None
            for code in outer_functions(self.program, module)
            if not code.node.name.startswith("__")
        ]
        every = [*entries, *others]
        called = {code.key: self.calls(code) for code in every}
        found = {code.key for code in every if self.hit(code)}
        names = {code.node.name for code in every if code.key in found}
        grown = True
        while grown:
            grown = False
            for code in every:
                if code.key not in found and called[code.key] & names:
                    found.add(code.key)
                    if not code.node.name.startswith("__"):
                        grown |= code.node.name not in names
                        names.add(code.node.name)
        self.entries = [code for code in entries if code.key in found]
        self.names = frozenset(name for name in names if not name.startswith("__"))

    def _module(self, path: str) -> Module | None:
        try:
            return self.program.modules.get(path)
        except SourceError as error:
            self.broken.append(error)
            return None

    def _imported(self, module: Module) -> Iterator[str]:
        """The helper and carrier files that a module imports from."""
        names = self.program.names
        for found in _IMPORTED.finditer(self.program.text(module).text):
            path = self.program.modules.path_of(f"{found[1]}.x")
            below = path.partition("/")[2] if path else ""
            if below.startswith(names.helper_folders) or below in names.carrier_files:
                assert path is not None
                yield path

    def hit(self, code: Code) -> bool:
        """Whether a word that pools or allocators go by stands in a function."""
        path = code.path
        if path not in self._hits:
            self._hits[path] = self.program.text(code.module).marks(self._pattern)
        return self._hits[path].any(*span(code.node))

    def calls(self, code: Code) -> frozenset[str]:
        """The names that a function calls, by its text."""
        return self.program.text(code.module).calls.within(*span(code.node))

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
