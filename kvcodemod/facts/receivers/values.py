"""What an expression can be: instances of pools, other objects, classes, methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kvcodemod.facts.conditions.guards import Guard


@dataclass(frozen=True)
class Value:
    """What an expression can be; empty where nothing is known.

    Attributes:
        held: class of a pool or allocator instance -> the guard that excludes it
            here, or None.
        objects: classes of other instances.
        classes: classes that it can be itself.
        methods: (name, receiver) for a method taken from an object as a value.
    """

    held: tuple[tuple[str, Guard | None], ...] = ()
    objects: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    methods: tuple[tuple[str, Value], ...] = field(default=())

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.held or self.objects or self.classes or self.methods)


NOTHING = Value()


def instances(names: Iterable[str]) -> Value:
    """Unguarded instances of pool classes."""
    return Value(held=tuple((name, None) for name in sorted(set(names))))


def join(values: Iterable[Value]) -> Value:
    """Any of the values; where one of them lets a class through, it gets through."""
    held: dict[str, Guard | None] = {}
    objects: set[str] = set()
    classes: set[str] = set()
    methods: dict[str, Value] = {}
    count = 0
    last = NOTHING
    for value in values:
        if not value:
            continue
        count += 1
        last = value
        for name, guard in value.held:
            if name not in held:
                held[name] = guard
            else:
                was = held[name]
                held[name] = None if guard is None or was is None else min(was, guard)
        objects |= value.objects
        classes |= value.classes
        for name, receiver in value.methods:
            methods[name] = join((methods.get(name, NOTHING), receiver))
    if count < 2:
        return last
    return Value(
        held=tuple(sorted(held.items())),
        objects=frozenset(objects),
        classes=frozenset(classes),
        methods=tuple(sorted(methods.items(), key=lambda item: item[0])),
    )
