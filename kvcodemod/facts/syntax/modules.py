"""Parsed modules and what their names mean: imports, aliases, re-exports, scopes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kvcodemod.facts.syntax.parsing import Function, dotted, module_name, parse
from kvcodemod.tree.source import SourceError, SourceTree

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass
class Module:
    """One parsed file.

    Attributes:
        imports: local name -> dotted name, for imports outside functions, wherever
            they stand (in `if TYPE_CHECKING:`, in `try:`).
        names: qualified name inside the module (`Class.method`) -> its node, for
            classes and functions, nested and conditional ones included; where a name
            is bound more than once the first binding wins, as a fallback is last.
        aliases: module-level `A = B` and `A = B.c` assignments.
    """

    path: str
    name: str
    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)
    names: dict[str, ast.ClassDef | Function] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    def classes(self) -> Iterator[tuple[str, ast.ClassDef]]:
        """The classes with their qualified names inside the module."""
        for name, node in self.names.items():
            if isinstance(node, ast.ClassDef):
                yield name, node


def index(path: str, text: str) -> Module:
    """Parse a file and index its names.

    Raises:
        SourceError: the file does not parse.
    """
    module = Module(path, module_name(path), parse(path, text))
    _index_block(module, module.tree.body, "")
    return module


def _index_block(module: Module, block: list[ast.stmt], prefix: str) -> None:
    """Walk statements without recursion into expressions; `prefix` ends with a dot."""
    todo: list[tuple[ast.AST, str, bool]] = []
    todo.extend((s, prefix, False) for s in reversed(block))
    while todo:
        node, scope, local = todo.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = scope + node.name
            module.names.setdefault(name, node)
            inner = local or not isinstance(node, ast.ClassDef)
            todo.extend((s, f"{name}.", inner) for s in reversed(node.body))
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            if not local:
                for name, target in imported(module, node):
                    module.imports.setdefault(name, target)
                if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                    module.stars.append(import_base(module, node))
            continue
        if isinstance(node, ast.Assign) and not scope and not local:
            target_name = dotted(node.value)
            for bound in node.targets:
                if target_name and isinstance(bound, ast.Name):
                    module.aliases.setdefault(bound.id, target_name)
            continue
        for attribute in _BLOCKS:
            children = getattr(node, attribute, ())
            if isinstance(children, list):
                todo.extend((child, scope, local) for child in reversed(children))


def import_base(module: Module, node: ast.ImportFrom) -> str:
    """The dotted name of the module that a `from X import ...` names."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    if not module.path.endswith("/__init__.py"):
        parts = parts[:-1]
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def imported(
    module: Module, node: ast.Import | ast.ImportFrom
) -> Iterator[tuple[str, str]]:
    """The local names that an import binds and what each stands for."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            name = alias.asname or alias.name.partition(".")[0]
            yield name, alias.name if alias.asname else name
        elif alias.name != "*":
            base = import_base(module, node)
            yield alias.asname or alias.name, f"{base}.{alias.name}"


class Modules:
    """Modules of a tree, parsed on demand and once."""

    def __init__(self, tree: SourceTree) -> None:
        """Nothing is parsed yet."""
        self.tree = tree
        self.may_read: Callable[[str], bool] | None = None
        """Which files a name may be followed into; without it, all of them."""
        self._paths = {module_name(path): path for path in tree.paths}
        self._modules: dict[str, Module | SourceError] = {}

    def get(self, path: str) -> Module:
        """The parsed file.

        Raises:
            SourceError: it cannot be read, decoded or parsed.
        """
        if path not in self._modules:
            key = ("module", path)
            if key not in self.tree.made:
                try:
                    self.tree.made[key] = index(path, self.tree.text(path).text)
                except SourceError as error:
                    self.tree.made[key] = error
            self._modules[path] = self.tree.made[key]
        found = self._modules[path]
        if isinstance(found, SourceError):
            raise found
        return found

    @property
    def read(self) -> frozenset[str]:
        """The files that have been asked for so far."""
        return frozenset(self._modules)

    def named(self, name: str) -> Module | None:
        """The module of a dotted name, or None where the tree has no readable one."""
        path = self._paths.get(name)
        if path is None:
            return None
        if path not in self._modules and self.may_read and not self.may_read(path):
            return None
        return self.try_get(path)

    def try_get(self, path: str) -> Module | None:
        """The parsed file, or None where it cannot be read, decoded or parsed."""
        try:
            return self.get(path)
        except SourceError:
            return None

    def path_of(self, full: str) -> str | None:
        """The file that a qualified name leads into, or None outside the tree."""
        parts = full.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            path = self._paths.get(".".join(parts[:cut]))
            if path is not None:
                return path
        return None

    def resolve(
        self, module: Module, name: str, local: dict[str, str] | None = None
    ) -> str:
        """What a dotted name means in a module, as a qualified name.

        Follows imports, aliases, re-exports and `import *`; where the trail leaves
        the tree, the last name on it is the answer. `local` are imports of the
        function that the name stands in.
        """
        seen: set[tuple[str, str]] = set()
        while (module.name, name) not in seen:
            seen.add((module.name, name))
            head, _, rest = name.partition(".")
            if local and head in local:
                full = local[head] + (f".{rest}" if rest else "")
                local = None
            elif name in module.names or head in module.names:
                return f"{module.name}.{name}"
            elif head in module.imports:
                full = module.imports[head] + (f".{rest}" if rest else "")
            elif head in module.aliases:
                name = module.aliases[head] + (f".{rest}" if rest else "")
                continue
            else:
                starred = self._through_star(module, name)
                if starred is None:
                    return f"{module.name}.{name}"
                full = starred
            owner = self._owner(full)
            if owner is None:
                return full
            module, name = owner
            if not name:
                return full
        return f"{module.name}.{name}"

    def _owner(self, full: str) -> tuple[Module, str] | None:
        """Split a dotted name into the longest module of the tree and the rest."""
        parts = full.split(".")
        for cut in range(len(parts), 0, -1):
            found = self.named(".".join(parts[:cut]))
            if found is not None:
                return found, ".".join(parts[cut:])
        return None

    def _through_star(self, module: Module, name: str) -> str | None:
        head = name.partition(".")[0]
        for base in module.stars:
            source = self.named(base)
            if source is not None and (head in source.names or head in source.imports):
                return f"{base}.{name}"
        return None
