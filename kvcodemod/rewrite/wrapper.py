"""Plans the rewrite of one wrapper: its sub-pools' classes, its move, its sites."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kvcodemod.config import Names
from kvcodemod.facts.classes.table import ClassTable, Method, Param
from kvcodemod.facts.pools.buffers import handed_out
from kvcodemod.facts.pools.builds import Composite, SubPool
from kvcodemod.facts.pools.composites import Composites
from kvcodemod.facts.pools.movers import Movability, how_moved
from kvcodemod.facts.pools.ownership import unaccounted
from kvcodemod.rewrite import snippets
from kvcodemod.rewrite.constructors import (
    check_reaches_its_end,
    plan_parameters,
    symbol,
)
from kvcodemod.rewrite.edits import (
    AddMove,
    DelegateMove,
    Edit,
    PassFlag,
    SetUpMove,
    SetUpShared,
    Skipped,
)
from kvcodemod.rewrite.injection import plan_check
from kvcodemod.rewrite.options import Options
from kvcodemod.rewrite.refusal import RefusedError
from kvcodemod.rewrite.sites import plan_sites


@dataclass
class Work:
    """A plan in the making."""

    table: ClassTable
    composites: Composites
    options: Options
    edits: list[Edit] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    users: set[str] = field(default_factory=set)
    """Classes whose code calls the kernel's functions."""

    @property
    def names(self) -> Names:
        """The names that carry meaning."""
        return self.options.names

    @property
    def shared(self) -> bool:
        """Whether the wrapper moves slot-major sub-pools by itself."""
        return self.options.kernel == "all"

    @property
    def flag_value(self) -> str:
        """What sub-pools get for the flag, as code in the wrapper's constructor."""
        return self.names.flag if self.options.copy_flag == "spec-only" else "True"


def plan_wrapper(work: Work, composite: Composite) -> None:
    """Add to the plan whatever one wrapper needs.

    Raises:
        RefusedError: a shape that is not understood, or a half-edited one.
    """
    names, cls = work.names, composite.cls
    assert composite.move is not None
    unclear = [*composite.unclear, *unaccounted(work.composites, composite)]
    if unclear:
        raise RefusedError(*unclear[0])
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
    for sub_pool in composite.sub_pools:
        for build in sub_pool.builds:
            place = (build.path, build.function, build.line)
            work.edits.append(
                PassFlag(*place, build.callee, names.flag, work.flag_value)
            )
    roots = frozenset(names.pool_bases)
    reading = {"rows", "translated"} if work.shared else {"rows"}
    by_name = frozenset(q for q, how in moved.items() if how.kind in reading)
    work.edits += plan_parameters(work.table, moved, names.flag, roots, by_name)
    signature = _signature(work.table, composite.move)
    for how in _base_first(work.table, moved.values()):
        _plan_move(work, how, signature, args, moved)
    _plan_delegation(work, composite, moved, args)
    work.edits += plan_sites(
        work.table,
        work.composites,
        composite,
        work.options.copy_flag,
        work.skipped,
        names,
    )


def _plan_delegation(
    work: Work,
    composite: Composite,
    moved: dict[str, Movability],
    args: tuple[str, ...],
) -> None:
    names, cls, table = work.names, composite.cls, work.table
    assert composite.move is not None
    layouts = {value for how in moved.values() for value in how.layouts}
    strange = bool(layouts - set(names.movable_layouts) - {"?"})
    sub_pools = tuple(s.attr for s in _main_first(composite))
    work.edits.append(
        DelegateMove(
            path=cls.path,
            symbol=symbol(table, composite.move),
            line=composite.move.line,
            sub_pools=sub_pools,
            optional=tuple(s.attr for s in composite.sub_pools if s.optional),
            args=args,
            check=snippets.CHECK_FUNCTION if strange else "",
            shared=work.shared,
        )
    )
    texts = []
    if strange:
        layouts_ = (names.layout, names.movable_layouts)
        texts.append(snippets.check_layout(*layouts_, names.move))
    users = [q for q, how in moved.items() if how.kind == "rows"]
    if work.shared:
        users += [q for q, how in moved.items() if how.kind == "translated"]
        users.append(cls.qualname)
        init = cls.method("__init__")
        if init is None:
            reason = f"{cls.name} has no constructor of its own"
            raise RefusedError(cls.path, cls.line, reason)
        check_reaches_its_end(table, init)
        work.edits.append(
            SetUpShared(
                cls.path, symbol(table, init), init.line, sub_pools, work.flag_value
            )
        )
        classes = _shared_classes(table, composite, moved, names)
        slot_major = names.movable_layouts[0]
        texts.append(snippets.shared_rows(classes, names.layout, slot_major))
    work.edits += plan_check(table, cls.qualname, texts)
    work.users |= set(users)


def _shared_classes(
    table: ClassTable,
    composite: Composite,
    moved: dict[str, Movability],
    names: Names,
) -> dict[str, tuple[str, ...]]:
    """Sub-pool classes of the wrapper's own module with slot-major rows -> buffers."""
    module, _ = table.node(composite.cls.qualname)
    found: dict[str, tuple[str, ...]] = {}
    for qualname, how in sorted(moved.items()):
        cls = table.classes[qualname]
        if cls.path != module.path or how.kind not in ("own", "rows"):
            continue
        buffers = how.buffers or handed_out(table, qualname, names)
        if buffers:
            found[cls.name] = buffers
    return found


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
    work: Work,
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
    kind, buffers, layout = how.kind, how.buffers, None
    if kind == "translated" and work.shared:
        buffers = handed_out(table, how.qualname, names)
        layout = (names.layout, names.movable_layouts[0])
    above = table.mro(how.qualname)[1:]
    below_rows = any(a in moved and moved[a].kind == "rows" for a in above)
    if buffers:
        init = cls.method("__init__")
        if init is None and below_rows and _planned_above(table, how, moved):
            return
        if init is None:
            reason = f"{cls.name} needs a constructor of its own to plan its moves in"
            raise RefusedError(cls.path, cls.line, reason)
        check_reaches_its_end(table, init)
        work.edits.append(
            SetUpMove(
                path=cls.path,
                symbol=symbol(table, init),
                line=init.line,
                buffers=buffers,
                flag=names.flag,
                layout=layout,
            )
        )
        if below_rows:
            return  # inherits the move that its base gets
    work.edits.append(
        AddMove(
            path=cls.path,
            symbol=inside,
            line=cls.line,
            how=f"{kind}-rows" if layout else kind,
            via=how.via,
            signature=signature if "torch" in module.imports else _bare(signature),
            args=args,
            method=names.move,
        )
    )


def _planned_above(
    table: ClassTable, how: Movability, moved: dict[str, Movability]
) -> bool:
    """Whether the constructor that a class inherits plans the same buffers' moves."""
    init = table.lookup(how.qualname, "__init__")
    owner = moved.get(init.owner) if init else None
    return owner is not None and owner.buffers == how.buffers


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
