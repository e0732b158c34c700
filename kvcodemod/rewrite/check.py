"""The post-condition: parse the new files again and hold them against the plan."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from kvcodemod.facts.classes import pool_table
from kvcodemod.facts.composite import Composites
from kvcodemod.facts.modules import Module, Modules, index, lines_of
from kvcodemod.rewrite.completeness import incomplete
from kvcodemod.rewrite.edits import AddMove, Edit, ExtendImport, InjectKernel, Plan
from kvcodemod.rewrite.options import Options
from kvcodemod.rewrite.refusal import RefusedError
from kvcodemod.tree.source import SourceError, SourceTree


def check_texts(old: Mapping[str, str], new: Mapping[str, str], plan: Plan) -> None:
    """Hold every rewritten text against its old one and the plan.

    Nothing but the planned definitions may differ, in the syntax tree and in the
    lines, and each planned one must.

    Raises:
        RefusedError: the first difference that was not planned, or is missing.
    """
    for path in sorted(new):
        edits = [edit for edit in plan.edits if edit.path == path]
        try:
            _check_one(path, old[path], new[path], edits)
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


def _check_one(path: str, old: str, new: str, edits: Sequence[Edit]) -> None:
    before, after = index(path, old), index(path, new)
    beside = AddMove | ExtendImport | InjectKernel  # nothing inside a definition
    planned = {edit.symbol for edit in edits if not isinstance(edit, beside)}
    added = _added(edits)
    for name, node in after.names.items():
        if name not in before.names:
            if name not in added:
                raise RefusedError(path, node.lineno, f"unplanned definition {name}")
            continue
        if name in planned or isinstance(node, ast.ClassDef):
            continue
        if any(name.startswith(f"{symbol}.") for symbol in planned):
            continue
        if ast.dump(node) != ast.dump(before.names[name]):
            raise RefusedError(path, node.lineno, f"unplanned change in {name}")
    lost = set(before.names) - set(after.names)
    missing = added - set(after.names)
    if lost or missing:
        names = ", ".join(sorted(lost | missing))
        raise RefusedError(path, 0, f"definitions are missing: {names}")
    for symbol in sorted(planned):
        if ast.dump(before.names[symbol]) == ast.dump(after.names[symbol]):
            raise RefusedError(path, 0, f"planned change is missing in {symbol}")
    _check_lines(path, edits, planned, added, ((old, before), (new, after)))


def _added(edits: Sequence[Edit]) -> set[str]:
    names: set[str] = set()
    for edit in edits:
        if isinstance(edit, AddMove):
            names.add(f"{edit.symbol}.{edit.method}")
        elif isinstance(edit, InjectKernel):
            tree = ast.parse(edit.text)
            names |= {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    return names


def _check_lines(
    path: str,
    edits: Sequence[Edit],
    planned: set[str],
    added: set[str],
    sides: tuple[tuple[str, Module], tuple[str, Module]],
) -> None:
    """Outside planned and added definitions every line, comments too, is as before."""
    imports = any(isinstance(edit, ExtendImport) for edit in edits)
    rests = []
    for text, module in sides:
        lines = lines_of(text)
        gone: set[int] = set()
        for name in planned | added:
            node = module.names.get(name)
            if node is None:
                continue
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            while name in added and lines[first - 2].startswith("#"):
                first -= 1
            gone |= set(range(first, (node.end_lineno or first) + 1))
        if imports:
            for statement in module.tree.body:
                if isinstance(statement, ast.Import | ast.ImportFrom):
                    last = statement.end_lineno or statement.lineno
                    gone |= set(range(statement.lineno, last + 1))
        # blank lines around an added definition are part of it
        rests.append(
            [
                line
                for number, line in enumerate(lines, start=1)
                if number not in gone and line.strip()
            ]
        )
    before, after = rests
    if before != after:
        where = next((line for line in after if line not in set(before)), "")
        raise RefusedError(path, 0, f"an unplanned line would change: {where.strip()}")
