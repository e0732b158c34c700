"""Where a class is built or passed on as a value: who can come to hold an instance."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kvcodemod.facts.classes.table import ClassTable
from kvcodemod.facts.conditions.options import Options, options_of, passed
from kvcodemod.facts.prefilter.value_lines import lines_of_values
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.expressions import identifiers
from kvcodemod.facts.syntax.modules import Module, Modules, imported
from kvcodemod.facts.syntax.parsing import Function, dotted
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
        options: the conditions on options that hold there.
    """

    name: str
    path: str
    line: int
    owner: str
    function: str
    built: bool
    flags: frozenset[str]
    options: Options


def uses_of(
    table: ClassTable,
    names: Iterable[str],
    skipped: tuple[str, ...] = (),
    lines: Mapping[str, list[int]] | None = None,
) -> list[Use]:
    """Every use of the classes as values, in order of path and line.

    Type tests, annotations, bases and keys of a dispatch table are no uses. Files
    below the `skipped` folders of the package (its tests) do not count. Files that
    do not parse are noted in `table.broken`. `lines` is what `lines_of_values` gave.
    """
    wanted = frozenset(names)
    bare = frozenset(name.rpartition(".")[2] for name in wanted)
    found: list[Use] = []
    if lines is None:
        lines = lines_of_values(table.modules.tree, bare, skipped)
    for path, numbers in lines.items():
        try:
            module = table.modules.get(path)
        except SourceError as error:
            if error not in table.broken:
                table.broken.append(error)
            continue
        found.extend(_Walk(table.modules, module, wanted, bare, numbers).uses())
    return sorted(found, key=lambda use: (use.path, use.line, use.name))


@dataclass(frozen=True)
class _Place:
    """Where the walk stands."""

    scope: str
    owner: str = ""
    function: str = ""
    called: bool = False
    flags: frozenset[str] = frozenset()
    options: Options = ()


class _Walk:
    def __init__(
        self,
        modules: Modules,
        module: Module,
        wanted: frozenset[str],
        bare: frozenset[str],
        lines: list[int],
    ) -> None:
        self.lines = lines
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
            if isinstance(node, ast.stmt) and not self._holds(node):
                continue
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
                        options=place.options,
                    )
                elif not isinstance(node, ast.Name) and not dotted(node):
                    assert isinstance(node, ast.Attribute)
                    todo.append((node.value, replace(place, called=False)))
                continue
            todo.extend(reversed(list(self._children(node, place))))

    def _holds(self, node: ast.stmt) -> bool:
        """Whether one of the lines of interest stands in a statement."""
        low = bisect_left(self.lines, node.lineno)
        return low < len(self.lines) and self.lines[low] <= (node.end_lineno or 0)

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
            yield node.test, place
            true, false = options_of(node.test)
            flags = place.flags | identifiers(node.test)
            yes = replace(place, flags=flags, options=(*place.options, *true))
            no = replace(place, options=(*place.options, *false))
            if isinstance(node, ast.IfExp):
                yield node.body, yes
                yield node.orelse, no
            else:
                yield from self._block(node.body, yes)
                yield from self._block(node.orelse, no)
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
        inner = replace(place, scope=name, function=name, flags=frozenset(), options=())
        yield from self._block(node.body, inner)

    def _block(
        self, body: list[ast.stmt], place: _Place
    ) -> Iterator[tuple[ast.AST, _Place]]:
        for statement in body:
            yield statement, place
            known = passed(statement)
            if known:
                place = replace(place, options=(*place.options, *known))
