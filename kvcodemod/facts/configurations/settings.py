"""The options of a server as the tree declares them: default, domain, flag, place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from kvcodemod.config import Names
from kvcodemod.facts.configurations.values import (
    EITHER,
    NONE,
    UNKNOWN,
    Value,
    const,
    join,
)
from kvcodemod.facts.syntax.bodies import walk_all
from kvcodemod.facts.syntax.modules import Module, Modules
from kvcodemod.facts.syntax.parsing import dotted


@dataclass(frozen=True)
class Setting:
    """One option.

    Attributes:
        default: what it is where nobody sets it.
        domain: what it can be set to; unknown where that is open.
        flag: how it is typed, `--page-size`.
        number: whether it is a whole number.
    """

    name: str
    default: Value
    domain: Value
    flag: str
    path: str
    line: int
    number: bool = False


class Settings:
    """Every option, from the settings class and the namespaces that it is made of.

    Read from annotated fields (`page_size: Optional[int] = None`); the choices also
    from a parser's `add_argument("--page-size", choices=...)`.
    """

    def __init__(self, modules: Modules, names: Names) -> None:
        """Nothing is read yet."""
        self.modules = modules
        self.names = names
        self.generators: dict[int, bool] = {}
        """Which functions of the tree are generators, as far as was asked."""

    @cached_property
    def files(self) -> list[str]:
        """The files in which start-up is written, sorted."""
        starts = self.names.startup_files
        paths = self.modules.tree.paths
        return [p for p in paths if p.partition("/")[2].startswith(starts)]

    @cached_property
    def home(self) -> tuple[Module, str] | None:
        """The settings class, with its module."""
        needle = f"class {self.names.settings_class}".encode()
        for path in self.files:
            if needle in self.modules.tree.data(path):
                module = self.modules.try_get(path)
                if module and self.names.settings_class in module.names:
                    return module, self.names.settings_class
        return None

    @cached_property
    def all(self) -> dict[str, Setting]:
        """Option name -> option."""
        found: dict[str, Setting] = {}
        for module, node in self._classes():
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(
                    statement.target, ast.Name
                ):
                    setting = self._setting(module, statement, statement.target.id)
                    found.setdefault(setting.name, setting)
        return found

    def _classes(self) -> Iterator[tuple[Module, ast.ClassDef]]:
        if self.home is None:
            return
        module, name = self.home
        node = module.names[name]
        if isinstance(node, ast.ClassDef):
            yield module, node
        folders = self.names.settings_folders
        for path in self.files:
            if path.partition("/")[2].startswith(folders):
                other = self.modules.try_get(path)
                for _, found in other.classes() if other else ():
                    yield other, found  # type: ignore[misc]

    @cached_property
    def _chosen(self) -> dict[str, Value]:
        """The choices that a parser names, by flag."""
        found: dict[str, Value] = {}
        if self.home is None:
            return found
        module = self.home[0]
        for node in walk_all(module.tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "add_argument"
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and isinstance(node.args[0].value, str)
            ):
                for keyword in node.keywords:
                    if keyword.arg == "choices":
                        found[node.args[0].value] = self._items(module, keyword.value)
        return found

    def _setting(self, module: Module, node: ast.AnnAssign, name: str) -> Setting:
        default = self._constant(module, node.value) if node.value else UNKNOWN
        flag = f"--{name.replace('_', '-')}"
        domain = self._chosen.get(flag, UNKNOWN)
        kind = node.annotation
        if isinstance(kind, ast.Subscript) and isinstance(kind.slice, ast.Tuple):
            head = (dotted(kind.value) or "").rpartition(".")[2]
            if head in ("A", "Annotated"):
                for call in kind.slice.elts[1:]:
                    for keyword in call.keywords if isinstance(call, ast.Call) else ():
                        if keyword.arg == "choices":
                            domain = self._items(module, keyword.value)
                        if keyword.arg == "cli_name" and isinstance(
                            keyword.value, ast.Constant
                        ):
                            flag = str(keyword.value.value)
                kind = kind.slice.elts[0]
        by_kind = self._of_kind(kind)
        if by_kind.known and not domain.known:
            domain = by_kind
        if domain.known:
            domain = join((domain, default)) if default.known else domain
        number = "int" in {dotted(n) for n in walk_all(kind) if isinstance(n, ast.Name)}
        return Setting(name, default, domain, flag, module.path, node.lineno, number)

    def _of_kind(self, node: ast.expr) -> Value:
        """What an annotation says: `bool`, `Optional[bool]`, `Literal["a", "b"]`."""
        if isinstance(node, ast.Constant) and node.value is None:
            return NONE
        if isinstance(node, ast.BinOp):
            return join((self._of_kind(node.left), self._of_kind(node.right)))
        if isinstance(node, ast.Subscript):
            head = (dotted(node.value) or "").rpartition(".")[2]
            if head == "Optional":
                return join((self._of_kind(node.slice), NONE))
            if head == "Literal":
                items = (
                    node.slice.elts
                    if isinstance(node.slice, ast.Tuple)
                    else [node.slice]
                )
                return join(
                    const(i.value)  # type: ignore[arg-type]
                    if isinstance(i, ast.Constant)
                    else UNKNOWN
                    for i in items
                )
            return UNKNOWN
        return EITHER if dotted(node) == "bool" else UNKNOWN

    def _items(self, module: Module, node: ast.expr) -> Value:
        """The items of a list of constants, or of a name that stands for one."""
        found = self._literal(module, node)
        if isinstance(found, ast.List | ast.Tuple | ast.Set) and all(
            isinstance(item, ast.Constant) for item in found.elts
        ):
            # choices that are not closed are appended to elsewhere (plugins)
            return join(self._constant(module, item) for item in found.elts)
        return UNKNOWN

    def _constant(self, module: Module, node: ast.expr) -> Value:
        found = self._literal(module, node)
        if isinstance(found, ast.Constant) and not isinstance(found.value, complex):
            return UNKNOWN if found.value is ... else const(found.value)
        if isinstance(found, ast.UnaryOp) and isinstance(found.op, ast.USub):
            inner = found.operand
            if isinstance(inner, ast.Constant) and isinstance(inner.value, int | float):
                return const(-inner.value)
        return UNKNOWN

    def _literal(self, module: Module, node: ast.expr, left: int = 4) -> ast.expr:
        """What a name of a module stands for, where it is assigned once."""
        name = dotted(node)
        if name is None or left == 0:
            return node
        full = self.modules.resolve(module, name)
        home, _, bare = full.rpartition(".")
        other = self.modules.named(home)
        for statement in other.tree.body if other else ():
            targets: list[ast.expr] = []
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            elif isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            else:
                continue
            if statement.value and any(dotted(t) == bare for t in targets):
                assert other is not None
                return self._literal(other, statement.value, left - 1)
        return node
