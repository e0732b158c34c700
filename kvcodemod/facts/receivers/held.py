"""What fields hold and what parameters are given, for instances of one class."""

from __future__ import annotations

import abc
import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from kvcodemod.facts.conditions.options import Option, Options, contradict
from kvcodemod.facts.conditions.receiver_tests import Conditions, Facts
from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.receivers.annotations import Annotations
from kvcodemod.facts.receivers.values import NOTHING, Value, join
from kvcodemod.facts.syntax.parsing import Function, dotted


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


class HeldValues(Annotations, abc.ABC):
    """Fields and constructor parameters; expressions are left to the subclass."""

    def __init__(self, program: Program) -> None:
        """Nothing is evaluated yet."""
        super().__init__(program)
        self._known: dict[tuple[str, str], Value] = {}
        self._envs: dict[tuple[str, tuple[str, int]], Env] = {}
        self._facts: dict[tuple[str, int], Facts] = {}
        self.under: dict[tuple[str, str], dict[str, tuple[Options, ...]]] = {}
        """(class, attribute) -> class that it holds -> the options of each case."""

    @abc.abstractmethod
    def value(
        self, code: Code, env: Env, node: ast.expr, facts: Facts = (), depth: int = 0
    ) -> Value:
        """What an expression can be, under the facts that hold where it stands."""

    @abc.abstractmethod
    def returned(self, code: Code, receiver: Value) -> Value:
        """What a function returns, by its annotation or else by its `return`s."""

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

    def env_under(self, env: Env, options: Options) -> Env:
        """The same parameters where some options hold."""
        if not options:
            return env
        return Env(env.params, options=(*env.options, *options))


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


def _is_property(node: Function) -> bool:
    return any(
        (dotted(d) or "").rpartition(".")[2] in ("property", "cached_property")
        for d in node.decorator_list
    )
