"""Plans the rewrite over the whole tree: which edits, in which files, and why not more.

Nothing is changed here. What cannot be understood ends the planning with a place and a
reason, so that a tree is either rewritten as a whole or left alone.
"""

from __future__ import annotations

from kvcodemod.facts.classes.table import ClassTable, pool_table
from kvcodemod.facts.pools.builds import Composite
from kvcodemod.facts.pools.composites import Composites
from kvcodemod.facts.pools.wrappers import is_rewritten, rewritten
from kvcodemod.facts.syntax.modules import Modules
from kvcodemod.rewrite.completeness import incomplete
from kvcodemod.rewrite.constructors import symbol
from kvcodemod.rewrite.edits import Edit, InjectCheck, Plan, Skipped
from kvcodemod.rewrite.injection import plan_injection
from kvcodemod.rewrite.options import Options
from kvcodemod.rewrite.refusal import RefusedError, UnknownPoolError
from kvcodemod.rewrite.wrapper import Work, plan_wrapper
from kvcodemod.tree.source import SourceTree


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
    work = Work(table, composites, options)
    for composite in waiting:
        plan_wrapper(work, composite)
    _check_one_each(work.edits)
    work.edits += plan_injection(table, sorted(work.users))
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
        skipped=tuple(dict.fromkeys(work.skipped)),
    )


def _check_one_each(edits: list[Edit]) -> None:
    """The functions of two wrappers would have the same names in one module."""
    seen: dict[str, str] = {}
    for edit in edits:
        if isinstance(edit, InjectCheck):
            other = seen.setdefault(edit.path, edit.symbol)
            if other != edit.symbol:
                reason = f"{other} and {edit.symbol} need functions of the same names"
                raise RefusedError(edit.path, edit.line, reason)


def _check_named(table: ClassTable, waiting: list[Composite], options: Options) -> None:
    for name in options.pools:
        if any(c.cls.name == name for c in waiting):
            continue
        found = [c for c in table.classes.values() if c.name == name]
        if not found:
            raise UnknownPoolError("--pool", 0, f"no pool class is called {name}")
        move = table.lookup(found[0].qualname, options.names.move)
        if move is not None and is_rewritten(table, move):
            continue
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
        be = "is" if len(done) == 1 else "are"
        return Plan("unchanged", f"{which} {be} implemented; there is nothing to do")
    return Plan(
        "not-applicable",
        f"no pool here builds sub-pools and raises in {names.move} for want of "
        f"{names.flag}; there is nothing to do",
    )


def _note_others(work: Work, pools: tuple[str, ...], waiting: list[Composite]) -> None:
    family = {q for c in waiting for q in work.table.below(c.cls.qualname)}
    for qualname in pools:
        move = work.table.classes[qualname].method(work.names.move)
        if move is None or move.verdict != "raises" or qualname in family:
            continue
        if qualname.rpartition(".")[2] in work.names.pool_bases:
            continue  # the abstract one
        work.skipped.append(
            Skipped(
                symbol(work.table, move),
                move.path,
                move.line,
                f"raises, but not for want of {work.names.flag}; "
                "`kvcodemod lint` tells whether speculative decoding reaches it",
            )
        )
