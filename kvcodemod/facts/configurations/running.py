"""Which code of the entry folders runs under which algorithm."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from kvcodemod.facts.program.program import Program
from kvcodemod.facts.syntax.modules import Module, Modules, imported

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_IMPORT = re.compile(
    rb"^([ \t]*)(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    rb"|import[ \t]+([\w.]+))",
    re.M,
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_COMMENT = re.compile(rb"#[^\n]*")


class Running:
    """Follows mentions: what a class or a function of the entry folders leads to.

    What a worker's code mentions can run when the worker does. What code elsewhere
    mentions can always run, but for the workers themselves: one of them is chosen.
    Annotations mention nothing.
    """

    def __init__(self, program: Program, modules: Modules, factory: str) -> None:
        """`factory` is the method that chooses the worker; it leads nowhere."""
        self.program = program
        self.modules = modules
        self.factory = factory
        self._leads: dict[str, frozenset[str]] = {}

    @cached_property
    def known(self) -> dict[str, tuple[Module, ast.AST]]:
        """The classes and plain functions of the entry folders."""
        found: dict[str, tuple[Module, ast.AST]] = {}
        folders = self.program.names.entry_folders
        for path in self.program.entry_files:
            if not path.partition("/")[2].startswith(folders):
                continue
            module = self.modules.try_get(path)
            for name, node in module.names.items() if module else ():
                if "." not in name and module is not None:
                    found[f"{module.name}.{name}"] = (module, node)
        return found

    @cached_property
    def outside(self) -> frozenset[str]:
        """What code outside the entry folders imports, but for annotations."""
        names = self.program.names
        inside = {p for p in self.program.entry_files if self._in_entries(p)}
        found: set[str] = set()
        for path in self.modules.tree.paths:
            if path in inside or self._below(path).startswith(names.test_folders):
                continue
            data = self.modules.tree.data(path)
            if any(folder in data for folder in self._folders):
                for home, words in _imports(data, self._folders):
                    whole = {f"{home}.{word}" for word in words}
                    found |= whole & self.known.keys()
                    # `from entry import module` can lead to all that is in it
                    found |= {
                        name
                        for name in self.known
                        if name.rpartition(".")[0] in whole | {home}
                        and (not words or name.rpartition(".")[0] in whole)
                    }
        return frozenset(found)

    def _below(self, path: str) -> str:
        return path.partition("/")[2]

    def _in_entries(self, path: str) -> bool:
        return self._below(path).startswith(self.program.names.entry_folders)

    @cached_property
    def _folders(self) -> tuple[bytes, ...]:
        """The entry folders as they stand in an import."""
        folders = self.program.names.entry_folders
        return tuple(f.strip("/").replace("/", ".").encode() for f in folders)

    def leads_to(self, qualname: str) -> frozenset[str]:
        """What a class or a function mentions, of the entry folders."""
        if qualname not in self._leads:
            module, node = self.known[qualname]
            self._leads[qualname] = frozenset(self._mentioned(module, node))
        return self._leads[qualname]

    def _mentioned(self, module: Module, node: ast.AST) -> set[str]:
        found: set[str] = set()
        local: dict[str, str] = {}
        names: set[str] = set()
        todo: list[ast.AST] = [node]
        while todo:
            part = todo.pop()
            if isinstance(part, _FUNCTIONS) and part.name == self.factory:
                continue
            if isinstance(part, ast.Import | ast.ImportFrom):
                for name, full in imported(module, part):
                    local.setdefault(name, full)
            elif isinstance(part, ast.Name):
                names.add(part.id)
            for field, value in ast.iter_fields(part):
                if field in ("annotation", "returns"):
                    continue
                values = value if isinstance(value, list) else [value]
                todo.extend(v for v in values if isinstance(v, ast.AST))
        for name in names:
            full = local.get(name) or module.imports.get(name) or ""
            if full and full not in self.known and not self._passes(full):
                continue  # it leads out of the entry folders
            full = self.modules.resolve(module, name, local)
            if full in self.known:
                found.add(full)
        return found

    def _passes(self, full: str) -> bool:
        """Whether an import can stand for something of the entry folders."""
        path = self.modules.path_of(full)
        return path is not None and (
            self._in_entries(path) or path.endswith("/__init__.py")
        )

    def under(self, workers: frozenset[str], every: frozenset[str]) -> frozenset[str]:
        """What can run when one of some workers does; `every` are all of them."""
        todo = [*workers, *(self.outside - every)]
        found: set[str] = set()
        while todo:
            name = todo.pop()
            if name in found or name not in self.known:
                continue
            found.add(name)
            todo.extend(self.leads_to(name))
            todo.extend(b for b in self.program.order(name) if b in self.known)
        return frozenset(found)


def _imports(
    data: bytes, folders: tuple[bytes, ...]
) -> Iterator[tuple[str, frozenset[str]]]:
    """(module, names) of the imports from some packages that are there at run time."""
    for match in _IMPORT.finditer(data):
        home = match[2] or match[4]
        if any(folder in home for folder in folders) and not _for_types(data, match):
            listed = _COMMENT.sub(b"", match[3] or b"")
            yield home.decode(), frozenset(w.decode() for w in _WORD.findall(listed))


def _for_types(data: bytes, match: re.Match[bytes]) -> bool:
    """Whether an import stands below `if TYPE_CHECKING:`."""
    indent = len(match[1])
    end = match.start()
    while indent and end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        line = data[start:end]
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth < indent:
            return b"TYPE_CHECKING" in line
        end = start
    return False
