"""Sub-pools that a wrapper moves, built without the flag that the move needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kvcodemod.facts.classes.constructors import accepts
from kvcodemod.facts.classes.table import Method
from kvcodemod.facts.conditions.options import Option, constant, contradict
from kvcodemod.facts.paths.call_graph import Chains, PoolCall
from kvcodemod.facts.program.arguments import argument, default_of, in_dict
from kvcodemod.facts.program.fields import Assigned
from kvcodemod.facts.program.program import Code
from kvcodemod.facts.receivers.held import Env
from kvcodemod.facts.syntax.bodies import walk_all, walk_own
from kvcodemod.facts.syntax.expressions import identifiers
from kvcodemod.facts.syntax.parsing import Function, dotted


@dataclass(frozen=True, eq=False)
class Unmovable:
    """A sub-pool that cannot move, and the place where the flag would have to stand.

    Attributes:
        wrapper: the class that delegates; `field` is where it keeps the sub-pool.
        sub_pools: the classes of the sub-pool that need the flag.
        delegate: the call in the wrapper's move.
        code, call: the construction to mend: the sub-pool's, or the wrapper's own.
        how: `absent`, `off` or `kwargs` (a `**` that never carries it).
    """

    wrapper: str
    field: str
    sub_pools: tuple[str, ...]
    delegate: PoolCall
    code: Code
    call: ast.Call
    how: str


class Flags:
    """Follows the flag from construction sites to sub-pools."""

    def __init__(self, chains: Chains) -> None:
        """Nothing is followed yet."""
        self.chains = chains
        self.program = chains.program
        self.names = chains.program.names
        self.receivers = chains.receivers

    def unmovable(self) -> Iterator[Unmovable]:
        """Every sub-pool on a path that is moved and was built without the flag."""
        for wrapper in self.program.held_pools:
            move = self.program.method(wrapper, self.names.move)
            if move is None or move.key not in self.chains.calls:
                continue
            for delegate in self.chains.calls[move.key]:
                node = delegate.receiver
                if (
                    delegate.method == self.names.move
                    and isinstance(node, ast.Attribute)
                    and dotted(node.value) == "self"
                ):
                    yield from self._field(wrapper, node.attr, delegate)

    def _field(
        self, wrapper: str, field: str, delegate: PoolCall
    ) -> Iterator[Unmovable]:
        for item in self.receivers.fields.assigned(wrapper, field):
            if item.code is None or item.value is None:
                continue
            env = self.receivers.env_for(wrapper, item.code)
            if contradict(env.options, item.options):
                continue
            for build in walk_all(item.value):
                if isinstance(build, ast.Call):
                    yield from self._build(wrapper, field, delegate, item, build)

    def _build(
        self,
        wrapper: str,
        field: str,
        delegate: PoolCall,
        item: Assigned,
        build: ast.Call,
    ) -> Iterator[Unmovable]:
        code = item.code
        assert code is not None
        env = self.receivers.env_under(
            self.receivers.env_for(wrapper, code), item.options
        )
        whole = self._needing(code, env, build)
        if not whole:
            return
        how, parameter = self._passes(code, build)
        if how in ("absent", "off"):
            yield Unmovable(wrapper, field, whole, delegate, code, build, how)
        elif parameter is not None or how == "kwargs":
            name = parameter or self.names.flag
            for site_code, site in self.receivers.fields.sites(wrapper):
                at = self._env_at(wrapper, code, site_code, site)
                if contradict(at.options, item.options):
                    continue
                env = self.receivers.env_under(at, item.options)
                needing = self._needing(code, env, build)
                if needing and not self._carried(site_code, site, code, name):
                    reason = "kwargs" if how == "kwargs" else "absent"
                    yield Unmovable(
                        wrapper, field, needing, delegate, site_code, site, reason
                    )

    def _needing(self, code: Code, env: Env, build: ast.Call) -> tuple[str, ...]:
        """The pool classes that a call can build and whose move needs the flag."""
        callee = self.receivers.value(code, env, build.func)
        names = sorted(callee.classes & frozenset(self.program.pools))
        keywords = [k.arg for k in build.keywords if k.arg]
        return tuple(
            name
            for name in names
            if self.needs(name)
            and all(accepts(self.program.table, name, keyword) for keyword in keywords)
        )

    def _env_at(self, wrapper: str, code: Code, site_code: Code, site: ast.Call) -> Env:
        """The constructor's parameters as one construction site gives them."""
        init = self.program.method(wrapper, "__init__")
        if init is None or init.key != code.key:
            return self.receivers.env_for(wrapper, code)
        params = dict(self.receivers.env_for(wrapper, code).params)
        site_env = Env(self.receivers.declared(site_code))
        options: list[Option] = []
        spec = init.node.args
        for arg in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs][1:]:
            value = argument(init.node, site, arg.arg)
            if value is not None:
                found = self.receivers.value(site_code, site_env, value)
            else:
                value = default_of(init.node, arg.arg)
                if value is None:
                    continue
                found = self.receivers.value(init, Env(), value)
            params[arg.arg] = found
            known = constant(value)
            options.append(
                Option(arg.arg, "==", known)
                if known is not None
                else Option(arg.arg, "!=", "None")
            )
        return Env(params, options=tuple(options))

    def _passes(self, code: Code, build: ast.Call) -> tuple[str, str | None]:
        """Whether a construction passes the flag, and through which parameter."""
        flag = self.names.flag
        kwargs = code.node.args.kwarg
        for keyword in build.keywords:
            if keyword.arg == flag:
                return self._said(code, keyword.value)
        for keyword in build.keywords:
            if keyword.arg is not None:
                continue
            value = in_dict(code, keyword.value, flag, self.program)
            if value is not None:
                return self._said(code, value)
            if kwargs is not None and self._hands_on(code, keyword.value, kwargs.arg):
                return "kwargs", None
        return "absent", None

    def _said(self, code: Code, value: ast.expr) -> tuple[str, str | None]:
        if isinstance(value, ast.Constant) and not value.value:
            return "off", None
        name = dotted(value)
        spec = code.node.args
        params = {a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]}
        return "on", name if name in params else None

    def _hands_on(self, code: Code, node: ast.expr, kwargs: str) -> bool:
        """Whether `**kwargs` reaches an expression that is splatted."""
        if dotted(node) == kwargs:
            return True
        if isinstance(node, ast.Dict):
            return any(
                key is None and self._hands_on(code, value, kwargs)
                for key, value in zip(node.keys, node.values, strict=True)
            )
        if isinstance(node, ast.Call):
            parts = [*node.args, *(k.value for k in node.keywords if k.arg is None)]
            if isinstance(node.func, ast.Attribute):
                parts.append(node.func.value)
            return any(self._hands_on(code, part, kwargs) for part in parts)
        name = dotted(node)
        bound = self.program.scope(code).bound.get(name, ()) if name else ()
        return any(
            dotted(value) != name and self._hands_on(code, value, kwargs)
            for value in bound
        )

    def _carried(self, code: Code, site: ast.Call, init: Code, name: str) -> bool:
        """Whether a construction site gives the wrapper the flag, switched on."""
        value = argument(init.node, site, name)
        for keyword in site.keywords:
            if value is None and keyword.arg is None:
                value = in_dict(code, keyword.value, name, self.program)
                if value is None and code.node.args.kwarg is not None:
                    own = code.node.args.kwarg.arg
                    if self._hands_on(code, keyword.value, own):
                        return True  # whoever calls this decides: nothing is claimed
        return value is not None and not (
            isinstance(value, ast.Constant) and not value.value
        )

    # -- which moves need it ---------------------------------------------------

    def needs(self, cls: str) -> bool:
        """Whether the move of a class looks at what only the flag sets up."""
        move = self.program.method(cls, self.names.move)
        if move is None:
            return False
        attributes = self._set_up(cls)
        return bool(attributes) and bool(attributes & self._words(cls, move, set()))

    def _set_up(self, cls: str) -> frozenset[str]:
        """The attributes that constructors assign under a test of the flag."""
        found: set[str] = set()
        for owner in self.program.order(cls):
            known = self.program.table.classes.get(owner)
            init = known.method("__init__") if known else None
            if init is None or not any(p.name == self.names.flag for p in init.params):
                continue
            function = self.program.table.function(init)
            for node in walk_own(function):
                if isinstance(node, ast.If) and self.names.flag in identifiers(
                    node.test
                ):
                    for part in node.body:
                        found |= self._stored(cls, init, part)
        return frozenset(found)

    def _stored(self, cls: str, init: Method, statement: ast.stmt) -> set[str]:
        found: set[str] = set()
        for node in walk_all(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Call):
                name = dotted(node.func) or ""
                method = self.program.method(cls, name.removeprefix("self."))
                if name.startswith("self.") and method is not None:
                    found |= _stores(method.node)
        return found

    def _words(self, cls: str, code: Code, seen: set[tuple[str, int]]) -> set[str]:
        """Every name that a method and what it calls on itself mentions."""
        if code.key in seen or len(seen) > 20:
            return set()
        seen.add(code.key)
        scope = self.program.scope(code)
        found = set(scope.words)
        for call in scope.calls:
            func = call.func
            if not isinstance(func, ast.Attribute):
                continue
            after = ""
            if isinstance(func.value, ast.Call) and dotted(func.value.func) == "super":
                after = code.owner
            elif dotted(func.value) != "self":
                continue
            target = self.program.method(cls, func.attr, after=after)
            if target is not None:
                found |= self._words(cls, target, seen)
        return found


def _stores(function: Function) -> set[str]:
    return {
        node.attr
        for node in walk_own(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
