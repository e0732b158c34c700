"""What a condition says about a receiver: type tests and attribute checks."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kvcodemod.facts.syntax.parsing import dotted


@dataclass(frozen=True)
class Fact:
    """One thing that holds where a condition is true.

    Attributes:
        subject: the receiver as text, such as `self.runner.token_to_kv_pool`.
        kind: it is one of the classes, none of them, has the attribute or lacks it.
        exact: for `type(x) is C`, where subclasses do not count.
    """

    subject: str
    kind: Literal["is", "not", "has", "lacks"]
    classes: tuple[str, ...]
    attribute: str
    exact: bool
    path: str
    line: int
    text: str

    def negated(self) -> Fact:
        """What holds where the condition is false."""
        other: dict[str, Literal["is", "not", "has", "lacks"]] = {
            "is": "not",
            "not": "is",
            "has": "lacks",
            "lacks": "has",
        }
        return Fact(
            self.subject,
            other[self.kind],
            self.classes,
            self.attribute,
            self.exact,
            self.path,
            self.line,
            self.text,
        )


Facts = tuple[Fact, ...]


class Conditions:
    """Reads conditions of one function."""

    def __init__(
        self,
        path: str,
        resolve: Callable[[str], str],
        bound: dict[str, tuple[ast.expr, ...]],
    ) -> None:
        """`resolve` names a class; `bound` are the function's own assignments."""
        self.path = path
        self.resolve = resolve
        self.bound = bound

    def both(self, test: ast.expr, depth: int = 0) -> tuple[Facts, Facts]:
        """What holds where the condition is true, and where it is false."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            true, false = self.both(test.operand, depth)
            return false, true
        if isinstance(test, ast.BoolOp):
            pairs = [self.both(value, depth) for value in test.values]
            if isinstance(test.op, ast.And):
                true = tuple(fact for pair in pairs for fact in pair[0])
                return true, pairs[0][1] if len(pairs) == 1 else ()
            false = tuple(fact for pair in pairs for fact in pair[1])
            return (), false
        if isinstance(test, ast.Name) and depth < 3:
            values = self.bound.get(test.id, ())
            fact = self._taken(test, values)
            if fact:
                return (fact,), (fact.negated(),)
            if len(values) == 1:
                return self.both(values[0], depth + 1)
        if isinstance(test, ast.Call):
            fact = self._call(test)
            if fact:
                return (fact,), (fact.negated(),)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compare(test, depth)
        return (), ()

    def _compare(self, test: ast.Compare, depth: int) -> tuple[Facts, Facts]:
        op, right = test.ops[0], test.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            if isinstance(op, ast.Is | ast.IsNot):
                true, false = self.both(test.left, depth)
                has_only = all(f.kind in ("has", "lacks") for f in (*true, *false))
                if not has_only:
                    return (), ()
                return (true, false) if isinstance(op, ast.IsNot) else (false, true)
            return (), ()
        if (
            isinstance(test.left, ast.Call)
            and dotted(test.left.func) == "type"
            and len(test.left.args) == 1
        ):
            fact = self._fact(
                "is", test.left.args[0], test, self._classes(right), "", True
            )
            if fact is None:
                return (), ()
            if isinstance(op, ast.Is | ast.Eq | ast.In):
                return (fact,), (fact.negated(),)
            if isinstance(op, ast.IsNot | ast.NotEq | ast.NotIn):
                return (fact.negated(),), (fact,)
        return (), ()

    def _taken(self, test: ast.Name, values: tuple[ast.expr, ...]) -> Fact | None:
        """`move = getattr(pool, "move", None)` and later `if move:`."""
        if len(values) != 1 or not isinstance(values[0], ast.Call):
            return None
        return self._call(values[0])

    def _call(self, call: ast.Call) -> Fact | None:
        name = dotted(call.func)
        if name in ("isinstance", "issubclass") and len(call.args) == 2:
            return self._fact("is", call.args[0], call, self._classes(call.args[1]))
        if name in ("hasattr", "getattr") and len(call.args) in (2, 3):
            attribute = call.args[1]
            if isinstance(attribute, ast.Constant) and isinstance(attribute.value, str):
                return self._fact("has", call.args[0], call, (), attribute.value)
        if name == "callable" and len(call.args) == 1:
            inner = call.args[0]
            if isinstance(inner, ast.Name):
                return self._taken(inner, self.bound.get(inner.id, ()))
            return self._call(inner) if isinstance(inner, ast.Call) else None
        return None

    def _fact(
        self,
        kind: Literal["is", "has"],
        subject: ast.expr,
        node: ast.expr,
        classes: tuple[str, ...],
        attribute: str = "",
        exact: bool = False,
    ) -> Fact | None:
        text = subject_of(subject)
        if text is None or not (classes or attribute):
            return None
        said = ast.unparse(node)
        return Fact(text, kind, classes, attribute, exact, self.path, node.lineno, said)

    def _classes(self, node: ast.expr) -> tuple[str, ...]:
        parts = (
            node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
        )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return (*self._classes(node.left), *self._classes(node.right))
        names = [dotted(part) for part in parts]
        if not all(names):
            return ()
        return tuple(self.resolve(name) for name in names if name)


def subject_of(node: ast.expr) -> str | None:
    """A receiver as text: names, attributes and calls without arguments."""
    part: ast.AST = node
    while isinstance(part, ast.Attribute | ast.Call):
        if isinstance(part, ast.Call):
            if part.args or part.keywords:
                return None
            part = part.func
        else:
            part = part.value
    return ast.unparse(node) if isinstance(part, ast.Name) else None
