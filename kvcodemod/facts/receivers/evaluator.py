"""What a receiver can be: annotations, names, locals, fields, constructors, getters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvcodemod.facts.conditions.options import Option, Options, contradict, options_of
from kvcodemod.facts.conditions.receiver_tests import Facts, subject_of
from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.receivers.held import Env, HeldValues
from kvcodemod.facts.receivers.narrowing import narrowed
from kvcodemod.facts.receivers.values import NOTHING, Value, instances, join
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.parsing import dotted

_DEPTH = 8


class Receivers(HeldValues):
    """Evaluates expressions as far as pools, allocators and their methods go."""

    def __init__(self, program: Program) -> None:
        """Nothing is evaluated yet."""
        super().__init__(program)
        self._returned: dict[tuple[tuple[str, int], Value], Value] = {}
        self._under: dict[tuple[str, int], dict[int, Options]] = {}

    def value(
        self, code: Code, env: Env, node: ast.expr, facts: Facts = (), depth: int = 0
    ) -> Value:
        """What an expression can be, under the facts that hold where it stands."""
        if depth > _DEPTH:
            return NOTHING
        key = (id(node), id(facts))
        known = env.known
        if key in known:
            value = known[key][0]
        else:
            known[key] = (NOTHING, node, facts)  # a cycle ends here
            value = self._value(code, env, node, facts, depth)
            known[key] = (value, node, facts)
        if facts:
            subject = subject_of(node)
            if subject and not value:
                value = self._tested(subject, facts)
            if subject and value.held:
                below = self.program.table.below
                value = narrowed(value, subject, facts, below, self.fields.has)
        return value

    def _is_set(self, env: Env, node: ast.expr) -> bool:
        """Whether a parameter is known not to be None."""
        return isinstance(node, ast.Name) and contradict(
            env.options, (Option(node.id, "==", "None"),)
        )

    def _tested(self, subject: str, facts: Facts) -> Value:
        """What a type test says about a receiver of which nothing else is known."""
        for fact in facts:
            if fact.subject == subject and fact.kind == "is":
                members = [n for n in fact.classes if n in self.program.members]
                return instances(
                    c for n in members for c in self.program.table.below(n)
                )
        return NOTHING

    def _value(
        self, code: Code, env: Env, node: ast.expr, facts: Facts, depth: int
    ) -> Value:
        if isinstance(node, ast.Name):
            return self._name(code, env, node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(code, env, node, facts, depth)
        if isinstance(node, ast.Call):
            return self._call(code, env, node, facts, depth)
        parts: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
            when, unless = options_of(node.test)
            if contradict(env.options, when):
                parts = [node.orelse]
            elif contradict(env.options, unless):
                parts = [node.body]
        elif isinstance(node, ast.BoolOp):
            parts = node.values
            if isinstance(node.op, ast.Or) and self._is_set(env, parts[0]):
                parts = parts[:1]
        elif isinstance(node, ast.NamedExpr | ast.Await | ast.Subscript | ast.Starred):
            parts = [node.value]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = node.values
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            parts = [node.elt]
        elif isinstance(node, ast.DictComp):
            parts = [node.value]
        return join(self.value(code, env, p, facts, depth + 1) for p in parts)

    def _name(self, code: Code, env: Env, node: ast.Name, depth: int) -> Value:
        name = node.id
        scope = self.program.scope(code)
        bound = scope.bound.get(name, ())
        if len(bound) > 1 and env.options:
            under = self._bound_under(code)
            bound = tuple(
                v for v in bound if not contradict(env.options, under.get(id(v), ()))
            )
        found = [self.value(code, env, value, (), depth + 1) for value in bound]
        if name in env.params:
            found.append(env.params[name])
        value = join(found)
        if value:
            return value
        value = self.by_word(name)
        if value or name in scope.bound or name in env.params:
            return value
        return self._global(code, name)

    def _bound_under(self, code: Code) -> dict[int, Options]:
        """What holds where each local name is assigned, by the value's node."""
        if code.key not in self._under:
            self._under[code.key] = {
                id(statement.value): options
                for statement, options in self.program.located(code.node)
                if isinstance(statement, ast.Assign | ast.AnnAssign)
                and statement.value is not None
            }
        return self._under[code.key]

    def _global(self, code: Code, name: str) -> Value:
        table = self.program.table
        head = self.program.scope(code).imports.get(name) or code.module.imports.get(
            name
        )
        local = name in code.module.names or name in code.module.aliases
        if (not local and head is None) or not self._may_be_class(code, name):
            return NOTHING
        full = self.program.resolve(code, name)
        if full in table.classes:
            return Value(classes=frozenset((full,)))
        path = self.program.modules.path_of(full)
        if path and self.program.of_interest(path) and self.program.is_class(full):
            return Value(classes=frozenset((full,)))
        return NOTHING

    def _attribute(
        self, code: Code, env: Env, node: ast.Attribute, facts: Facts, depth: int
    ) -> Value:
        name = dotted(node)
        if name and "." in name:
            head = name.partition(".")[0]
            known = name.rpartition(".")[2] in self.program.table.names
            local = self.program.scope(code).imports
            if known and (head in code.module.imports or head in local):
                full = self.program.resolve(code, name)
                if full in self.program.table.classes:
                    return Value(classes=frozenset((full,)))
        base = self.value(code, env, node.value, facts, depth + 1)
        if base.held:
            own = join(
                self.attribute(cls, node.attr)
                for cls, guard in base.held
                if guard is None
            )
            if own:
                return own
            methods = [
                (cls, guard)
                for cls, guard in base.held
                if self.program.table.lookup(cls, node.attr) is not None
            ]
            if methods:
                return Value(methods=((node.attr, base),))
            return self.by_word(node.attr)
        worded = self.by_word(node.attr)
        if worded:
            return self.of_draft(worded) if self.is_draft(node) else worded
        return join(self.attribute(cls, node.attr) for cls in sorted(base.objects))

    def _call(
        self, code: Code, env: Env, node: ast.Call, facts: Facts, depth: int
    ) -> Value:
        func = node.func
        names = self.program.names
        if isinstance(func, ast.Attribute) and func.attr in names.pool_getters:
            return instances(self.program.held_pools)
        if isinstance(func, ast.Name):
            if func.id in names.pool_getters:
                return instances(self.program.held_pools)
            if func.id == "getattr" and len(node.args) >= 2:
                key = node.args[1]
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    taken = ast.Attribute(node.args[0], key.value, ast.Load())
                    ast.copy_location(taken, node)
                    return self._attribute(code, env, taken, facts, depth)
            if func.id == "cast" and len(node.args) == 2:
                said = self.annotated(code, node.args[0])
                return said or self.value(code, env, node.args[1], facts, depth + 1)
        built = self._built(code, env, func, facts, depth)
        if built:
            return built
        return join(
            self.returned(target, receiver)
            for target, receiver in self.targets(code, env, func, facts, depth)
        )

    def _built(
        self, code: Code, env: Env, func: ast.expr, facts: Facts, depth: int
    ) -> Value:
        callee = self.value(code, env, func, facts, depth + 1)
        if not callee.classes:
            return NOTHING
        members = callee.classes & self.program.members
        return Value(
            held=tuple((name, None) for name in sorted(members)),
            objects=callee.classes - members,
        )

    def returned(self, code: Code, receiver: Value) -> Value:
        """What a function returns, by its annotation or else by its `return`s."""
        said = self.annotated(code, code.node.returns)
        if said:
            return said
        key = (code.key, receiver)
        if key in self._returned:
            return self._returned[key]
        self._returned[key] = NOTHING  # a cycle ends here
        params = dict(self.declared(code))
        if code.owner and receiver:
            spec = [*code.node.args.posonlyargs, *code.node.args.args]
            if spec:
                params[spec[0].arg] = receiver
        env = Env(params)
        self._returned[key] = join(
            self.value(code, env, part.value)
            for part in walk_own(code.node)
            if isinstance(part, ast.Return) and part.value is not None
        )
        return self._returned[key]

    def _may_lead(self, code: Code, name: str) -> bool:
        """Whether a name can mean a function that is followed; told without parsing."""
        head, _, rest = name.partition(".")
        full = self.program.scope(code).imports.get(head) or code.module.imports.get(
            head
        )
        if full is None:
            return True
        path = self.program.modules.path_of(f"{full}.{rest}" if rest else full)
        if path is None:
            return False
        names = self.program.names
        below = path.partition("/")[2]
        return path.endswith("/__init__.py") or below.startswith(
            (*names.entry_folders, *names.glue_files, *names.helper_folders)
        )

    def targets(
        self, code: Code, env: Env, func: ast.expr, facts: Facts = (), depth: int = 0
    ) -> Iterator[tuple[Code, Value]]:
        """The functions of the tree that a call reaches, with what `self` is there.

        Methods of pools and allocators are not among them: see `Chains`.
        """
        if isinstance(func, ast.Name):
            scope = self.program.scope(code)
            known = (
                func.id in code.module.names
                or func.id in code.module.imports
                or func.id in scope.imports
            )
            if known and self._may_lead(code, func.id):
                target = self.program.function(self.program.resolve(code, func.id))
                if target is not None:
                    yield target, NOTHING
        elif isinstance(func, ast.Attribute):
            name = dotted(func)
            if name and name.partition(".")[0] in {
                **code.module.imports,
                **self.program.scope(code).imports,
            }:
                if self._may_lead(code, name):
                    target = self.program.function(self.program.resolve(code, name))
                    if target is not None:
                        yield target, NOTHING
                return
            if is_super(func.value):
                if code.owner and code.owner not in self.program.members:
                    found = self.program.method(code.owner, func.attr, after=code.owner)
                    if found is not None:
                        yield found, Value(objects=frozenset((code.owner,)))
                return
            base = self.value(code, env, func.value, facts, depth + 1)
            for cls in sorted(base.objects):
                found = self.program.method(cls, func.attr)
                if found is not None:
                    yield found, Value(objects=frozenset((cls,)))


def is_super(node: ast.expr) -> bool:
    """Whether an expression is a `super()` call."""
    return isinstance(node, ast.Call) and dotted(node.func) == "super"
