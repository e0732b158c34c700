"""What names and annotations say about a receiver, before any code is evaluated."""

from __future__ import annotations

import ast

from kvcodemod.facts.conditions.options import Option, Options
from kvcodemod.facts.conditions.receiver_tests import subject_of
from kvcodemod.facts.program.fields import Fields
from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.receivers.values import NOTHING, Value, instances, join
from kvcodemod.facts.startup.construction import Built
from kvcodemod.facts.syntax.bodies import walk_all
from kvcodemod.facts.syntax.parsing import Function, dotted, parse_annotation

_WRAPPERS = frozenset({"Optional", "Union", "List", "Sequence", "Tuple", "Annotated"})
_WRAPPERS_LOWER = frozenset({"list", "tuple", "Iterable", "Type", "type", "Final"})


class Annotations:
    """Words, annotations and parameters."""

    def __init__(self, program: Program) -> None:
        """Nothing is looked up yet."""
        self.program = program
        self.fields = Fields(program)
        self.built = Built(program)
        self.draft: Options = (Option(program.names.draft_option, "truth", "True"),)
        """What holds for a pool that belongs to a draft model."""
        self._words: dict[str, Value] = {}
        self._declared: dict[tuple[str, int], dict[str, Value]] = {}

    def by_word(self, name: str) -> Value:
        """What a field, parameter or local of that name holds by convention."""
        if name not in self._words:
            self._words[name] = self._by_word(name)
        return self._words[name]

    def _by_word(self, name: str) -> Value:
        names = self.program.names
        if _worded(name, names.allocator_words):
            return instances(self.program.held_allocators)
        if _worded(name, names.pool_words):
            return instances(self.program.held_pools)
        return NOTHING

    def annotated(self, code: Code, node: ast.expr | None) -> Value:
        """What an annotation says; the pool classes below the one it names."""
        if node is None:
            return NOTHING
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = parse_annotation(node.value)
            if node is None:
                return NOTHING
        if isinstance(node, ast.BinOp):
            return join(self.annotated(code, n) for n in (node.left, node.right))
        if isinstance(node, ast.Subscript):
            outer = (dotted(node.value) or "").rpartition(".")[2]
            if outer not in _WRAPPERS | _WRAPPERS_LOWER:
                return NOTHING
            inner = node.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            value = join(self.annotated(code, part) for part in parts)
            if outer in ("Type", "type"):
                return Value(classes=frozenset(name for name, _ in value.held))
            return value
        name = dotted(node)
        if name is None or not self._may_be_class(code, name):
            return NOTHING
        return self._named_class(self.program.resolve(code, name))

    def _may_be_class(self, code: Code, name: str) -> bool:
        """Whether a name can mean a class of interest; told without parsing."""
        if name.rpartition(".")[2] in self.program.table.names:
            return True
        head, _, rest = name.partition(".")
        full = self.program.scope(code).imports.get(head)
        full = full or code.module.imports.get(head)
        if full is None:
            return head in code.module.names or head in code.module.aliases
        if full.rpartition(".")[2] in self.program.table.names:
            return True
        path = self.program.modules.path_of(f"{full}.{rest}" if rest else full)
        return path is not None and (
            path.endswith("/__init__.py") or self.program.of_interest(path)
        )

    def _within(self, code: Code, node: ast.expr) -> frozenset[str]:
        """Every class, sub-pools included, that fits an annotation."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parsed = parse_annotation(node.value)
            if parsed is None:
                return frozenset()
            node = parsed
        found: set[str] = set()
        for part in walk_all(node):
            name = dotted(part) if isinstance(part, ast.Name | ast.Attribute) else None
            if name is None or not self._may_be_class(code, name):
                continue
            full = self.program.resolve(code, name)
            if full in self.program.members:
                found.update(self.program.table.below(full))
        return frozenset(found)

    def _named_class(self, full: str) -> Value:
        if full in self.program.members:
            return instances(self.program.concrete(full))
        path = self.program.modules.path_of(full)
        if path and self.program.of_interest(path) and self.program.is_class(full):
            return Value(objects=frozenset((full,)))
        return NOTHING

    def declared(self, code: Code) -> dict[str, Value]:
        """What a function's parameters are by annotation or by name."""
        if code.key in self._declared:
            return dict(self._declared[code.key])
        found: dict[str, Value] = {}
        spec = code.node.args
        for arg in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]:
            value = self.annotated(code, arg.annotation)
            if not (value.held or value.objects or value.classes):
                value = self.by_word(arg.arg)
            if value:
                found[arg.arg] = value
        if code.owner and not is_static(code.node):
            first = next(iter([*spec.posonlyargs, *spec.args]), None)
            if first is not None:
                found[first.arg] = self.self_of(code.owner)
        self._declared[code.key] = found
        return dict(found)

    def self_of(self, owner: str) -> Value:
        """What `self` is in a method that nobody is known to call."""
        if owner in self.program.members:
            return instances(self.program.concrete(owner))
        return Value(objects=frozenset((owner,)))

    def self_exactly(self, cls: str) -> Value:
        """`self` as an instance of one class."""
        if cls in self.program.members:
            return instances((cls,))
        return Value(objects=frozenset((cls,)))

    def fitting(self, code: Code, parameter: str, value: Value) -> Value:
        """What a parameter can be when this is passed: its annotation has a say."""
        spec = code.node.args
        for arg in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]:
            if arg.arg == parameter and arg.annotation is not None:
                said = self.annotated(code, arg.annotation)
                bound = self._within(code, arg.annotation)
                held = tuple(item for item in value.held if item[0] in bound)
                if said.held and value.held and held != value.held:
                    held = held or said.held
                    return Value(held, value.objects, value.classes, value.methods)
        return value

    def is_draft(self, node: ast.expr) -> bool:
        """Whether a receiver is reached through something of the draft model."""
        words = self.program.names.draft_words
        return any(
            word in part.split("_")
            for text in (subject_of(node) or ast.unparse(node),)
            for part in text.replace("[", ".").replace("s.", ".").split(".")
            for word in words
        )

    def of_draft(self, value: Value) -> Value:
        """Without the pools that are never built for a draft model."""
        held = tuple(
            (name, guard)
            for name, guard in value.held
            if not self.built.impossible(name, self.draft)
        )
        return Value(held, value.objects, value.classes, value.methods)


def _worded(name: str, words: tuple[str, ...]) -> bool:
    return any(name == word or name.endswith(f"_{word}") for word in words)


def is_static(node: Function) -> bool:
    """Whether a method gets no instance."""
    return any(
        (dotted(d) or "").rpartition(".")[2] in ("staticmethod", "classmethod")
        for d in node.decorator_list
    )
