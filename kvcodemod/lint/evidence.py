"""From facts to findings: grouped by the place to edit, with the way there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kvcodemod.facts.conditions.guards import Guard
from kvcodemod.facts.configurations.values import Const, Value
from kvcodemod.facts.paths.reach import Excluded as Call
from kvcodemod.facts.paths.reach import Reach, Reached
from kvcodemod.findings import Assumption, Configuration, Excluded, Step

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
    """The one to show: a server that surely gets there, no guard, the shortest."""
    return min(
        reached,
        key=lambda r: (
            len(doubts(r)),
            bool(r.chain.guards),
            len(r.judged.world.chosen) if r.judged.world else 0,
            len(r.chain.hops),
            r.call.code.path,
            r.call.call.lineno,
            r.cls,
        ),
    )


def doubts(reached: Reached) -> tuple[Assumption, ...]:
    """What has to hold besides, so that a server gets there."""
    judged = reached.judged
    found = [Assumption(p.text, p.path, p.line) for p in judged.assumes]
    if judged.possible is not None:
        text = "start-up accepts this together with some other options"
        where = reached.chain.hops[-1]
        found.append(Assumption(text, where.path, where.line))
    return tuple(found)


def hit(group: list[Reached]) -> list[Reached]:
    """Those that some server surely gets to; all, where there is no such one."""
    return [r for r in group if not doubts(r)] or group


def configuration(reach: Reach, reached: Reached) -> Configuration | None:
    """The server that gets there, where one was found or may be."""
    world = reached.judged.world
    if world is None:
        return None
    settings = reach.configured.servers.settings
    return Configuration(
        platform=world.platform or "",
        architecture=world.architectures[0] if world.architectures else None,
        options=tuple(
            _typed(settings.all[name].flag, value) for name, value in world.chosen
        ),
        assumes=doubts(reached),
    )


def _typed(flag: str, value: Value) -> tuple[str, str]:
    """An option as it is typed; a switch that is turned on has no value."""
    said = sorted(str(a.value) for a in value.atoms or () if isinstance(a, Const))
    plain = said[0] if said else ""
    return (flag, "") if plain == "True" else (flag, plain)


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


_RULES = {"raises": "KVC001", "missing": "KVC002", "signature": "KVC003"}


def excluded(reach: Reach) -> tuple[Excluded, ...]:
    """What would fail, if any server got there with such a class; sorted."""
    reached = {(r.kind, r.cls, r.call.method) for r in reach.reached}
    groups: dict[tuple[str, str, str], list[Call]] = {}
    for item in reach.excluded:
        key = (item.kind, item.cls, item.call.method)
        if key not in reached:
            groups.setdefault(key, []).append(item)
    found = [
        Excluded(
            rule=_RULES[kind],
            symbol=f"{short(cls)}.{method}",
            affected=cls,
            facts=tuple(
                dict.fromkeys(
                    Assumption(f.text, f.path, f.line) for i in items for f in i.facts
                )
            ),
        )
        for (kind, cls, method), items in groups.items()
    ]
    return tuple(sorted(found, key=lambda e: (e.rule, e.affected, e.symbol)))


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
