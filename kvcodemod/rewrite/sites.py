"""The places that construct a wrapper: what they have to pass, or why nothing."""

from __future__ import annotations

import ast

from kvcodemod.config import Names
from kvcodemod.facts.classes.table import ClassTable
from kvcodemod.facts.pools.builds import Build, Composite
from kvcodemod.facts.pools.composites import Composites
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.modules import Module, imported
from kvcodemod.rewrite.constructors import plan_parameters
from kvcodemod.rewrite.edits import Edit, PassFlag, Skipped
from kvcodemod.rewrite.refusal import RefusedError


def plan_sites(
    table: ClassTable,
    composites: Composites,
    composite: Composite,
    copy_flag: str,
    skipped: list[Skipped],
    names: Names,
) -> list[Edit]:
    """Edits at the construction sites of a wrapper and its subclasses.

    With `always` there are none, and each site is listed as left alone. With
    `spec-only` the constructors take the flag, and each site passes the expression
    that its sibling pools get in the same function, or else in the same file.

    Raises:
        RefusedError: the siblings do not agree on an expression, or there is none.
    """
    family = table.below(composite.cls.qualname)
    sites = composites.sites(family)
    if copy_flag == "always":
        for site in sites:
            reason = f"the sub-pools always get {names.flag}: nothing to pass here"
            skipped.append(Skipped(_symbol(site), site.path, site.line, reason))
        return []
    roots = frozenset(names.pool_bases)
    edits = plan_parameters(table, family, names.flag, roots)
    for site in sites:
        if site.flag is not None:
            reason = f"half-edited: already passes {names.flag}"
            raise RefusedError(site.path, site.line, reason)
        edits.append(
            PassFlag(
                path=site.path,
                symbol=site.function,
                line=site.line,
                callee=site.callee,
                name=names.flag,
                value=_sibling_expression(table, site, names.flag),
            )
        )
    return edits


def _symbol(site: Build) -> str:
    return f"{site.function} -> {site.callee}"


def _sibling_expression(table: ClassTable, site: Build, flag: str) -> str:
    """What other pools get for the flag here, as the source spells it."""
    module = table.modules.get(site.path)
    text = table.modules.tree.text(site.path).text
    near: dict[str, int] = {}
    far: dict[str, int] = {}
    for name, node in module.names.items():
        if isinstance(node, ast.ClassDef):
            continue
        for call in walk_own(node):
            if not isinstance(call, ast.Call):
                continue
            for keyword in call.keywords:
                value = keyword.value
                if keyword.arg != flag or isinstance(value, ast.Name | ast.Constant):
                    continue
                spelled = ast.get_source_segment(text, value) or ""
                if not spelled or "\n" in spelled or "\r" in spelled:
                    spelled = ast.unparse(value)  # without the comments on its lines
                if name == site.function:
                    near[spelled] = value.lineno
                elif _means_the_same(module, value, name, site.function):
                    far[spelled] = value.lineno
    for place in (near, far):
        if len(place) == 1:
            return f"({next(iter(place))})"
        if place:
            reason = f"sibling pools pass different expressions: {sorted(place)}"
            raise RefusedError(site.path, site.line, reason)
    reason = f"no sibling pool in this file gets {flag}, so what to pass is unknown"
    raise RefusedError(site.path, site.line, reason)


def _means_the_same(module: Module, value: ast.expr, there: str, here: str) -> bool:
    """Whether an expression of one function can stand in another one.

    Its names must be the module's, or known by the same name in both; `self` is only
    in methods of one class.
    """
    theirs, ours = _bound(module, there), _bound(module, here)
    read = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    one_class = there.rpartition(".")[0] == here.rpartition(".")[0]
    return not any(
        name not in ours or (name in ("self", "cls") and not one_class)
        for name in read & theirs
    )


def _bound(module: Module, function: str) -> set[str]:
    node = module.names[function]
    assert not isinstance(node, ast.ClassDef)
    spec = node.args
    names = {a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]}
    names |= {a.arg for a in (spec.vararg, spec.kwarg) if a is not None}
    for part in walk_own(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names.add(part.id)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            names |= {local for local, _ in imported(module, part)}
    return names
