"""What a receiver can be: annotations, names, locals, fields, constructors, getters."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kvcodemod.facts.bodies import walk_own
from kvcodemod.facts.built import Built
from kvcodemod.facts.fields import Fields
from kvcodemod.facts.modules import Function, dotted
from kvcodemod.facts.narrowing import Conditions, Facts, narrowed, subject_of
from kvcodemod.facts.options import Option, Options, contradict, located, options_of
from kvcodemod.facts.program import Code, Program
from kvcodemod.facts.values import NOTHING, Value, instances, join

_DEPTH = 8
_WRAPPERS = frozenset({"Optional", "Union", "List", "Sequence", "Tuple", "Annotated"})
_WRAPPERS_LOWER = frozenset({"list", "tuple", "Iterable", "Type", "type", "Final"})


@dataclass(frozen=True, eq=False)
class Env:
    """What a function's parameters can be; `self` is one of them."""

    params: Mapping[str, Value] = field(default_factory=dict)
    known: dict[tuple[int, int], tuple[Value, ast.expr, Facts]] = field(
        default_factory=dict
    )
    """What was found for an expression; it is kept so that its id stays its own."""
    options: Options = ()
    """What is known about the parameters themselves."""


class Receivers:
    """Evaluates expressions as far as pools, allocators and their methods go."""

    def __init__(self, program: Program) -> None:
        """Nothing is evaluated yet."""
        self.program = program
        self.fields = Fields(program)
        self.built = Built(program)
        self.draft: Options = (Option(program.names.draft_option, "truth", "True"),)
        self._declared: dict[tuple[str, int], dict[str, Value]] = {}
        self.under: dict[tuple[str, str], dict[str, tuple[Options, ...]]] = {}
        """(class, attribute) -> class that it holds -> the options of each case."""
        self._words: dict[str, Value] = {}
        self._under: dict[tuple[str, int], dict[int, Options]] = {}
        self._facts: dict[tuple[str, int], Facts] = {}
        self._envs: dict[tuple[str, tuple[str, int]], Env] = {}
        self._known: dict[tuple[str, str], Value] = {}
        self._returned: dict[tuple[tuple[str, int], Value], Value] = {}

    # -- names and annotations -------------------------------------------------

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
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
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
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
                return frozenset()
        found: set[str] = set()
        for part in ast.walk(node):
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

    # -- expressions -----------------------------------------------------------

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

    def env_under(self, env: Env, options: Options) -> Env:
        """The same parameters where some options hold."""
        if not options:
            return env
        return Env(env.params, options=(*env.options, *options))

    def _bound_under(self, code: Code) -> dict[int, Options]:
        """What holds where each local name is assigned, by the value's node."""
        if code.key not in self._under:
            self._under[code.key] = {
                id(statement.value): options
                for statement, options in located(code.node.body)
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
            if head in code.module.imports or head in self.program.scope(code).imports:
                if name.rpartition(".")[2] in self.program.table.names:
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
            return self._of_draft(worded) if self.is_draft(node) else worded
        return join(self.attribute(cls, node.attr) for cls in sorted(base.objects))

    def is_draft(self, node: ast.expr) -> bool:
        """Whether a receiver is reached through something of the draft model."""
        words = self.program.names.draft_words
        return any(
            word in part.split("_")
            for text in (subject_of(node) or ast.unparse(node),)
            for part in text.replace("[", ".").replace("s.", ".").split(".")
            for word in words
        )

    def _of_draft(self, value: Value) -> Value:
        """Without the pools that are never built for a draft model."""
        held = tuple(
            (name, guard)
            for name, guard in value.held
            if not self.built.impossible(name, self.draft)
        )
        return Value(held, value.objects, value.classes, value.methods)

    def attribute(self, cls: str, attribute: str) -> Value:
        """What an attribute of an instance of a class can hold."""
        key = (cls, attribute)
        if key not in self._known:
            self._known[key] = NOTHING  # a cycle ends here
            self._known[key] = self._field(cls, attribute)
        return self._known[key]

    def _field(self, cls: str, attribute: str) -> Value:
        found: list[Value] = []
        said: list[Value] = []
        under: dict[str, list[Options]] = {}
        for item in self.fields.assigned(cls, attribute):
            code = item.code or self._some_code(cls)
            if code is None:
                continue
            said.append(self.annotated(code, item.annotation))
            if item.code is None or item.value is None:
                continue
            env = self.env_for(cls, item.code)
            if contradict(env.options, item.options):
                continue
            facts = self._asserted(item.code)
            here = self.env_under(env, item.options)
            value = self.value(item.code, here, item.value, facts)
            found.append(value)
            for name, _ in value.held:
                under.setdefault(name, []).append(item.options)
        self.under[(cls, attribute)] = {n: tuple(o) for n, o in under.items()}
        value = join(found)
        if value:
            return value
        value = join(said)
        if value:
            return value
        method = self.program.method(cls, attribute)
        if method is not None and _is_property(method.node):
            return self.returned(method, self.self_exactly(cls))
        return NOTHING

    def _asserted(self, code: Code) -> Facts:
        """What a function asserts about receivers before it does anything else."""
        if code.key not in self._facts:
            scope = self.program.scope(code)
            conditions = Conditions(
                code.path,
                lambda name: self.program.resolve_class(code, name),
                scope.bound,
            )
            self._facts[code.key] = tuple(
                fact
                for statement in code.node.body
                if isinstance(statement, ast.Assert)
                for fact in conditions.both(statement.test)[0]
            )
        return self._facts[code.key]

    def _some_code(self, cls: str) -> Code | None:
        """A function through which a class's own annotations are resolved."""
        for owner in self.program.order(cls):
            method = self.program.method(owner, "__init__")
            if method is not None and method.owner == owner:
                return method
        return None

    def self_exactly(self, cls: str) -> Value:
        """`self` as an instance of one class."""
        if cls in self.program.members:
            return instances((cls,))
        return Value(objects=frozenset((cls,)))

    def env_for(self, cls: str, code: Code) -> Env:
        """A method's parameters for instances of one class, constructors followed."""
        key = (cls, code.key)
        if key not in self._envs:
            self._envs[key] = Env(self.declared(code))  # a cycle ends here
            self._envs[key] = self._env(cls, code)
        return self._envs[key]

    def _env(self, cls: str, code: Code) -> Env:
        params = dict(self.declared(code))
        options: list[Option] = []
        spec = code.node.args
        names = [a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]]
        if code.node.name == "__init__" and cls in self.program.members:
            for name in names[1:]:
                given = self.fields.given(cls, code.owner, name)
                values = join(
                    self.value(g.code, self._env_at(cls, g.code), g.value)
                    for g in given or ()
                )
                if values:
                    params[name] = self.fitting(code, name, values)
                elif given and all(isinstance(g.value, ast.Constant) for g in given):
                    params.pop(name, None)
                options.extend(
                    _known(name, [self._unfolded(g.code, g.value) for g in given or ()])
                )
        if names:
            params[names[0]] = self.self_exactly(cls)
        return Env(params, options=tuple(options))

    def _unfolded(self, code: Code, node: ast.expr) -> ast.expr:
        """What a local name was assigned, where that is always a call."""
        if isinstance(node, ast.Name):
            bound = self.program.scope(code).bound.get(node.id, ())
            if bound and all(isinstance(value, ast.Call) for value in bound):
                return bound[0]
        return node

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

    def _env_at(self, cls: str, code: Code) -> Env:
        """The parameters of the function in which a constructor is called."""
        if code.owner in self.program.order(cls):
            return self.env_for(cls, code)
        key = ("", code.key)
        if key not in self._envs:
            self._envs[key] = Env(self.declared(code))
            if code.owner in self.program.members:
                envs = [
                    self.env_for(name, code).params
                    for name in self.program.concrete(code.owner)
                ]
                names = sorted({name for params in envs for name in params})
                joined = {n: join(p.get(n, NOTHING) for p in envs) for n in names}
                self._envs[key] = Env(joined)
        return self._envs[key]

    # -- calls -----------------------------------------------------------------

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
            (*names.entry_folders, *names.helper_folders)
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


