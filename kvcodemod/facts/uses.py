"""Where a class is built or passed on as a value: who can come to hold an instance."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kvcodemod.facts.bodies import walk_own
from kvcodemod.facts.classes import ClassTable
from kvcodemod.facts.headers import files_naming
from kvcodemod.facts.modules import Function, Module, Modules, dotted, imported
from kvcodemod.tree.source import SourceError

_NO_USE = frozenset({"isinstance", "issubclass", "cast", "type", "super"})
"""Calls whose arguments are types to test against, not to build."""


@dataclass(frozen=True)
class Use:
    """One place where a class is called, or handed on as a value.

    Attributes:
        name: the qualified name of the class.
        owner: the qualified name of the class whose body it stands in, or "".
        function: the qualified name of the function it stands in, or "".
        built: whether it is called there.
        flags: identifiers in the conditions of the function that lead there.
    """

    name: str
    path: str
    line: int
    owner: str
    function: str
    built: bool
    flags: frozenset[str]


def uses_of(
    table: ClassTable, names: Iterable[str], skipped: tuple[str, ...] = ()
) -> list[Use]:
    """Every use of the classes as values, in order of path and line.

    Type tests, annotations, bases and keys of a dispatch table are no uses. Files
    below the `skipped` folders of the package (its tests) do not count. Files that
    do not parse are noted in `table.broken`.
    """
    wanted = frozenset(names)
    bare = frozenset(name.rpartition(".")[2] for name in wanted)
    found: list[Use] = []
    for path in _files(table.modules, bare, skipped):
        try:
            module = table.modules.get(path)
        except SourceError as error:
            if error not in table.broken:
                table.broken.append(error)
            continue
        found.extend(_Walk(table.modules, module, wanted, bare).uses())
    return sorted(found, key=lambda use: (use.path, use.line, use.name))


_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]*(?:\([^()]*\)|[^\n]*)", re.M
)
_COMMENT = re.compile(rb"#[^\n\"']*$", re.M)


def _files(
    modules: Modules, bare: frozenset[str], skipped: tuple[str, ...]
) -> Iterator[str]:
    """The files in whose text a name may stand as a value: a superset."""
    inner = b"(?:" + b"|".join(re.escape(n.encode()) for n in sorted(bare)) + b")"
    noise = re.compile(
        rb"\bisinstance\([^()]*(?:\([^()]*\)[^()]*)?\)"
        rb"|(?:->|\w[ \t]*:)[ \t]*(?:[\w.]+\[)?(?:[\w]+\.)*" + inner + rb"\b"
        rb"|\bclass[ \t]+\w+[ \t]*\([^)]*\)"
    )
    value = re.compile(rb"(?<![\w\"'`])" + inner + rb"(?![\w\"'`])")
    renamed = re.compile(rb"\b" + inner + rb"[ \t]+as[ \t]+\w")
    for path in files_naming(modules.tree, bare):
        below = path.partition("/")[2]
        if below.startswith(skipped):
            continue
        data = modules.tree.data(path)
        rest = noise.sub(b"", _COMMENT.sub(b"", _IMPORT.sub(b"", data)))
        if value.search(rest) or renamed.search(data):
            yield path


@dataclass(frozen=True)
class _Place:
    """Where the walk stands."""

    scope: str
    owner: str = ""
    function: str = ""
    called: bool = False
    flags: frozenset[str] = frozenset()


class _Walk:
    def __init__(
        self,
        modules: Modules,
        module: Module,
        wanted: frozenset[str],
        bare: frozenset[str],
    ) -> None:
        self.modules = modules
        self.module = module
        self.wanted = wanted
        self.imports: dict[str, dict[str, str]] = {}
        self.known = bare | {
            name
            for name, full in module.imports.items()
            if full.rpartition(".")[2] in bare
        }

    def uses(self) -> Iterator[Use]:
        """Walk the file, keeping class, function and conditions."""
        todo: list[tuple[ast.AST, _Place]] = [
            (self.module.tree, _Place(self.module.name))
        ]
        while todo:
            node, place = todo.pop()
            if isinstance(node, ast.Name | ast.Attribute):
                name = self._meant(node, place)
                if name:
                    yield Use(
                        name=name,
                        path=self.module.path,
                        line=node.lineno,
                        owner=place.owner,
                        function=place.function,
                        built=place.called,
                        flags=place.flags,
                    )
                elif isinstance(node, ast.Attribute):
                    todo.append((node.value, replace(place, called=False)))
                continue
            todo.extend(reversed(list(self._children(node, place))))

    def _meant(self, node: ast.Name | ast.Attribute, place: _Place) -> str | None:
        local = self.imports.get(place.function, {})
        last = node.attr if isinstance(node, ast.Attribute) else node.id
        if last not in self.known and last not in local:
            return None
        name = dotted(node)
        full = self.modules.resolve(self.module, name, local) if name else None
        return full if full in self.wanted else None

    def _children(
        self, node: ast.AST, place: _Place
    ) -> Iterator[tuple[ast.AST, _Place]]:
        place = replace(place, called=False)
        if isinstance(node, ast.ClassDef):
            name = f"{place.scope}.{node.name}"
            inner = replace(place, scope=name, owner=name)
            yield from ((child, inner) for child in node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((child, place) for child in node.args.defaults)
            yield from ((c, place) for c in node.args.kw_defaults if c is not None)
            yield from self._function(node, place)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            inner = replace(place, flags=place.flags | identifiers(node.test))
            yield node.test, place
            body = node.body if isinstance(node.body, list) else [node.body]
            orelse = node.orelse if isinstance(node.orelse, list) else [node.orelse]
            yield from ((child, inner) for child in body)
            yield from ((child, place) for child in orelse)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield node.value, place
        elif isinstance(node, ast.Call):
            if dotted(node.func) not in _NO_USE:
                yield node.func, replace(place, called=True)
                yield from ((child, place) for child in node.args)
                yield from ((child.value, place) for child in node.keywords)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set) and not place.function:
            return  # a module's tuple of classes is there for isinstance()
        elif isinstance(node, ast.Dict):
            yield from ((child, place) for child in node.values)
        elif not isinstance(node, ast.Compare | ast.Import | ast.ImportFrom):
            yield from ((child, place) for child in ast.iter_child_nodes(node))

    def _function(
        self, node: Function, place: _Place
    ) -> Iterator[tuple[ast.AST, _Place]]:
        name = f"{place.scope}.{node.name}"
        local = dict(self.imports.get(place.function, {}))
        for child in walk_own(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                local.update(imported(self.module, child))
        self.imports[name] = local
        inner = replace(place, scope=name, function=name, flags=frozenset())
        yield from ((child, inner) for child in node.body)


def identifiers(node: ast.AST) -> frozenset[str]:
    """Every name and attribute name in an expression."""
    return frozenset(
        child.attr if isinstance(child, ast.Attribute) else child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Attribute | ast.Name)
    )
