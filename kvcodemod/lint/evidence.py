"""From facts to findings: grouped by the place to edit, with the way there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kvcodemod.facts.conditions.guards import Guard
from kvcodemod.facts.paths.reach import Reach, Reached
from kvcodemod.findings import Step

_T = TypeVar("_T")


def grouped(
    items: Iterable[_T], key: Callable[[_T], str]
) -> list[tuple[str, list[_T]]]:
    """Items with the same key together, keys in order."""
    found: dict[str, list[_T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return sorted(found.items())


def definition(reached: Reached) -> str:
    """Where the reached method is defined: one finding for each such place."""
    assert reached.method is not None
    return f"{reached.method.path}:{reached.method.line:08}"


def best(reached: Iterable[Reached]) -> Reached:
    """The one to show: without a guard if there is one, and the shortest."""
    return min(
        reached,
        key=lambda r: (
            bool(r.chain.guards),
            len(r.chain.hops),
            r.call.code.path,
            r.call.call.lineno,
            r.cls,
        ),
    )


def trace(reached: Reached, last: Step) -> tuple[Step, ...]:
    """From the first function in speculative decoding to the finding."""
    hops = reached.chain.hops
    first = Step(
        hops[0].path,
        reached.chain.start,
        hops[0].symbol,
        "the path starts here, in speculative decoding",
    )
    middle = [
        Step(hop.path, hop.line, hop.symbol, f"calls `{hop.calls}`") for hop in hops
    ]
    return (first, *middle, last)


def guard_steps(guards: Iterable[Guard]) -> tuple[Step, ...]:
    """Guards as steps, with what each is."""
    words = {
        "isinstance": "a type test leaves the class out",
        "hasattr": "an attribute check comes first",
        "handler": "the error is handled on the way",
        "start-up": "start-up refuses the combination",
    }
    return tuple(
        Step(guard.path, guard.line, "", f"{words[guard.kind]}: {guard.text}")
        for guard in guards
    )


def short(qualname: str) -> str:
    """The bare name of a class."""
    return qualname.rpartition(".")[2]


def classes_text(names: Iterable[str]) -> str:
    """`A`, `A and B`, `A, B and 3 more`."""
    bare = [f"`{short(name)}`" for name in names]
    if len(bare) > 4:
        return f"{', '.join(bare[:3])} and {len(bare) - 3} more"
    if len(bare) > 1:
        return f"{', '.join(bare[:-1])} and {bare[-1]}"
    return bare[0] if bare else ""


def column_of(reach: Reach, path: str, line: int) -> int:
    """The column, 1-based, at which the code on a line begins."""
    text = reach.line(path, line)
    return len(text) - len(text.lstrip()) + 1