def _known(name: str, values: list[ast.expr]) -> list[Option]:
    """What is known about a parameter for which these values are passed."""
    if not values:
        return []
    constants = {repr(v.value) for v in values if isinstance(v, ast.Constant)}
    if len(constants) == 1 and all(isinstance(v, ast.Constant) for v in values):
        return [Option(name, "==", constants.pop())] if _literal(values[0]) else []
    if all(isinstance(v, ast.Call | ast.Dict | ast.List | ast.Lambda) for v in values):
        return [Option(name, "!=", "None")]
    return []


def _literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (
        node.value is None or type(node.value) in (bool, int, str)
    )


def _worded(name: str, words: tuple[str, ...]) -> bool:
    return any(name == word or name.endswith(f"_{word}") for word in words)


def is_super(node: ast.expr) -> bool:
    """Whether an expression is a `super()` call."""
    return isinstance(node, ast.Call) and dotted(node.func) == "super"


def is_static(node: Function) -> bool:
    """Whether a method gets no instance."""
    return any(
        (dotted(d) or "").rpartition(".")[2] in ("staticmethod", "classmethod")
        for d in node.decorator_list
    )


def _is_property(node: Function) -> bool:
    return any(
        (dotted(d) or "").rpartition(".")[2] in ("property", "cached_property")
        for d in node.decorator_list
    )
