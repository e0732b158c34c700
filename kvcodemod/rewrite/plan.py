"""Plans the rewrite over the whole tree: which edits, in which files, and why not more.

Nothing is changed here. What cannot be understood ends the planning with a place and a
reason, so that a tree is either rewritten as a whole or left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kvcodemod.config import Names
from kvcodemod.facts.classes import ClassTable, Method, Param, pool_table
from kvcodemod.facts.composite import Composite, Composites, SubPool
from kvcodemod.facts.family import rewritten
from kvcodemod.facts.modules import Modules
from kvcodemod.facts.moves import Movability, how_moved
from kvcodemod.rewrite import snippets
from kvcodemod.rewrite.completeness import incomplete
from kvcodemod.rewrite.constructors import plan_parameters, symbol
from kvcodemod.rewrite.edits import (
    AddMove,
    DelegateMove,
    Edit,
    PassFlag,
    Plan,
    SetUpMove,
    Skipped,
)
from kvcodemod.rewrite.injection import plan_check, plan_injection
from kvcodemod.rewrite.options import Options
from kvcodemod.rewrite.refusal import RefusedError
from kvcodemod.rewrite.sites import plan_sites
from kvcodemod.tree.source import SourceTree


@dataclass
class _Work:
    table: ClassTable
    composites: Composites
    options: Options
    edits: list[Edit] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def names(self) -> Names:
        return self.options.names


def make_plan(tree: SourceTree, options: Options) -> Plan:
    """The plan for a tree.

    Raises:
        RefusedError: a shape that is not understood, or a half-edited one.
        SourceError: a file that matters does not parse.
    """
    modules = Modules(tree)
    table, pools = pool_table(modules, options.names)
    if table.broken:
        raise table.broken[0]
    composites = Composites(table, pools, options.names)
    waiting = list(composites.waiting(options.pools))
    _check_named(table, waiting, options)
    if not waiting:
        return _nothing_to_do(table, composites, options)
    work = _Work(table, composites, options)
    for composite in waiting:
        _plan_composite(work, composite)
    if composites.broken:
        raise composites.broken[0]
    _note_others(work, pools, waiting)
    count = len(waiting)
    return Plan(
        status="changed",
        note=f"{count} composite pool{'s' if count > 1 else ''} to rewrite: "
        + ", ".join(c.cls.name for c in waiting),
        wrappers=tuple(c.cls.qualname for c in waiting),
        edits=tuple(dict.fromkeys(work.edits)),
        skipped=tuple(work.skipped),
    )


def _check_named(table: ClassTable, waiting: list[Composite], options: Options) -> None:
    for name in options.pools:
        if any(c.cls.name == name for c in waiting):
            continue
        found = [c for c in table.classes.values() if c.name == name]
        if not found:
            raise RefusedError("--pool", 0, f"no pool class is called {name}")
        move = table.lookup(found[0].qualname, options.names.move)
        state = "has no" if move is None else "does not itself raise in"
        reason = f"{name} {state} {options.names.move}: there is nothing to rewrite"
        raise RefusedError(found[0].path, found[0].line, reason)


def _nothing_to_do(table: ClassTable, composites: Composites, options: Options) -> Plan:
    """Tell a tree that needs nothing from one that has no such pool."""
    names = options.names
    done = list(rewritten(composites))
    for composite in done:
        problems = incomplete(table, composite, names)
        if problems:
            path, line, reason = problems[0]
            raise RefusedError(path, line, f"half-edited: {reason}")
    if done:
        which = ", ".join(f"{c.cls.name}.{names.move}" for c in done)
        return Plan("unchanged", f"{which} is implemented; there is nothing to do")
    return Plan(
        "not-applicable",
        f"no pool here builds sub-pools and raises in {names.move} for want of "
        f"{names.flag}; there is nothing to do",
    )


def _plan_composite(work: _Work, composite: Composite) -> None:
    names, cls = work.names, composite.cls
    assert composite.move is not None
    if composite.unclear:
        raise RefusedError(*composite.unclear[0])
    if not composite.sub_pools:
        reason = f"{cls.name} builds no sub-pool that could be found"
        raise RefusedError(cls.path, cls.line, reason)
    _check_not_half_edited(composite, names)
    args = tuple(p.name for p in composite.move.params[1:])
    if len(args) != 2 or any(p.kind != "positional" for p in composite.move.params):
        reason = f"{names.move}({', '.join(args)}) is not the signature that is known"
        raise RefusedError(cls.path, composite.move.line, reason)
    moved: dict[str, Movability] = {}
    for sub_pool in composite.sub_pools:
        for qualname in sub_pool.classes:
            how = how_moved(work.table, qualname, names, args)
            moved[qualname] = how
            bound = work.table.classes[qualname]
            if how.kind == "none":
                reason = f"{bound.name} cannot be moved: {how.reason}"
                raise RefusedError(bound.path, bound.line, reason)
    value = names.flag if work.options.copy_flag == "spec-only" else "True"
    for sub_pool in composite.sub_pools:
        for build in sub_pool.builds:
            work.edits.append(
                PassFlag(
                    path=build.path,
                    symbol=build.function,
                    line=build.line,
                    callee=build.callee,
                    name=names.flag,
                    value=value,
                )
            )
    roots = frozenset(names.pool_bases)
    work.edits += plan_parameters(work.table, moved, names.flag, roots)
    signature = _signature(work.table, composite.move)
    for how in _base_first(work.table, moved.values()):
        _plan_move(work, how, signature, args, moved)
    layouts = {v for how in moved.values() for v in how.layouts}
    strange = bool(layouts - set(names.movable_layouts) - {"?"})
    work.edits.append(
        DelegateMove(
            path=cls.path,
            symbol=symbol(work.table, composite.move),
            line=composite.move.line,
            sub_pools=tuple(s.attr for s in _main_first(composite)),
            optional=tuple(s.attr for s in composite.sub_pools if s.optional),
            args=args,
            check=snippets.CHECK_FUNCTION if strange else "",
        )
    )
    if strange:
        text = snippets.check_layout(names.layout, names.movable_layouts, names.move)
        work.edits.append(plan_check(work.table, composite.cls.qualname, text))
    rows = [how.qualname for how in moved.values() if how.kind == "rows"]
    work.edits += plan_injection(work.table, composite.cls.qualname, rows)
    work.edits += plan_sites(
        work.table,
        work.composites,
        composite,
        work.options.copy_flag,
        work.skipped,
        names,
    )


def _check_not_half_edited(composite: Composite, names: Names) -> None:
    builds = [b for s in composite.sub_pools for b in s.builds]
    flagged = [b for b in builds if b.flag is not None]
    if flagged:
        b = flagged[0]
        state = "some" if len(flagged) < len(builds) else "all"
        reason = (
            f"half-edited: {state} sub-pools of {composite.cls.name} already get "
            f"{names.flag}, but {names.move} raises; restore the file and run again"
        )
        raise RefusedError(b.path, b.line, reason)
    if any(p.name == names.flag for p in _init_params(composite)):
        reason = f"half-edited: {composite.cls.name} already takes {names.flag}"
        raise RefusedError(composite.cls.path, composite.cls.line, reason)


def _init_params(composite: Composite) -> tuple[Param, ...]:
    init = composite.cls.method("__init__")
    return init.params if init else ()


def _plan_move(
    work: _Work,
    how: Movability,
    signature: str,
    args: tuple[str, ...],
    moved: dict[str, Movability],
) -> None:
    table, names = work.table, work.names
    cls = table.classes[how.qualname]
    module, _ = table.node(how.qualname)
    inside = how.qualname.removeprefix(f"{module.name}.")
    if how.kind == "own":
        work.skipped.append(
            Skipped(
                inside,
                cls.path,
                cls.line,
                f"accepts {names.flag} and its own {names.move} works",
            )
        )
        return
    if how.kind == "rows":
        init = cls.method("__init__")
        if init is None:
            reason = f"{cls.name} needs a constructor of its own to plan its moves in"
            raise RefusedError(cls.path, cls.line, reason)
        work.edits.append(
            SetUpMove(
                path=cls.path,
                symbol=symbol(table, init),
                line=init.line,
                buffers=how.buffers,
                flag=names.flag,
            )
        )
        above = table.mro(how.qualname)[1:]
        if any(a in moved and moved[a].kind == "rows" for a in above):
            return  # inherits the move that its base gets
    work.edits.append(
        AddMove(
            path=cls.path,
            symbol=inside,
            line=cls.line,
            how=how.kind,
            via=how.via,
            signature=signature if "torch" in module.imports else _bare(signature),
            args=args,
            method=names.move,
        )
    )


def _base_first(table: ClassTable, moved: Iterable[Movability]) -> list[Movability]:
    return sorted(moved, key=lambda how: (len(table.mro(how.qualname)), how.qualname))


def _main_first(composite: Composite) -> list[SubPool]:
    """Sub-pools that are always there first, else in the order they are built."""
    return sorted(composite.sub_pools, key=lambda s: (s.optional, s.line))


def _signature(table: ClassTable, method: Method) -> str:
    node = table.function(method)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {method.name}({ast.unparse(node.args)}){returns}:"


def _bare(signature: str) -> str:
    return re.sub(r": [\w.]+(?=[,)])", "", signature)


def _note_others(work: _Work, pools: tuple[str, ...], waiting: list[Composite]) -> None:
    family = {q for c in waiting for q in work.table.below(c.cls.qualname)}
    for qualname in pools:
        move = work.table.classes[qualname].method(work.names.move)
        if move is None or move.verdict != "raises" or qualname in family:
            continue
        work.skipped.append(
            Skipped(
                symbol(work.table, move),
                move.path,
                move.line,
                f"raises, but not for want of {work.names.flag}; "
                "`kvcodemod lint` tells whether speculative decoding reaches it",
            )
        )
