"""The wrappers that the rewrite is about, rewritten or not, and who builds them."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.facts.classes.table import ClassTable, Method
from kvcodemod.facts.pools.builds import Build, Composite
from kvcodemod.facts.pools.composites import Composites
from kvcodemod.facts.syntax.scopes import assignments

SUB_POOLS = "sub_pools"
"""The local name under which a rewritten move lists what it moves."""


def is_rewritten(table: ClassTable, move: Method) -> bool:
    """Whether a wrapper's move is, or once was, what `apply` writes."""
    bound = {name for name, _, _ in assignments(table.function(move))}
    return SUB_POOLS in bound


def rewritten(composites: Composites) -> Iterator[Composite]:
    """Composites whose move does not raise any more: ours, or the known wrapper's."""
    for qualname in sorted(composites.pools):
        cls = composites.table.classes[qualname]
        move = cls.method(composites.names.move)
        known = cls.name == composites.names.family
        if known or (move is not None and is_rewritten(composites.table, move)):
            found = composites.of(qualname)
            if found.sub_pools:
                yield found


def family(composites: Composites) -> list[tuple[str, tuple[Build, ...]]]:
    """Every wrapper class of the tree, subclasses too, with the calls that build it.

    Sorted by name; a class that nothing builds has no calls.
    """
    table = composites.table
    waiting = [*composites.waiting(), *rewritten(composites)]
    roots = sorted({composite.cls.qualname for composite in waiting})
    members = sorted({q for root in roots for q in table.below(root)})
    sites = composites.sites(members)
    return [
        (member, tuple(site for site in sites if member in site.classes))
        for member in members
    ]
