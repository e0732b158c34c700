"""Pool classes: definitions, bases, C3 order and methods, resolved across modules."""

from __future__ import annotations

import ast
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Literal

from kvcodemod.config import Names
from kvcodemod.facts.prefilter.class_headers import find_candidates
from kvcodemod.facts.syntax.bodies import Verdict, refusal_text, verdict
from kvcodemod.facts.syntax.memo import kept
from kvcodemod.facts.syntax.modules import Module, Modules
from kvcodemod.facts.syntax.parsing import Function, dotted
from kvcodemod.tree.source import SourceError

ParamKind = Literal["positional", "keyword", "args", "kwargs"]


@dataclass(frozen=True)
class Param:
    """A parameter; `default` is its expression as text, None where it has none."""

    name: str
    kind: ParamKind
    default: str | None


@dataclass(frozen=True)
class Method:
    """A method as one class defines it; `line` is that of `def`, 1-based.

    What takes a look at the body is found when it is asked for: most methods never are.
    """

    owner: str
    name: str
    path: str
    line: int
    end_line: int
    kind: Literal["function", "property", "other"]
    node: Function = field(repr=False, compare=False)

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The parameters, the receiver included."""
        return tuple(params_of(self.node))

    @cached_property
    def verdict(self) -> Verdict:
        """How the body ends."""
        return verdict(self.node)

    @cached_property
    def refusal(self) -> str:
        """The words of the first refusal, or an empty string."""
        return refusal_text(self.node)


@dataclass(frozen=True)
class PoolClass:
    """A class of the pool hierarchy; `bases` are qualified names, in order."""

    qualname: str
    path: str
    line: int
    bases: tuple[str, ...]
    methods: tuple[Method, ...]

    @property
    def name(self) -> str:
        """The bare class name."""
        return self.qualname.rpartition(".")[2]

    def method(self, name: str) -> Method | None:
        """The method as this class itself defines it."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Method]:
        return {method.name: method for method in self.methods}


class ClassTable:
    """All classes of a set of files and their C3 order."""

    def __init__(
        self,
        modules: Modules,
        paths: Iterable[str],
        names: frozenset[str] = frozenset(),
    ) -> None:
        """Read the classes of `paths`; what does not parse is kept in `broken`.

        With `names`, bases in other files are read for classes of these names only.
        """
        self.modules = modules
        self.classes: dict[str, PoolClass] = {}
        self.names = names
        """Bare names, aliases included, that a class of the table can go by."""
        self.broken: list[SourceError] = []
        self._nodes: dict[str, tuple[Module, ast.ClassDef]] = {}
        self._mro: dict[str, tuple[str, ...]] = {}
        for path in sorted(paths):
            self._add(path)
        self._add_bases()

    def _add_bases(self) -> None:
        """Read the files of bases that stand elsewhere in the tree, as mixins do."""
        fresh = tuple(self.classes.values())
        first = {cls.path for cls in fresh}
        while fresh:
            known = {cls.path for cls in self.classes.values()}
            before = set(self.classes)
            for path in sorted(
                {
                    path
                    for cls in fresh
                    if not self.names
                    or cls.name in self.names
                    or cls.path in known - first
                    for base in cls.bases
                    if base not in self.classes
                    for path in [self.modules.path_of(base)]
                    if path is not None and path not in known
                }
            ):
                self._add(path)
            fresh = tuple(c for n, c in self.classes.items() if n not in before)

    def _add(self, path: str) -> None:
        try:
            module = self.modules.get(path)
        except SourceError as error:
            self.broken.append(error)
            return
        for name, node in module.classes():
            qualname = f"{module.name}.{name}"
            self._nodes[qualname] = (module, node)
            self.classes[qualname] = PoolClass(
                qualname=qualname,
                path=path,
                line=node.lineno,
                bases=bases_of(self.modules, module, node),
                methods=tuple(_methods(qualname, path, node)),
            )

    def node(self, qualname: str) -> tuple[Module, ast.ClassDef]:
        """The module and the syntax of a class."""
        return self._nodes[qualname]

    def function(self, method: Method) -> Function:
        """The syntax of a method."""
        return method.node

    def mro(self, qualname: str) -> tuple[str, ...]:
        """The C3 order, the class itself first; classes outside the table included.

        A class whose bases contradict each other (Python would refuse it) gets the
        depth-first order.
        """
        if qualname not in self._mro:
            add_order(qualname, self._bases_of, self._mro)
        return self._mro[qualname]

    def _bases_of(self, qualname: str) -> tuple[str, ...]:
        known = self.classes.get(qualname)
        return known.bases if known else ()

    def lookup(self, qualname: str, method: str, after: str = "") -> Method | None:
        """The method that an instance of the class gets; `after` a class as super()."""
        order = self.mro(qualname)
        start = order.index(after) + 1 if after else 0
        for name in order[start:]:
            found = self.classes.get(name)
            hit = found.method(method) if found else None
            if hit:
                return hit
        return None

    def below(self, qualname: str) -> tuple[str, ...]:
        """The class and all its subclasses, sorted."""
        return self._below.get(qualname, ())

    @cached_property
    def _below(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self.classes):
            for base in dict.fromkeys(self.mro(name)):
                found.setdefault(base, []).append(name)
        return {name: tuple(below) for name, below in found.items()}


