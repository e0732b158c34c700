"""Where the kernel goes, and what the other files have to import to use it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvcodemod.facts.classes.table import ClassTable
from kvcodemod.facts.syntax.modules import Module, imported
from kvcodemod.kernels.source import injected_names, injected_source
from kvcodemod.rewrite.edits import Edit, ExtendImport, InjectCheck, InjectKernel
from kvcodemod.rewrite.refusal import RefusedError
from kvcodemod.rewrite.snippets import (
    CHECK_FUNCTION,
    MOVE_FUNCTION,
    PLAN_FUNCTION,
    SHARED_FUNCTION,
)

_NEEDED = {"torch": ("torch", ""), "triton": ("triton", "")}
_NEEDED["tl"] = ("triton.language", "tl")


def plan_injection(table: ClassTable, users: list[str]) -> list[Edit]:
    """Edits that make the kernel's functions known wherever a class of `users` stands.

    They go in front of the first such class of a module. A module that imports that
    one already takes them from there; nothing else is ever made to import a module
    that it did not, as that could close a circle.

    Raises:
        RefusedError: a name of the kernel is already taken, or the class stands where
            no function can be put in front of it.
    """
    modules = {module.path: module for module, _ in map(table.node, sorted(users))}
    edits: list[Edit] = []
    while modules:
        target = min(
            modules.values(),
            key=lambda m: (-len(_importers(m, modules)), m.path),
        )
        edits += _inject(table, target, users)
        del modules[target.path]
        for path in _importers(target, modules):
            edits.append(_share(table, modules.pop(path), target, users))
    return edits


def _importers(target: Module, modules: dict[str, Module]) -> list[str]:
    return [
        path
        for path, module in sorted(modules.items())
        if module is not target
        and any(full.startswith(f"{target.name}.") for full in _when_loaded(module))
    ]


def _when_loaded(module: Module) -> Iterator[str]:
    """What a module imports when it is loaded; not what only type checkers see."""
    todo: list[ast.stmt] = list(module.tree.body)
    while todo:
        statement = todo.pop()
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield from (full for _, full in imported(module, statement))
        elif isinstance(statement, ast.Try):
            todo += statement.body
        elif isinstance(statement, ast.If):
            checking = ast.unparse(statement.test).endswith("TYPE_CHECKING")
            todo += statement.orelse if checking else statement.body


def _inject(table: ClassTable, target: Module, users: list[str]) -> list[Edit]:
    first = min(
        (table.classes[q] for q in users if table.classes[q].path == target.path),
        key=lambda cls: cls.line,
    )
    for name in injected_names():
        if name in target.names:
            line = target.names[name].lineno
            raise RefusedError(target.path, line, f"half-edited: has a `{name}`")
    symbol = first.qualname.removeprefix(f"{target.name}.").partition(".")[0]
    line = _top_line(target, first.line)
    edits: list[Edit] = [InjectKernel(target.path, symbol, line, injected_source())]
    for local, (full, alias) in _NEEDED.items():
        if target.imports.get(local) != full:
            if local in target.imports or local in target.names:
                raise RefusedError(target.path, first.line, f"`{local}` is not {full}")
            edits.append(ExtendImport(target.path, full, 1, full, alias=alias))
    return edits


def _share(table: ClassTable, module: Module, target: Module, users: list[str]) -> Edit:
    here = [q for q in users if table.classes[q].path == module.path]
    # a class that inherits its move only plans it
    moves = any(not any(a in users for a in table.mro(q)[1:]) for q in here)
    names = (MOVE_FUNCTION, PLAN_FUNCTION) if moves else (PLAN_FUNCTION,)
    line = _import_line(module, target.name)
    return ExtendImport(module.path, target.name, line, target.name, names=names)


def plan_check(table: ClassTable, wrapper: str, texts: list[str]) -> list[Edit]:
    """The functions that a wrapper's own move calls, in front of it.

    Raises:
        RefusedError: a name is taken, or the class stands inside another statement.
    """
    if not texts:
        return []
    module, _ = table.node(wrapper)
    cls = table.classes[wrapper]
    for name in (CHECK_FUNCTION, SHARED_FUNCTION):
        if name in module.names:
            line = module.names[name].lineno
            raise RefusedError(module.path, line, f"half-edited: has a `{name}`")
    text = "\n\n".join(texts)
    return [InjectCheck(cls.path, cls.name, _top_line(module, cls.line), text)]


def _top_line(module: Module, line: int) -> int:
    for statement in module.tree.body:
        if statement.lineno <= line <= (statement.end_lineno or line):
            if not isinstance(statement, ast.ClassDef):
                reason = "the class stands inside another statement"
                raise RefusedError(module.path, line, reason)
            return statement.lineno
    return line


def _import_line(module: Module, source: str) -> int:
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == source:
            return statement.lineno
    return 1
