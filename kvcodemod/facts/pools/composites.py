"""Composite pools: which sub-pools a class builds, of which classes, with what flag."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from kvcodemod.config import Names
from kvcodemod.facts.classes.table import ClassTable, Method, own_functions
from kvcodemod.facts.pools.builds import Build, Composite, SubPool
from kvcodemod.facts.prefilter.class_headers import files_naming
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.expressions import (
    branches,
    calls,
    defaults,
    is_none,
    is_super_call,
    passed,
)
from kvcodemod.facts.syntax.modules import Module
from kvcodemod.facts.syntax.parsing import Function, dotted, lines_of
from kvcodemod.facts.syntax.scopes import Scope, Scopes, assignments
from kvcodemod.tree.source import SourceError


class Composites:
    """Finds composite pools and every place that constructs them."""

    def __init__(self, table: ClassTable, pools: tuple[str, ...], names: Names) -> None:
        """`table` and `pools` as `pool_table` gives them."""
        self.table = table
        self.pools = frozenset(pools)
        self.names = names
        self.broken: list[SourceError] = []
        self._scopes = Scopes()

    def all(self) -> Iterator[Composite]:
        """Every pool class that builds at least one pool, sorted by name."""
        for qualname in sorted(self.pools):
            found = self.of(qualname)
            if found.sub_pools:
                yield found

    def waiting(self, named: Iterable[str] = ()) -> Iterator[Composite]:
        """Composites whose own move raises for want of the flag, sorted by name.

        A class whose bare name is in `named` needs no more than a move that raises.
        """
        for qualname in sorted(self.pools):
            cls = self.table.classes[qualname]
            move = cls.method(self.names.move)
            if move is None or move.verdict != "raises":
                continue
            module, _ = self.table.node(qualname)
            if self._waits(module, move) or cls.name in named:
                yield self.of(qualname)

    def of(self, qualname: str) -> Composite:
        """What one class builds; `sub_pools` is empty where it builds nothing."""
        cls = self.table.classes[qualname]
        module, node = self.table.node(qualname)
        functions = list(own_functions(node))
        params: dict[str, set[str]] = {}
        unclear: list[tuple[str, int, str]] = []
        init = next((f for f in functions if f.name == "__init__"), None)
        if init is not None and _assigns_calls(init, self._param_names(init)):
            params, unclear = self._class_params(qualname, init)
        sub_pools = self._sub_pools(module, qualname, functions, params, unclear)
        move = cls.method(self.names.move)
        return Composite(
            cls=cls,
            sub_pools=tuple(sub_pools),
            move=move,
            class_params=tuple((k, tuple(sorted(v))) for k, v in params.items()),
            unclear=tuple(unclear),
        )

    def sites(self, family: Iterable[str]) -> list[Build]:
        """Every call in the tree that constructs one of the classes, in order.

        Calls of `super().__init__` are not constructions. Files that name a class of
        the family and do not parse are noted in `broken`.
        """
        wanted = frozenset(family)
        found = [
            self._build(module, name, call, classes)
            for module, name, _, call, classes in self._constructions(wanted)
        ]
        return sorted(found, key=lambda build: (build.path, build.line))

    def _constructions(
        self, wanted: frozenset[str]
    ) -> Iterator[tuple[Module, str, Function, ast.Call, set[str]]]:
        bare = frozenset(name.rpartition(".")[2] for name in wanted)
        for path in files_naming(self.table.modules.tree, bare):
            try:
                module = self.table.modules.get(path)
            except SourceError as error:
                if error not in self.broken:
                    self.broken.append(error)
                continue
            called = bare | {
                local
                for local, full in module.imports.items()
                if full.rpartition(".")[2] in bare
            }
            text = self.table.modules.tree.text(path).text
            lines = _lines_naming(text, called)
            for name, function in _functions(module):
                first = bisect_left(lines, function.lineno)
                last = bisect_left(lines, (function.end_lineno or 0) + 1)
                if first == last:
                    continue
                for call in self._scopes.of(module, function).calls:
                    classes = self._stands_for(module, function, call.func, {})
                    if classes & wanted:
                        yield module, name, function, call, classes

    def _waits(self, module: Module, move: Method) -> bool:
        if move.verdict != "raises":
            return False
        text = self.table.modules.tree.text(module.path).text
        lines = lines_of(text)[move.line - 1 : move.end_line]
        return any(self.names.flag in line for line in lines)

    def _param_names(self, init: Function) -> set[str]:
        spec = init.args
        return {a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]}

    def _class_params(
        self, qualname: str, init: Function
    ) -> tuple[dict[str, set[str]], list[tuple[str, int, str]]]:
        """Parameters that are called in `init`, and every pool class given for them."""
        module, _ = self.table.node(qualname)
        called = {
            call.func.id
            for call in walk_own(init)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        } & self._param_names(init)
        result: dict[str, set[str]] = {}
        unclear: list[tuple[str, int, str]] = []
        for name, default in defaults(init):
            if name in called and default is not None:
                classes = self._stands_for(module, None, default, {})
                if classes & self.pools:
                    result[name] = set(classes)
        order = [a.arg for a in [*init.args.posonlyargs, *init.args.args]][1:]
        for where, function, call in self._init_calls(qualname):
            for name, value in passed(call, order):
                if name not in called:
                    continue
                classes = self._stands_for(where, function, value, {})
                if isinstance(value, ast.Name) and value.id == name and not classes:
                    continue  # a subclass hands its own parameter on
                if not classes & self.pools:
                    unclear.append(
                        (
                            where.path,
                            value.lineno,
                            f"cannot tell which class `{name}` is",
                        )
                    )
                result.setdefault(name, set()).update(classes & self.pools)
        return result, unclear

    def _init_calls(self, qualname: str) -> Iterator[tuple[Module, Function, ast.Call]]:
        """Calls that reach the class's `__init__`: subclasses' super() and sites."""
        family = self.table.below(qualname)
        for below in family:
            if below == qualname:
                continue
            module, node = self.table.node(below)
            for function in own_functions(node):
                for call in self._scopes.of(module, function).calls:
                    if is_super_call(call, "__init__"):
                        yield module, function, call
        for module, _, function, call, _ in self._constructions(frozenset(family)):
            yield module, function, call

    def _sub_pools(
        self,
        module: Module,
        qualname: str,
        functions: list[Function],
        params: dict[str, set[str]],
        unclear: list[tuple[str, int, str]],
    ) -> list[SubPool]:
        found: dict[str, tuple[int, list[Build], bool]] = {}
        doubts: dict[str, tuple[int, ast.expr]] = {}
        inside = qualname.removeprefix(f"{module.name}.")
        for function in functions:
            name = f"{inside}.{function.name}"
            local: dict[str, list[Build]] = {}
            for target, value, line in assignments(function):
                builds = []
                for call, boxed in calls(value):
                    classes = self._stands_for(module, function, call.func, params)
                    if classes & self.pools:
                        builds.append(self._build(module, name, call, classes))
                        if boxed:
                            unclear.append(
                                (module.path, line, f"`{target}` holds several pools")
                            )
                named = value.id if isinstance(value, ast.Name) else ""
                if named in local:
                    builds = local[named]
                attr = target.removeprefix("self.")
                if attr == target:
                    local[target] = [*local.get(target, ()), *builds]
                    if not local[target]:
                        del local[target]
                    continue
                none = any(is_none(part) for part in branches(value))
                strange = _strange(value, builds, named in local)
                if strange is not None:
                    doubts.setdefault(attr, (line, strange))
                if builds or (attr in found and none):
                    was = found.get(attr, (line, [], False))
                    found[attr] = (was[0], was[1] + builds, was[2] or none)
                elif none:
                    found.setdefault(attr, (line, [], True))
        for attr, (line, strange) in doubts.items():
            if attr in found and found[attr][1]:
                text = ast.unparse(strange)
                reason = f"`self.{attr}` can be `{text}`, which is not a known pool"
                unclear.append((module.path, line, reason))
        return [
            SubPool(attr, line, optional, tuple(builds))
            for attr, (line, builds, optional) in found.items()
            if builds
        ]

    def _build(
        self, module: Module, function: str, call: ast.Call, classes: set[str]
    ) -> Build:
        flag = next((k.value for k in call.keywords if k.arg == self.names.flag), None)
        return Build(
            path=module.path,
            line=call.lineno,
            function=function,
            callee=ast.unparse(call.func),
            classes=tuple(sorted(classes)),
            positional=len(call.args),
            keywords=tuple(k.arg for k in call.keywords if k.arg),
            flag=ast.unparse(flag) if flag is not None else None,
            splat=any(k.arg is None for k in call.keywords),
        )

    def stands_for(
        self,
        qualname: str,
        function: Function,
        node: ast.expr,
        params: Mapping[str, Iterable[str]],
    ) -> frozenset[str]:
        """The classes that an expression in a method of a class can be."""
        module, _ = self.table.node(qualname)
        sets = {name: set(classes) for name, classes in params.items()}
        return frozenset(self._stands_for(module, function, node, sets))

    def _may_be_class(self, module: Module, scope: Scope | None, name: str) -> bool:
        """Whether it pays to follow a name; most lead into files of no interest."""
        head, _, rest = name.partition(".")
        full = (scope.imports if scope else {}).get(head) or module.imports.get(head)
        last = (rest or full or name).rpartition(".")[2]
        return last in self.table.names or head in module.aliases

    def _stands_for(
        self,
        module: Module,
        function: Function | None,
        node: ast.expr,
        params: dict[str, set[str]],
        depth: int = 0,
    ) -> set[str]:
        """The classes of the table that an expression can be, empty where unknown."""
        result: set[str] = set()
        for branch in branches(node):
            name = dotted(branch)
            if name is None:
                continue
            if name in params:
                result |= params[name]
                continue
            scope = self._scopes.of(module, function) if function else None
            bound = scope.bound.get(name, ()) if scope and depth < 4 else ()
            for value in bound:
                result |= self._stands_for(module, function, value, params, depth + 1)
            if not bound and self._may_be_class(module, scope, name):
                local = scope.imports if scope else None
                full = self.table.modules.resolve(module, name, local)
                if full in self.table.classes:
                    result.add(full)
        return result


def _strange(value: ast.expr, builds: list[Build], local: bool) -> ast.expr | None:
    """What a value can come out as, beside a pool that is built there and None."""
    if local:
        return None
    callees = {(build.line, build.callee) for build in builds}
    for part in branches(value):
        known = (
            isinstance(part, ast.Call)
            and (part.lineno, ast.unparse(part.func)) in callees
        )
        if not known and not is_none(part):
            return part
    return None


def _lines_naming(text: str, names: Iterable[str]) -> list[int]:
    """The lines (1-based, ascending) on which any of the names stands."""
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(names))) + r")\b")
    return [
        number
        for number, line in enumerate(lines_of(text), start=1)
        if pattern.search(line)
    ]


def _functions(module: Module) -> Iterator[tuple[str, Function]]:
    for name, node in module.names.items():
        if not isinstance(node, ast.ClassDef):
            yield name, node


def _assigns_calls(init: Function, params: set[str]) -> bool:
    return any(
        isinstance(call.func, ast.Name) and call.func.id in params
        for _, value, _ in assignments(init)
        for call, _ in calls(value)
    )