def pool_table(modules: Modules, names: Names) -> tuple[ClassTable, tuple[str, ...]]:
    """The table of every file that can define a pool, and the pool classes, sorted."""
    candidates = find_candidates(modules.tree, names.pool_bases)
    table = ClassTable(modules, candidates.files)
    defined = {cls.name for cls in table.classes.values()}
    table.names = candidates.names | frozenset(defined)
    roots = set(names.pool_bases)
    pools = [
        qualname
        for qualname in table.classes
        if any(name.rpartition(".")[2] in roots for name in table.mro(qualname))
    ]
    return table, tuple(sorted(pools))


@kept
def own_functions(node: ast.ClassDef) -> tuple[Function, ...]:
    """The functions of a class body, those in `if`, `try` and `with` included."""
    found: list[Function] = []
    todo: list[ast.AST] = list(reversed(node.body))
    while todo:
        child = todo.pop()
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(child)
        elif not isinstance(child, ast.ClassDef | ast.expr):
            todo.extend(reversed(list(ast.iter_child_nodes(child))))
    return tuple(found)


def _methods(owner: str, path: str, node: ast.ClassDef) -> Iterable[Method]:
    """The methods as the class ends up with them.

    A definition in the class body itself replaces what came before it. Of several
    conditional ones (`if npu: def m ... else: def m ...`) the first counts.
    """
    found: dict[str, Method] = {}
    direct = {id(child) for child in node.body}
    for child in own_functions(node):
        kind = _kind(child)
        if kind is None or (child.name in found and id(child) not in direct):
            continue
        found[child.name] = Method(
            owner=owner,
            name=child.name,
            path=path,
            line=child.lineno,
            end_line=child.end_lineno or child.lineno,
            kind=kind,
            node=child,
        )
    for statement in node.body:  # `restore = _refuse`: one body under two names
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
            source = found.get(statement.value.id)
            for target in statement.targets:
                if source is not None and isinstance(target, ast.Name):
                    found[target.id] = replace(source, name=target.id)
    return found.values()


def _kind(node: Function) -> Literal["function", "property", "other"] | None:
    kind: Literal["function", "property", "other"] = "function"
    for decorator in node.decorator_list:
        name = dotted(decorator) or ""
        last = name.rpartition(".")[2]
        if last in ("setter", "deleter", "overload"):
            return None
        if last in ("property", "cached_property"):
            kind = "property"
        elif last in ("staticmethod", "classmethod"):
            kind = "other"
    return kind


def params_of(node: Function) -> Iterable[Param]:
    """The parameters of a function in order, `self` included."""
    spec = node.args
    plain = [*spec.posonlyargs, *spec.args]
    missing = len(plain) - len(spec.defaults)
    for at, arg in enumerate(plain):
        default = spec.defaults[at - missing] if at >= missing else None
        yield Param(arg.arg, "positional", ast.unparse(default) if default else None)
    if spec.vararg:
        yield Param(spec.vararg.arg, "args", None)
    for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        yield Param(arg.arg, "keyword", ast.unparse(value) if value else None)
    if spec.kwarg:
        yield Param(spec.kwarg.arg, "kwargs", None)


def bases_of(modules: Modules, module: Module, node: ast.ClassDef) -> tuple[str, ...]:
    """The qualified names of the bases of a class, as far as they are names."""
    found: list[str] = []
    for base in node.bases:
        name = dotted(base.value if isinstance(base, ast.Subscript) else base)
        if name:  # `Generic[T]` is one, a call is none
            found.append(modules.resolve(module, name))
    return tuple(found)


def add_order(
    qualname: str,
    find_bases: Callable[[str], Sequence[str]],
    orders: dict[str, tuple[str, ...]],
) -> None:
    """Add the C3 order of a class, and of its bases, to those that are known.

    Without recursion, as a tree may have a chain of any length. A cycle ends at the
    class that it comes back to.
    """
    todo: list[tuple[str, Sequence[str]]] = [(qualname, find_bases(qualname))]
    while todo:
        name, bases = todo[-1]
        orders.setdefault(name, (name,))
        new = next((base for base in bases if base not in orders), None)
        if new is not None:
            todo.append((new, find_bases(new)))
            continue
        merged = c3_merge([*(orders[base] for base in bases), bases])
        orders[name] = (name, *merged)
        todo.pop()


def c3_merge(lists: Iterable[Iterable[str]]) -> list[str]:
    """The C3 merge; falls back to first-come order where there is no solution."""
    result: list[str] = []
    queues = [deque(dict.fromkeys(items)) for items in lists]
    queues = [queue for queue in queues if queue]
    later = Counter(name for queue in queues for name in islice(queue, 1, None))
    while queues:
        head = next((q[0] for q in queues if not later[q[0]]), queues[0][0])
        result.append(head)
        for queue in queues:
            if queue[0] == head:
                queue.popleft()
                if queue:
                    later[queue[0]] -= 1
            elif later[head] and head in queue:  # they contradict each other
                queue.remove(head)
                later[head] -= 1
        queues = [queue for queue in queues if queue]
    return result
