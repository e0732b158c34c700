"""Finds the rules: every entry point of the group `kvcodemod.rules`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from kvcodemod.lint.rule import Rule

GROUP = "kvcodemod.rules"


@dataclass(frozen=True)
class Registry:
    """The rules by code, and what is wrong with the ones that do not load."""

    rules: dict[str, Rule]
    broken: tuple[str, ...]

    def selected(
        self, select: Iterable[str] = (), ignore: Iterable[str] = ()
    ) -> tuple[Rule, ...]:
        """The rules that a selection leaves, in order of code.

        Raises:
            UnknownRulesError: it names rules that there are not; all are named at once.
        """
        select, ignore = tuple(select), tuple(ignore)
        unknown = [n for n in (*select, *ignore) if not self.matching(n)]
        if unknown:
            raise UnknownRulesError(unknown, sorted(self.rules))
        chosen = {c for n in select for c in self.matching(n)} or set(self.rules)
        chosen -= {code for name in ignore for code in self.matching(name)}
        return tuple(self.rules[code] for code in sorted(chosen))

    def knows(self, name: str) -> bool:
        """Whether a code, a name or the beginning of a code stands for a rule."""
        return bool(self.matching(name))

    def matching(self, name: str) -> list[str]:
        """The codes that a code, a name or the beginning of a code stands for."""
        return [
            code
            for code, rule in self.rules.items()
            if name and (code == name or rule.name == name or code.startswith(name))
        ]


class UnknownRulesError(Exception):
    """A selection names rules that do not exist."""

    def __init__(self, unknown: list[str], known: list[str]) -> None:
        """Keep both lists."""
        names = ", ".join(unknown)
        super().__init__(f"unknown rule: {names}; there are {', '.join(known)}")


def load_rules(points: Iterable[EntryPoint] | None = None) -> Registry:
    """Every rule that is installed; one that does not load is named and left out."""
    found: dict[str, Rule] = {}
    broken: list[str] = []
    every = entry_points(group=GROUP) if points is None else points
    for point in sorted(every, key=lambda p: (p.name, p.value)):
        try:
            rule = point.load()
        except Exception as error:  # a plugin may fail in any way
            broken.append(
                f"{point.name} ({point.value}): {type(error).__name__}: {error}"
            )
            continue
        if not isinstance(rule, Rule):
            broken.append(
                f"{point.name} ({point.value}): not a kvcodemod.lint.rule.Rule"
            )
        elif rule.code in found and found[rule.code] is not rule:
            broken.append(f"{point.name} ({point.value}): {rule.code} is taken")
        else:
            found[rule.code] = rule
    return Registry(dict(sorted(found.items())), tuple(broken))
