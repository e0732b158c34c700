"""The post-condition: parse the new files again and hold them against the plan."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kvcodemod.facts.classes.table import pool_table
from kvcodemod.facts.pools.composites import Composites
from kvcodemod.facts.syntax.modules import Module, Modules, import_base
from kvcodemod.facts.syntax.parsing import Function, lines_of
from kvcodemod.rewrite.completeness import incomplete
from kvcodemod.rewrite.edits import (
    AddMove,
    DelegateMove,
    Edit,
    ExtendImport,
    InjectKernel,
    Plan,
)
from kvcodemod.rewrite.options import Options
from kvcodemod.rewrite.refusal import RefusedError
from kvcodemod.rewrite.texts import text_of
from kvcodemod.rewrite.undo import comments, only_inserted, same_but_for
from kvcodemod.tree.source import SourceError, SourceTree


def check_texts(old: SourceTree, new: SourceTree, plan: Plan) -> None:
    """Hold every rewritten file against the old one and the plan.

    Nothing but the planned definitions may differ, in the syntax tree and in the
    lines, and each planned one must.

    Raises:
        RefusedError: the first difference that was not planned, or is missing.
    """
    parsed = Modules(old), Modules(new)
    for path in sorted({edit.path for edit in plan.edits}):
        edits = [edit for edit in plan.edits if edit.path == path]
        texts = [lines_of(tree.text(path).text) for tree in (old, new)]
        try:
            before, after = (modules.get(path) for modules in parsed)
            _check_one(path, (before, after), (texts[0], texts[1]), edits)
        except SourceError as error:
            raise RefusedError(path, error.line or 0, error.reason) from error
        except RecursionError as error:
            reason = "something in it is nested too deeply"
            raise RefusedError(path, 0, reason) from error


def check_tree(tree: SourceTree, plan: Plan, options: Options) -> None:
    """Look at the rewritten tree as at any other: is every wrapper's move complete?

    Raises:
        RefusedError: what a wrapper of the plan still lacks.
    """
    table, pools = pool_table(Modules(tree), options.names)
    composites = Composites(table, pools, options.names)
    for qualname in plan.wrappers:
        problems = incomplete(table, composites.of(qualname), options.names)
        if problems:
            path, line, reason = problems[0]
            raise RefusedError(path, line, f"after the rewrite: {reason}")


def _check_one(
    path: str,
    modules: tuple[Module, Module],
    texts: tuple[list[str], list[str]],
    edits: Sequence[Edit],
) -> None:
    before, after = modules
    beside = AddMove | ExtendImport | InjectKernel  # nothing inside a definition
    planned: dict[str, list[Edit]] = {}
    for edit in edits:
        if not isinstance(edit, beside):
            planned.setdefault(edit.symbol, []).append(edit)
    added = _added(edits)
    for name in sorted(set(after.names) - set(before.names) - set(added)):
        line = after.names[name].lineno
        raise RefusedError(path, line, f"unplanned definition {name}")
    for name in sorted({*before.names, *added} - set(after.names)):
        raise RefusedError(path, 0, f"the definition of {name} is missing")
    for name, node in added.items():
        if ast.dump(after.names[name]) != ast.dump(node):
            line = after.names[name].lineno
            raise RefusedError(path, line, f"{name} is not what was planned")
    _check_imports(path, before, after, edits)
    _check_lines(path, edits, (planned.keys(), added.keys()), texts, modules)
    for symbol, own in sorted(planned.items()):
        was, now = before.names[symbol], after.names[symbol]
        assert not isinstance(was, ast.ClassDef)
        assert not isinstance(now, ast.ClassDef)
        spans = [texts[0][slice(*_span(was))], texts[1][slice(*_span(now))]]
        whole = any(isinstance(edit, DelegateMove) for edit in own)
        if not whole and not only_inserted(*spans):
            reason = f"something in {symbol} is lost, perhaps a comment"
            raise RefusedError(path, now.lineno, reason)
        reason = same_but_for(was, now, own)
        if reason:
            raise RefusedError(path, now.lineno, f"{symbol}: {reason}")


def _added(edits: Sequence[Edit]) -> dict[str, ast.stmt]:
    """The definitions that are planned, by qualified name."""
    found: dict[str, ast.stmt] = {}
    for edit in edits:
        if isinstance(edit, AddMove):
            (node,) = ast.parse(text_of(edit)).body
            found[f"{edit.symbol}.{edit.method}"] = node
        elif isinstance(edit, InjectKernel):
            for node in ast.parse(text_of(edit)).body:
                if isinstance(node, ast.FunctionDef):
                    found[node.name] = node
    return found


def _check_imports(
    path: str, before: Module, after: Module, edits: Sequence[Edit]
) -> None:
    planned: Counter[_Import] = Counter()
    for edit in edits:
        if isinstance(edit, ExtendImport):
            planned.update((edit.module, name, None) for name in edit.names)
            if not edit.names:
                planned.update([("", edit.module, edit.alias or None)])
    old, new = Counter(_imports(before)), Counter(_imports(after))
    if new != old + planned:
        odd = (new - old - planned) + (old - new) + (planned - (new - old))
        (module, name, _), *_rest = odd
        raise RefusedError(path, 0, f"the import of {module or name} is not as planned")


_Import = tuple[str, str, str | None]
"""(module of a `from`, name, alias)"""


def _imports(module: Module) -> Iterator[_Import]:
    for node in module.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            base = import_base(module, node) if isinstance(node, ast.ImportFrom) else ""
            yield from ((base, alias.name, alias.asname) for alias in node.names)


def _check_lines(
    path: str,
    edits: Sequence[Edit],
    names: tuple[Iterable[str], Iterable[str]],
    texts: tuple[list[str], list[str]],
    modules: tuple[Module, Module],
) -> None:
    """Outside planned and added definitions every line, comments too, is as before."""
    imports = any(isinstance(edit, ExtendImport) for edit in edits)
    before, after = (
        _outside(lines, module, names, imports)
        for lines, module in zip(texts, modules, strict=True)
    )
    if before != after:
        known = set(before)
        where = next((line for line in after if line not in known), "")
        raise RefusedError(path, 0, f"an unplanned line would change: {where.strip()}")


def _outside(
    lines: list[str],
    module: Module,
    names: tuple[Iterable[str], Iterable[str]],
    imports: bool,
) -> list[str]:
    gone: set[int] = set()
    for name in names[0]:
        gone.update(range(*_span(module.names[name])))
    for name in names[1]:
        if name in module.names:
            first, last = _span(module.names[name])
            while lines[first - 1].startswith("#"):
                first -= 1
            while first and not lines[first - 1].strip():
                first -= 1  # the blank lines in front are part of what is added
            gone.update(range(first, last))
    said: dict[int, str] = {}
    if imports:  # what they import is held against the plan; their comments stay
        for node in module.tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                first, last = node.lineno - 1, node.end_lineno or node.lineno
                gone.update(range(first, last))
                said[first] = " ".join(comments(lines[first:last]))
    return [
        said.get(at, line)
        for at, line in enumerate(lines)
        if at not in gone or said.get(at)
    ]


def _span(node: ast.ClassDef | Function) -> tuple[int, int]:
    """The lines of a definition, decorators too, as a slice of all lines."""
    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    return first - 1, node.end_lineno or node.lineno
