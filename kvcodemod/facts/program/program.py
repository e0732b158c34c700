"""The tree as one program: pools and allocators, any class and function on demand."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from kvcodemod.config import Names
from kvcodemod.facts.classes.roles import Role, roles
from kvcodemod.facts.classes.table import ClassTable, add_order, bases_of
from kvcodemod.facts.classes.uses import Use, uses_of
from kvcodemod.facts.conditions.options import Options, located
from kvcodemod.facts.prefilter.scan import Scan
from kvcodemod.facts.program.helper_files import helper_files
from kvcodemod.facts.syntax.modules import Module, Modules
from kvcodemod.facts.syntax.parsing import Function
from kvcodemod.facts.syntax.scopes import Scope, Scopes
from kvcodemod.facts.syntax.text import Text, span
from kvcodemod.tree.source import SourceError, SourceTree


@dataclass(frozen=True, eq=False)
class Code:
    """One function with its place; `owner` is its class, or empty."""

    module: Module
    node: Function
    qualname: str
    owner: str

    @cached_property
    def path(self) -> str:
        """The file it stands in."""
        return self.module.path

    @property
    def symbol(self) -> str:
        """Its name inside the module: `Class.method` or `function`."""
        return self.qualname.removeprefix(f"{self.module.name}.")

    @cached_property
    def key(self) -> tuple[str, int]:
        """What tells it from every other function."""
        return (self.path, self.node.lineno)


class Program:
    """Everything that is known about a tree before any path is followed."""

    def __init__(
        self, tree: SourceTree, names: Names, scan: Scan | None = None
    ) -> None:
        """Parse the files that can define a pool or an allocator."""
        self.tree = tree
        self.names = names
        self.modules = Modules(tree)
        self._scan = scan or Scan(tree, names)
        self.entry_files = [
            path
            for path in tree.paths
            if path.partition("/")[2].startswith(names.entry_folders)
            or path.partition("/")[2] in names.glue_files
        ]
        self._texts: dict[str, Text] = {}
        self._parse_early()
        candidates = self._scan.candidates
        self._files = frozenset(candidates.files)
        self.parts = candidates.parts
        """Pieces of text one of which stands in every file that names a member."""
        self.near = frozenset(candidates.near)
        """Every file that names a member, and some others."""
        self._readable: dict[str, bool] = {}
        self.modules.may_read = self._may_read
        self.table = ClassTable(self.modules, candidates.files, candidates.names)
        self.pools = self._family(names.pool_bases)
        self.allocators = self._family(names.allocator_bases)
        self.members = frozenset((*self.pools, *self.allocators))
        self._scopes = Scopes()
        self._located: dict[int, tuple[Function, list[tuple[ast.stmt, Options]]]] = {}
        self._codes: dict[int, Code] = {}
        self._orders: dict[str, tuple[str, ...]] = {}
        self._methods: dict[tuple[str, str, str], Code | None] = {}
        self._definitions: dict[str, tuple[Module, ast.ClassDef | Function] | None] = {}

    def _parse_early(self) -> None:
        """Parse what is parsed in any case while the scan still goes on."""
        for path in (*self.entry_files, *self.helper_files):
            self.modules.try_get(path)
        for path in self._scan.sure:
            self.modules.try_get(path)

    @cached_property
    def helper_files(self) -> list[str]:
        """The helpers' files that the entry files lead to, sorted."""
        found: set[str] = set()
        for path in self.entry_files:
            with contextlib.suppress(SourceError):
                text = self.text_at(path)
                found.update(helper_files(self.modules, self.names, path, text))
        return sorted(found)

    @cached_property
    def startup_files(self) -> list[str]:
        """The files in which combinations of options are refused, sorted."""
        starts = self.names.startup_files
        return [p for p in self.tree.paths if p.partition("/")[2].startswith(starts)]

    def _may_read(self, path: str) -> bool:
        """Whether it is worth it to follow a name into a file."""
        if path not in self._readable:
            below = path.partition("/")[2]
            self._readable[path] = (
                self.of_interest(path)
                or below.startswith(self.names.helper_folders)
                or (path.endswith("/__init__.py") and path in self.near)
            )
        return self._readable[path]

    def of_interest(self, path: str) -> bool:
        """Whether the classes of a file matter: pools, entries and carriers."""
        below = path.partition("/")[2]
        return (
            path in self._files
            or below.startswith(self.names.entry_folders)
            or below in (*self.names.carrier_files, *self.names.glue_files)
        )

    def _family(self, bases: Iterable[str]) -> tuple[str, ...]:
        roots = set(bases)
        return tuple(
            sorted(
                name
                for name in self.table.classes
                if any(n.rpartition(".")[2] in roots for n in self.table.mro(name))
            )
        )

    @cached_property
    def uses(self) -> list[Use]:
        """Where pools and allocators are built or handed on."""
        lines, skipped = self._scan.lines, self.names.test_folders
        return uses_of(self.table, self.members, skipped, lines)

    @cached_property
    def roles(self) -> dict[str, Role]:
        """The role of every pool and allocator."""
        return roles(self.table, self.members, self.uses)

    @cached_property
    def held_pools(self) -> tuple[str, ...]:
        """The pools that a server can hold itself, sorted."""
        return tuple(name for name in self.pools if self.roles[name] == "pool")

    @cached_property
    def held_allocators(self) -> tuple[str, ...]:
        """The allocators that a server can hold itself, sorted."""
        return tuple(name for name in self.allocators if self.roles[name] == "pool")

    def is_root(self, name: str) -> bool:
        """Whether a class is the root of a hierarchy."""
        bare = name.rpartition(".")[2]
        return bare in (*self.names.pool_bases, *self.names.allocator_bases)

    def concrete(self, name: str) -> tuple[str, ...]:
        """The classes that a value annotated with a pool class can really be."""
        below = self.table.below(name)
        held = tuple(n for n in below if self.roles.get(n) == "pool")
        return held or tuple(n for n in below if self.roles.get(n) != "abstract")

    def scope(self, code: Code) -> Scope:
        """What a function binds, imports and calls."""
        return self._scopes.of(code.module, code.node)

    def text(self, module: Module) -> Text:
        """The text of a module, for searching."""
        return self.text_at(module.path)

    def text_at(self, path: str) -> Text:
        """The text of a file, for searching.

        Raises:
            SourceError: it cannot be read or decoded.
        """
        if path not in self._texts:
            self._texts[path] = Text(self.tree.text(path).text)
        return self._texts[path]

    def located(self, function: Function) -> list[tuple[ast.stmt, Options]]:
        """Every statement of a function with what holds there; read once."""
        key = id(function)
        if key not in self._located:
            self._located[key] = (function, list(located(function.body)))
        return self._located[key][1]

    def code(self, module: Module, node: Function, qualname: str, owner: str) -> Code:
        """The one `Code` of a function."""
        found = self._codes.get(id(node))
        if found is None:
            found = self._codes[id(node)] = Code(module, node, qualname, owner)
        return found

    def resolve(self, code: Code, name: str) -> str:
        """What a dotted name means inside a function."""
        return self.modules.resolve(code.module, name, self.scope(code).imports)

    def resolve_class(self, code: Code, name: str) -> str:
        """The same for a name in a type test; what no pool goes by stays as it is."""
        if name.rpartition(".")[2] not in self.table.names:
            head = self.scope(code).imports.get(name) or code.module.imports.get(name)
            if head is None or head.rpartition(".")[2] not in self.table.names:
                return name
        return self.resolve(code, name)

    def is_class(self, qualname: str) -> bool:
        """Whether the tree has such a class."""
        return self.class_of(qualname) is not None

    def class_of(self, qualname: str) -> tuple[Module, ast.ClassDef] | None:
        """The module and the syntax of a class of the tree, or None."""
        if qualname in self.table.classes:
            return self.table.node(qualname)
        found = self.definition(qualname)
        if found and isinstance(found[1], ast.ClassDef):
            return found[0], found[1]
        return None

    def definition(
        self, qualname: str
    ) -> tuple[Module, ast.ClassDef | Function] | None:
        """The class or function of a qualified name, or None outside the tree."""
        if qualname not in self._definitions:
            self._definitions[qualname] = self._definition(qualname)
        return self._definitions[qualname]

    def _definition(
        self, qualname: str
    ) -> tuple[Module, ast.ClassDef | Function] | None:
        parts = qualname.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            module = self.modules.named(".".join(parts[:cut]))
            if module is not None:
                node = module.names.get(".".join(parts[cut:]))
                return (module, node) if node is not None else None
        return None

    def order(self, qualname: str) -> tuple[str, ...]:
        """The C3 order of any class of the tree."""
        if qualname in self.table.classes:
            return self.table.mro(qualname)
        if qualname not in self._orders:
            add_order(qualname, self._bases_of, self._orders)
        return self._orders[qualname]

    def _bases_of(self, qualname: str) -> tuple[str, ...]:
        found = self.class_of(qualname)
        bases = bases_of(self.modules, *found) if found else ()
        for base in bases:
            if base in self.table.classes:
                self._orders[base] = self.table.mro(base)
        return bases

    def method(self, qualname: str, name: str, after: str = "") -> Code | None:
        """The method that an instance of the class gets; `after` as for super()."""
        key = (qualname, name, after)
        if key not in self._methods:
            self._methods[key] = self._method(qualname, name, after)
        return self._methods[key]

    def _method(self, qualname: str, name: str, after: str) -> Code | None:
        order = self.order(qualname)
        if after and after not in order:
            return None
        for owner in order[order.index(after) + 1 if after else 0 :]:
            if owner in self.table.classes:
                known = self.table.classes[owner].method(name)
                if known is not None:
                    node: ast.AST = self.table.function(known)
                    module, _ = self.table.node(owner)
                else:
                    continue
            else:
                found = self.definition(f"{owner}.{name}")
                if found is None:
                    continue
                module, node = found
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                return self.code(module, node, f"{owner}.{name}", owner)
        return None

    def function(self, qualname: str) -> Code | None:
        """The plain function of a qualified name, or None."""
        found = self.definition(qualname)
        return self._code_of(*found, qualname) if found else None

    def function_anywhere(self, qualname: str) -> Code | None:
        """The same, also in a file into which names are not followed otherwise."""
        path = self.modules.path_of(qualname)
        module = self.modules.try_get(path) if path else None
        if module is None:
            return None
        node = module.names.get(qualname.removeprefix(f"{module.name}."))
        return self._code_of(module, node, qualname) if node else None

    def _code_of(
        self, module: Module, node: ast.ClassDef | Function, qualname: str
    ) -> Code | None:
        if isinstance(node, ast.ClassDef):
            return None
        inner = qualname.removeprefix(f"{module.name}.").rpartition(".")[0]
        owner = inner if isinstance(module.names.get(inner), ast.ClassDef) else ""
        return self.code(
            module, node, qualname, f"{module.name}.{owner}" if owner else ""
        )

    def functions(self, module: Module) -> Iterable[Code]:
        """Every function of a module, methods included, in source order."""
        for name, node in module.names.items():
            code = self._code_of(module, node, f"{module.name}.{name}")
            if code is not None:
                yield code


def outer_functions(program: Program, module: Module) -> Iterable[Code]:
    """Functions and methods; what is nested in a function is read along with it."""
    inside: list[tuple[int, int]] = []
    for code in program.functions(module):
        first, last = span(code.node)
        if inside and inside[-1][0] < first and last <= inside[-1][1]:
            continue
        inside.append((first, last))
        yield code
