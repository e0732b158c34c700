"""A value under what type tests and attribute checks say about it."""

from __future__ import annotations

from collections.abc import Callable

from kvcodemod.facts.conditions.guards import Guard
from kvcodemod.facts.conditions.receiver_tests import Facts
from kvcodemod.facts.receivers.values import Value


def narrowed(
    value: Value,
    subject: str,
    facts: Facts,
    below: Callable[[str], tuple[str, ...]],
    has: Callable[[str, str], bool],
) -> Value:
    """A value under the facts about it.

    A class that a type test leaves out on purpose (`not isinstance`) stays, guarded:
    the check is what keeps it away. One that a positive test is not about goes. With
    an attribute check, a class that lacks the attribute stays, guarded for that one.
    """
    held = dict(value.held)
    for fact in facts:
        if fact.subject != subject:
            continue
        if fact.kind in ("is", "not"):
            named: set[str] = set(fact.classes)
            if not fact.exact:
                named = {name for cls in fact.classes for name in (cls, *below(cls))}
            if fact.kind == "is":
                held = {n: g for n, g in held.items() if n in named}
            else:
                guard = Guard("isinstance", fact.path, fact.line, fact.text)
                held = {
                    n: g or (guard if n in named else None) for n, g in held.items()
                }
        elif fact.kind == "has":
            guard = Guard("hasattr", fact.path, fact.line, fact.text, fact.attribute)
            held = {
                n: g if g or has(n, fact.attribute) else guard for n, g in held.items()
            }
        else:
            held = {n: g for n, g in held.items() if not has(n, fact.attribute)}
    if held == dict(value.held):
        return value
    return Value(
        tuple(sorted(held.items())), value.objects, value.classes, value.methods
    )
