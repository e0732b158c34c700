"""Where the kernel goes, and what the other files have to import to use it."""

from __future__ import annotations

import ast

from kvcodemod.facts.classes import ClassTable
from kvcodemod.facts.modules import Module
from kvcodemod.kernels.source import injected_names, injected_source
from kvcodemod.rewrite.edits import Edit, ExtendImport, InjectCheck, InjectKernel
from kvcodemod.rewrite.refusal import RefusedError
from kvcodemod.rewrite.snippets import CHECK_FUNCTION, MOVE_FUNCTION, PLAN_FUNCTION

_NEEDED = {"torch": ("torch", ""), "triton": ("triton", "")}
_NEEDED["tl"] = ("triton.language", "tl")


def plan_injection(table: ClassTable, wrapper: str, rows: list[str]) -> list[Edit]:
    """Edits that make the kernel's functions known wherever a class of `rows` stands.

    It goes in front of the first of them in the wrapper's own module, or in the
    first module by name; the other modules import from there.

    Raises:
        RefusedError: a name of the kernel is already taken, or the class stands where
            no function can be put in front of it.
    """
    if not rows:
        return []
    home, _ = table.node(wrapper)
    modules = {table.node(q)[0].path: table.node(q)[0] for q in sorted(rows)}
    target = modules.get(home.path) or modules[min(modules)]
    first = min(
        (table.classes[q] for q in rows if table.classes[q].path == target.path),
        key=lambda cls: cls.line,
    )
    for name in injected_names():
        if name in target.names:
            line = target.names[name].lineno
            raise RefusedError(target.path, line, f"half-edited: has a `{name}`")
    symbol = first.qualname.removeprefix(f"{target.name}.").partition(".")[0]
    edits: list[Edit] = [
        InjectKernel(
            target.path, symbol, _top_line(target, first.line), injected_source()
        )
    ]
    for local, (full, alias) in _NEEDED.items():
        if target.imports.get(local) != full:
            if local in target.imports or local in target.names:
                line = first.line
                raise RefusedError(target.path, line, f"`{local}` is not {full}")
            edits.append(ExtendImport(target.path, full, 1, full, alias=alias))
    for path, module in sorted(modules.items()):
        if path != target.path:
            missing = (MOVE_FUNCTION, PLAN_FUNCTION)
            users = [q for q in rows if table.classes[q].path == path]
            names = (
                missing if not _all_inherit(table, users, rows) else (PLAN_FUNCTION,)
            )
            line = _import_line(module, target.name)
            edits.append(
                ExtendImport(path, target.name, line, target.name, names=names)
            )
    return edits


def plan_check(table: ClassTable, wrapper: str, text: str) -> Edit:
    """The function that a wrapper's move calls before it writes, in front of it.

    Raises:
        RefusedError: the name is taken, or the class stands inside another statement.
    """
    module, _ = table.node(wrapper)
    cls = table.classes[wrapper]
    if CHECK_FUNCTION in module.names:
        line = module.names[CHECK_FUNCTION].lineno
        reason = f"half-edited: has a `{CHECK_FUNCTION}`"
        raise RefusedError(module.path, line, reason)
    return InjectCheck(cls.path, cls.name, _top_line(module, cls.line), text)


def _all_inherit(table: ClassTable, users: list[str], rows: list[str]) -> bool:
    """Whether every class inherits its move from another one that gets it."""
    return all(any(a in rows for a in table.mro(q)[1:]) for q in users)


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
