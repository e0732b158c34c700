"""What options imply: start-up checks, and the methods that a condition is asked of.

`enable_x = self._x_enabled()` holds only if what that method looks at holds, and an
option that start-up accepts together with another one only implies that one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from kvcodemod.facts.conditions.options import (
    Options,
    check_of,
    contradict,
    located,
    options_of,
    switched_on,
)
from kvcodemod.facts.program.program import Code, Program, outer_functions
from kvcodemod.facts.syntax.bodies import walk_own, without_docstring
from kvcodemod.facts.syntax.parsing import Function

_ROUNDS = 4

Check = tuple[frozenset[str], Options]
"""Options that are on, and what a start-up check wants to hold then."""

Meaning = tuple[Options, Options]
"""What holds where a local name is true, and what never holds all together then."""


class Implied:
    """Draws conclusions from the options that hold."""

    def __init__(self, program: Program) -> None:
        """Nothing is read yet."""
        self.program = program
        self._by_name: dict[str, tuple[Check, ...]] = {}
        self._by_path: dict[str, tuple[Check, ...]] = {}

    def contradictory(self, code: Code | None, options: Options) -> bool:
        """Whether options of a function and all that follows contradict each other."""
        never = self._defined(code, options) if code else []
        known = (*options, *(option for extra, _ in never for option in extra))
        for _ in range(_ROUNDS):
            on = switched_on(known)
            more = tuple(
                option
                for name in sorted(on)
                for needed, implied in self._said_of(name)
                if needed <= on
                for option in implied
                if option not in known
            )
            if not more:
                break
            known = (*known, *more)
        holding = set(known)
        return any(
            contradict(known[:n], known[n : n + 1]) for n in range(1, len(known))
        ) or any(set(together) <= holding for _, together in never if together)

    def _said_of(self, name: str) -> tuple[Check, ...]:
        """What the start-up checks on an option say."""
        if name not in self._by_name:
            needle = f".{name}".encode()  # options are read off an object
            self._by_name[name] = tuple(
                check
                for path in self.program.startup_files
                if needle in self.program.tree.data(path)
                for check in self._checks(path)
                if name in check[0]
            )
        return self._by_name[name]

    def _checks(self, path: str) -> tuple[Check, ...]:
        """Every check of a file that depends on nothing but options that are on."""
        if path not in self._by_path:
            found: list[Check] = []
            module = self.program.modules.try_get(path)
            for code in outer_functions(self.program, module) if module else ():
                for statement, options in self.program.located(code.node):
                    if isinstance(statement, ast.Assert | ast.If) and options:
                        on = switched_on(options)
                        implied = _required(statement)
                        if implied and len(on) == len(options):
                            found.append((on, implied))
            self._by_path[path] = tuple(found)
        return self._by_path[path]

    def _defined(self, code: Code, options: Options) -> list[Meaning]:
        """What the options that are local names of a function mean."""
        found: list[Meaning] = []
        for option in options:
            if (option.op, option.value) != ("truth", "True"):
                continue
            values = self.program.scope(code).bound.get(option.name, ())
            if len(values) == 1:
                found.extend(self._meaning(code, values[0]))
            elif values:
                body = self.program.located(code.node)
                found.extend(_switch(code.node, body, option.name))
        return found

    def _meaning(self, code: Code, value: ast.expr) -> list[Meaning]:
        if isinstance(value, ast.Attribute):
            return [(options_of(value)[0], ())]
        if not (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and isinstance(value.func.value, ast.Name)
            and value.func.value.id == "self"
            and code.owner
        ):
            return []
        target = self.program.method(code.owner, value.func.attr)
        body = without_docstring(target.node.body) if target else []
        last = body[-1] if body else None
        if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
            return []
        assert target is not None
        return _switch(target.node, located(body), last.value.id)


def _required(statement: ast.stmt) -> Options:
    """What has to hold for a check to let a server start."""
    check = check_of(statement)
    if check is None:
        return ()
    test, raises = check
    return options_of(test)[raises]


def _switch(
    function: Function, body: Iterable[tuple[ast.stmt, Options]], name: str
) -> list[Meaning]:
    """What the truth of a local means: of `x = option; if other: x = False`."""
    found: list[Meaning] = []
    for statement, options in body:
        if not (
            isinstance(statement, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)
        ):
            continue
        if isinstance(statement.value, ast.Constant) and not statement.value.value:
            found.append(((), options))
        elif not options and not found:
            found.append((options_of(statement.value)[0], ()))
        else:
            return []
    stores = sum(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for n in walk_own(function)
    )
    return found if stores == len(found) else []
