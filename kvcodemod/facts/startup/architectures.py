"""Model architectures: for which a pool is built, for which a check is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kvcodemod.facts.conditions.options import switched_on
from kvcodemod.facts.program.program import Code, Program, outer_functions
from kvcodemod.facts.startup.construction import Way
from kvcodemod.facts.syntax.bodies import without_docstring
from kvcodemod.facts.syntax.parsing import dotted


@dataclass(frozen=True, eq=False)
class Block:
    """The statements of a start-up function that run for some architectures."""

    code: Code
    names: frozenset[str]
    body: tuple[ast.stmt, ...]


class Architectures:
    """Reads conditions on the name of a model's architecture."""

    def __init__(self, program: Program) -> None:
        """Nothing is read yet."""
        self.program = program
        self._blocks: dict[str, tuple[Block, ...]] = {}
        self._told_by: dict[tuple[str, int], frozenset[str]] = {}

    def of(self, way: Way) -> frozenset[str]:
        """The architectures for which a class is built; empty where nothing tells.

        Told from a local name on the way that has to be true and was assigned the
        result of a function like `return architecture(config) in ("A", "B")`.
        """
        sets = [self._of(way, name) for name in sorted(switched_on(way.options))]
        told = [names for names in sets if names]
        return frozenset.intersection(*told) if told else frozenset()

    def blocks(self, architectures: frozenset[str]) -> Iterator[Block]:
        """The parts of the start-up files that run for all of these architectures.

        What stands below `if arch in ("A",):` runs for `A`, and for `AHead` too: a
        draft head is named after the model that it belongs to, and it is the model's
        name that is looked at when a server starts.
        """
        needles = [name.encode() for name in sorted(architectures)]
        for path in self.program.startup_files:
            data = self.program.tree.data(path)
            if any(needle in data for needle in needles):
                for block in self._of_file(path):
                    if all(
                        any(name.startswith(known) for known in block.names)
                        for name in architectures
                    ):
                        yield block

    def called(self, block: Block) -> Iterator[Code]:
        """The functions that a block itself calls, in order."""
        for statement in block.body:
            call = statement.value if isinstance(statement, ast.Expr) else None
            name = dotted(call.func) if isinstance(call, ast.Call) else None
            found = self._function(block.code, name) if name else None
            if found is not None:
                yield found

    def _of_file(self, path: str) -> tuple[Block, ...]:
        if path not in self._blocks:
            module = self.program.modules.try_get(path)
            self._blocks[path] = tuple(
                block
                for code in (outer_functions(self.program, module) if module else ())
                for statement in code.node.body
                for block in _branches(code, statement)
            )
        return self._blocks[path]

    def _of(self, way: Way, name: str) -> frozenset[str]:
        for function in way.through:
            code = self.program.function(function)
            bound = self.program.scope(code).bound.get(name, ()) if code else ()
            if code and bound:
                return _any_of([self._told(code, value) for value in bound])
        return frozenset()

    def _told(self, code: Code, value: ast.expr) -> frozenset[str]:
        """The architectures for which a call is true; empty where it is not that."""
        name = dotted(value.func) if isinstance(value, ast.Call) else None
        asked = self._function(code, name) if name else None
        if asked is None:
            return frozenset()
        if asked.key not in self._told_by:
            body = without_docstring(asked.node.body)
            last = body[0] if len(body) == 1 else None
            said = last.value if isinstance(last, ast.Return) else None
            self._told_by[asked.key] = compared(said) if said else frozenset()
        return self._told_by[asked.key]

    def _function(self, code: Code, name: str) -> Code | None:
        """What a name means in a function, where it is one of any file."""
        return self.program.function_anywhere(self.program.resolve(code, name))


def _any_of(sets: list[frozenset[str]]) -> frozenset[str]:
    """The names of all sets; empty if nothing is known of one of them."""
    return frozenset().union(*sets) if all(sets) else frozenset()


def compared(test: ast.expr) -> frozenset[str]:
    """The names one of which a condition asks for; empty if it asks anything else."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return _any_of([compared(value) for value in test.values])
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return frozenset()
    right = test.comparators[0]
    if isinstance(test.ops[0], ast.Eq):
        parts = [right]
    elif isinstance(test.ops[0], ast.In) and isinstance(
        right, ast.Tuple | ast.List | ast.Set
    ):
        parts = right.elts
    else:
        return frozenset()
    values = [p.value if isinstance(p, ast.Constant) else None for p in parts]
    names = [value for value in values if isinstance(value, str)]
    return frozenset(names) if len(names) == len(parts) else frozenset()


def _branches(code: Code, statement: ast.stmt) -> Iterator[Block]:
    """The branches of an `if ... elif ...` that ask for architectures."""
    while isinstance(statement, ast.If):
        names = compared(statement.test)
        if names:
            yield Block(code, names, tuple(statement.body))
        if len(statement.orelse) != 1:
            return
        statement = statement.orelse[0]
