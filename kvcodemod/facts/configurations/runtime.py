"""What an expression anywhere in the tree comes to, on a server that has started."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kvcodemod.facts.conditions.call_sites import Tests, tests_of_values
from kvcodemod.facts.configurations.expressions import parameters
from kvcodemod.facts.configurations.settings import Settings
from kvcodemod.facts.configurations.statements import Statements
from kvcodemod.facts.configurations.values import (
    EITHER,
    FALSE,
    NOTHING,
    TRUE,
    UNKNOWN,
    Atom,
    ClassRef,
    Const,
    FunctionRef,
    Instance,
    Member,
    Value,
    const,
    join,
    one,
)
from kvcodemod.facts.configurations.world import (
    Frame,
    NotYet,
    State,
    Stopped,
    TooLong,
    World,
)
from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.expressions import passed
from kvcodemod.facts.syntax.modules import Module, Modules
from kvcodemod.facts.syntax.parsing import Function, dotted

Callers = Callable[[Code], Iterable[tuple[Code, ast.Call]]]
"""Who calls a function, and by which call."""

_DEEPEST = 6
_MOST_BINDINGS = 8
_MOST_CALLERS = 12
_ROUNDS = 6

Key = tuple[object, ...]
Asked = tuple[str, Any]
"""Something of a world that an answer hangs on."""


Needs = frozenset[Asked]


@dataclass(eq=False)
class Shared:
    """What is kept for all worlds.

    Attributes:
        answers: what has been found, by all that it hangs on and what that was.
        tests: by function, the tests before each value that is assigned or returned.
        stores: by function, how often each local is assigned.
        models: by function, the model architectures that it names.
        assigned: by class and attribute, the values that methods give it.
        parts: by function, what names and attributes get of a tuple that is
            taken apart.
    """

    answers: dict[Key, dict[Needs, dict[tuple[object, ...], Value]]] = field(
        default_factory=dict
    )
    tests: dict[tuple[str, int], dict[int, Tests]] = field(default_factory=dict)
    stores: dict[tuple[str, int], Counter[str]] = field(default_factory=dict)
    models: dict[int, list[Asked]] = field(default_factory=dict)
    assigned: dict[tuple[str, str], list[tuple[Code, ast.expr]]] = field(
        default_factory=dict
    )
    parts: dict[tuple[str, int], dict[str, list[ast.expr]]] = field(
        default_factory=dict
    )
    _orders: dict[Needs, tuple[Asked, ...]] = field(default_factory=dict)

    def ordered(self, needs: Needs) -> tuple[Asked, ...]:
        """The same in one order."""
        if needs not in self._orders:
            self._orders[needs] = tuple(sorted(needs))
        return self._orders[needs]


class Lookup(Statements):
    """Looks names up where they are needed, as nothing has run before.

    A local is what is assigned to it, a parameter what its callers pass, an attribute
    of `self` what the class's methods assign, an attribute of something unknown that is
    called like an option is that option.
    """

    longest = 2_000
    remembers = True

    def __init__(
        self,
        program: Program,
        modules: Modules,
        settings: Settings,
        world: World,
        options: Mapping[str, Value],
        algorithm: Member | None,
        callers: Callers,
        buildable: Callable[[str, Lookup], bool],
        made: Callable[[str], Iterable[tuple[Code, ast.Call]]],
        shared: Shared,
    ) -> None:
        """For one server: its world and what start-up has decided.

        `made` says where a class is called. `buildable` says whether the server can
        hold an object of a class; `shared` is what other worlds have left.
        """
        super().__init__(modules, settings, program.names, world)
        self.program = program
        self.options = options
        self.algorithm = algorithm
        self.callers = callers
        self.buildable = buildable
        self.made = made
        self._all = shared
        self._busy: set[Key] = set()
        self._open: set[Key] = set()
        self._circular = False
        self._asked: set[Asked] = set()
        self._needs: dict[Key, set[Asked]] = {}
        self._known: dict[Key, tuple[Value, Needs]] = {}
        self._missed: set[Key] = set()
        self._nows: dict[Needs, tuple[object, ...]] = {}
        self._found: dict[Key, Value] = {}
        self._before: dict[Key, Value] = {}

    def note(self, kind: str, name: str = "") -> None:
        """What is being looked for hangs on this."""
        self._asked.add((kind, name))

    def _now(self, asked: Asked) -> object:
        """What something that an answer hangs on is in this world."""
        kind, name = asked
        if kind == "option":
            found = self.options.get(name)
            if found is None:
                found = self.world.option(self.settings, name)
            return found.atoms
        if kind == "algorithm":
            return self.algorithm
        if kind == "platform":
            return self.world.platform
        return self.world.architectures if kind == "architecture" else None

    def _now_all(self, needs: Needs) -> tuple[object, ...]:
        """All of them, in order."""
        if needs not in self._nows:
            self._nows[needs] = tuple(self._now(a) for a in self._all.ordered(needs))
        return self._nows[needs]

    def _fixed(self, key: Key, compute: Callable[[], Value]) -> Value:
        """An answer that can hang on itself: the least one that fits.

        Where it is asked for while it is looked for, it counts as what the round before
        has found, at first as nothing. The question that started it all is asked again
        until a round finds what the one before found. An answer of another world serves
        where all that it hangs on is the same.
        """
        known = self._known.get(key)
        if known is None and key not in self._missed:
            known = self._from_others(key)
        if known is not None:
            self._asked |= known[1]
            return known[0]
        if key in self._found:
            self._asked |= self._needs[key]
            return self._found[key]
        if key in self._open:
            self._circular = True
            self._asked.add(("key", key))
            return self._before.get(key, NOTHING)
        if self._open:
            return self._once(key, compute)
        try:
            self._solve(key, compute)
        finally:
            self._before, self._found, self._needs = {}, {}, {}
            self._asked = {asked for asked in self._asked if asked[0] != "key"}
        return self._known[key][0]

    def _solve(self, key: Key, compute: Callable[[], Value]) -> None:
        for _ in range(_ROUNDS):
            self._once(key, compute)
            changed = {
                ("key", k) for k, v in self._found.items() if self._before.get(k) != v
            }
            self._before = {**self._before, **self._found}
            stale = {k for k in self._found if not changed.isdisjoint(self._needs[k])}
            if key not in stale:
                break
            self._found = {k: v for k, v in self._found.items() if k not in stale}
        else:
            found = dict.fromkeys(stale, UNKNOWN)
            self._found = {**self._before, **found}
        whole: dict[frozenset[Asked], Needs] = {}
        for key_, value in self._found.items():
            part = frozenset(self._needs[key_])
            if part not in whole:
                whole[part] = self._whole(part)
            needs = whole[part]
            self._known[key_] = (value, needs)
            others = self._all.answers.setdefault(key_, {})
            others.setdefault(needs, {})[self._now_all(needs)] = value

    def _once(self, key: Key, compute: Callable[[], Value]) -> Value:
        outer, self._asked = self._asked, set()
        self._open.add(key)
        try:
            found = join((self._before.get(key, NOTHING), compute()))
        finally:
            self._open.discard(key)
            self._needs[key] = self._needs.get(key, set()) | self._asked
            self._asked = outer | self._asked
        self._found[key] = found
        return found

    def _whole(self, needs: Needs) -> Needs:
        """With what the answers that they go round hang on."""
        if all(kind != "key" for kind, _ in needs):
            return needs
        found: set[Asked] = set()
        todo: list[Iterable[Asked]] = [needs]
        seen: set[object] = set()
        while todo:
            for asked in todo.pop():
                if asked[0] != "key":
                    found.add(asked)
                elif asked[1] not in seen:
                    seen.add(asked[1])
                    todo.append(self._needs.get(asked[1], set()))
        return frozenset(found)

    def _from_others(self, key: Key) -> tuple[Value, Needs] | None:
        """The answer of another world in which all that it hangs on is the same."""
        for needs, answers in self._all.answers.get(key, {}).items():
            value = answers.get(self._now_all(needs))
            if value is not None:
                self._known[key] = (value, needs)
                return self._known[key]
        self._missed.add(key)
        return None

    def asked_for(self, code: Code, tests: Tests) -> Needs:
        """What it hangs on whether the server can get past some tests."""
        self.meets(code, tests)
        known = self._known.get(_key(code, tests))
        return known[1] if known is not None else frozenset()

    def meets(self, code: Code, tests: Tests) -> bool:
        """Whether the server can get past all of these tests."""
        if not tests:
            return True

        def compute() -> Value:
            state = State(self.options)
            return NOTHING if self.holds(code, tests, state) is None else TRUE

        return self._fixed(_key(code, tests), compute) != NOTHING

    def can_hold(self, cls: str) -> bool:
        """Whether the server can hold an object of a class."""

        def compute() -> Value:
            return TRUE if self.buildable(cls, self) else NOTHING

        return self._fixed(("held", cls), compute) != NOTHING

    def frame(self, code: Code) -> Frame:
        """A function of which nothing has run yet."""
        self._note_models(code.node)
        imports = dict(self.program.scope(code).imports)
        return Frame(code.module, code.owner, imports, code=code)

    def holds(self, code: Code, tests: Tests, state: State) -> State | None:
        """The state where all tests come out as told; None where they cannot."""
        frame = self.frame(code)
        here: State | None = State(state.options)
        for test, wanted in tests:
            assert here is not None
            try:
                yes, no = self.fork(frame, test, here)
            except NotYet:
                return None
            except (Stopped, TooLong):
                continue  # it raises there, or is too much: nothing is said
            here = yes if wanted else no
            if here is None:
                return None
        return here

    def enter(
        self,
        ref: FunctionRef,
        args: list[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> Value:
        """What a function returns; nothing that it does to the options is kept."""
        if len(self._stack) >= _DEEPEST:
            self.unsure += 1
            return UNKNOWN
        key = ("call", id(ref.node), ref.bound, *args, *sorted(keywords.items()))
        self._note_models(ref.node)

        def compute() -> Value:
            steps, self.steps = self.steps, 0
            circular, self._circular = self._circular, False
            try:
                known = State(self.options)
                return super(Lookup, self).enter(ref, args, keywords, known)
            except TooLong:
                return UNKNOWN
            except Stopped:
                return NOTHING if self._circular else UNKNOWN
            finally:
                self.steps = steps
                self._circular = self._circular or circular

        return self._got(self._fixed(key, compute))

    def _got(self, value: Value) -> Value:
        """A value, if there is one by now."""
        if value == NOTHING:
            raise NotYet
        return value

    def follows(self, path: str) -> bool:
        """Any file may be looked into."""
        return True

    def is_option(self, name: str) -> bool:
        """Options, by name."""
        return name in self.settings.all

    def qualified(self, full: str) -> Value:
        """What a qualified name stands for; it can hang on the platform."""
        home, _, bare = full.rpartition(".")
        found = self._fixed(("global", full), lambda: self._qualified(home, bare))
        return self._got(found)

    def _note_models(self, node: Function) -> None:
        """The model architectures that a function names can decide what it returns."""
        if id(node) not in self._all.models:
            self._all.models[id(node)] = [
                ("model", part.value)
                for part in walk_own(node)
                if isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and part.value.isidentifier()
                and part.value.endswith(self.names.architecture_endings)
            ]
        self._asked.update(self._all.models[id(node)])

    # -- names

    def _of_name(self, frame: Frame, node: ast.Name, state: State) -> Value:
        if node.id in state.names:
            return state.names[node.id]
        if frame.code is not None:
            found = self._local(frame, node.id, state)
            if found is not None:
                return found
        return self.named(frame, node.id)

    def _local(self, frame: Frame, name: str, state: State) -> Value | None:
        """A local or a parameter of a function that has not run; None: neither."""
        code = frame.code
        assert code is not None
        key = ("local", code.key, name)
        bound = self._bound_to(code, name)
        every = [*parameters(code.node), *code.node.args.kwonlyargs]
        is_param = any(arg.arg == name for arg in every)
        stores = self._stores(code)[name]
        if not bound and not is_param:
            return UNKNOWN if stores else None

        def compute() -> Value:
            if stores != len(bound) or len(bound) > _MOST_BINDINGS:
                return UNKNOWN
            values = [self._quietly(frame, v) for v in bound if self._gets_to(code, v)]
            if is_param:
                values.append(self._parameter(code, name))
            return join(values)

        return self._got(self._fixed(key, compute))

    def _bound_to(self, code: Code, name: str) -> list[ast.expr]:
        """What a local or an attribute is assigned; of a tuple, the part of it."""
        bound = list(self.program.scope(code).bound.get(name, ()))
        if code.key not in self._all.parts:
            self._all.parts[code.key] = _parts(code.node)
        return bound + self._all.parts[code.key].get(name, [])

    def _stores(self, code: Code) -> Counter[str]:
        """How often each local is assigned."""
        if code.key not in self._all.stores:
            self._all.stores[code.key] = Counter(
                n.id
                for n in walk_own(code.node)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            )
        return self._all.stores[code.key]

    def _quietly(self, frame: Frame, node: ast.expr) -> Value:
        """The value of an expression elsewhere; its effects are not kept."""
        try:
            return self.value(frame, node, State(self.options))
        except NotYet:
            return NOTHING
        except (Stopped, TooLong):
            return UNKNOWN

    def _parameter(self, code: Code, name: str) -> Value:
        special = self._called_like(name)
        if special is not None:
            return special
        every = parameters(code.node)
        if every and every[0].arg == name and code.owner:
            return one(Instance(code.owner))
        found: list[Value] = []
        for caller, call in self.callers(code):
            argument = argument_for(code, call, name)
            if argument is None or len(found) >= _MOST_CALLERS:
                return UNKNOWN
            found.append(self._quietly(self.frame(caller), argument))
        return join(found) if found else UNKNOWN

    def _called_like(self, name: str) -> Value | None:
        """What something is that is called like an option or the algorithm."""
        if name in self.names.algorithm_words:
            self.note("algorithm")
            if self.algorithm is None:
                return UNKNOWN
            return one(self.algorithm)
        if "_" in name and name in self.settings.all:
            self.note("option", name)
            return self.options.get(name, self.world.option(self.settings, name))
        return None

    def _call_isinstance(self, frame: Frame, node: ast.Call, state: State) -> Value:
        """No, where the server holds no object of any of the classes."""
        found = super()._call_isinstance(frame, node, state)
        if found != EITHER or len(node.args) != 2:
            return found
        kinds = node.args[1]
        parts = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        for part in parts:
            atom = self.value(frame, part, state).only
            if not isinstance(atom, ClassRef):
                return found
            if atom.qualname not in self.program.table.classes:
                return found
            if self.can_hold(atom.qualname):
                return found
        return FALSE

    # -- attributes

    def _of_attribute(self, frame: Frame, node: ast.Attribute, state: State) -> Value:
        text = dotted(node)
        if text is not None and text in state.names:
            return state.names[text]
        return super()._of_attribute(frame, node, state)

    def _is_self(self, frame: Frame, node: ast.expr) -> bool:
        code = frame.code
        if code is None or not code.owner or not isinstance(node, ast.Name):
            return False
        every = parameters(code.node)
        return bool(every) and every[0].arg == node.id

    def _attribute(self, atom: Atom, name: str, state: State) -> Value:
        if not isinstance(atom, Instance):
            return super()._attribute(atom, name, state)
        known = state.options.get(name)
        if known is not None and self._called_like(name) is not None:
            return known
        key = ("self", atom.qualname, name)
        return self._got(self._fixed(key, lambda: self._self(atom.qualname, name)))

    def _self(self, owner: str, name: str) -> Value:
        special = self._called_like(name)
        if special is not None:
            return special
        method = self.program.method(owner, name)
        if method is not None:
            kinds = {
                (dotted(d) or "").rpartition(".")[2] for d in method.node.decorator_list
            }
            if kinds & {"property", "cached_property"}:
                return self._property(method)
            bound = None if "staticmethod" in kinds else Instance(owner)
            return one(FunctionRef(method.module, method.node, method.qualname, bound))
        found: list[Value] = []
        for assigned, value in self._assigned(owner, name):
            if len(found) >= _MOST_BINDINGS:
                return UNKNOWN
            if not self._gets_to(assigned, value):
                continue
            found.append(self._quietly(self.frame(assigned), value))
        found += self._fields(owner, name)
        if found:
            return join(found)
        return self.of_unknown(name, State(self.options))

    def _fields(self, owner: str, name: str) -> list[Value]:
        """What a field is given where its class is called."""
        cls = self._class(owner)
        declared = cls is not None and any(
            isinstance(s, ast.AnnAssign) and dotted(s.target) == name
            for s in cls[1].body
        )
        found: list[Value] = []
        whole = True
        for caller, call in self.made(owner) if declared else ():
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            if name in given and len(found) < _MOST_CALLERS:
                found.append(self._quietly(self.frame(caller), given[name]))
            else:
                whole = False
        return found if whole or not found else [UNKNOWN]

    def _gets_to(self, code: Code, value: ast.expr) -> bool:
        """Whether the server gets to the statement that a value is assigned in."""
        if code.key not in self._all.tests:
            self._all.tests[code.key] = tests_of_values(code.node.body)
        tests = self._all.tests[code.key].get(id(value), ())
        return self.holds(code, tests, State(self.options)) is not None

    def _property(self, code: Code) -> Value:
        """What a property returns, each `return` where it can be reached."""
        frame = self.frame(code)
        found: list[Value] = []
        for node in walk_own(code.node):
            if isinstance(node, ast.Return):
                if node.value is None or len(found) >= _MOST_BINDINGS:
                    return UNKNOWN
                found.append(self._quietly(frame, node.value))
        return join(found) if found else UNKNOWN

    def _assigned(self, owner: str, name: str) -> list[tuple[Code, ast.expr]]:
        """The values that methods of a class and its bases give to an attribute."""
        key = (owner, name)
        if key not in self._all.assigned:
            self._all.assigned[key] = list(self._values_of(owner, name))
        return self._all.assigned[key]

    def _class(self, qualname: str) -> tuple[Module, ast.ClassDef] | None:
        """A class of the tree, in whatever file it is."""
        found = self.program.class_of(qualname)
        if found is None:
            home, _, bare = qualname.rpartition(".")
            module = self.modules.named(home)
            node = module.names.get(bare) if module else None
            if module is not None and isinstance(node, ast.ClassDef):
                return module, node
        return found

    def _values_of(self, owner: str, name: str) -> Iterator[tuple[Code, ast.expr]]:
        target = f"self.{name}"
        for cls in self.program.order(owner):
            found = self._class(cls)
            if found is None:
                continue
            module, node = found
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    code = self.program.code(
                        module, statement, f"{cls}.{statement.name}", cls
                    )
                    for value in self._bound_to(code, target):
                        yield code, value

    def of_unknown(self, name: str, state: State) -> Value:
        """An attribute of something unknown: an option, where it is called like one."""
        special = self._called_like(name)
        if special is not None:
            known = state.options.get(name)
            return special if known is None else known
        return super().of_unknown(name, state)

    def _keep_name(
        self, frame: Frame, node: ast.expr, value: Value, state: State
    ) -> None:
        text = dotted(node)
        if text is not None:
            state.names[text] = value

    def _keep(
        self, frame: Frame, node: ast.expr, op: str, other: ast.expr, state: State
    ) -> State | None:
        """A number that is only known to be above another is one of a few that are."""
        last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        least = None
        if op in (">", ">=") and self._is_number(last):
            least = self.value(frame, other, state).only
        number = least.value if isinstance(least, Const) else None
        if isinstance(number, int) and not self.value(frame, node, state).known:
            above = number + (op == ">")
            return self._kept(frame, node, _from(above), state)
        found = super()._keep(frame, node, op, other, state)
        return found and self._kept_behind(frame, node, op, other, found)

    def _kept_behind(
        self, frame: Frame, node: ast.expr, op: str, other: ast.expr, state: State
    ) -> State | None:
        """The same for the one expression that a name stands for."""
        behind = self._behind(frame, node)
        right = self.value(frame, other, state).only if behind else None
        if behind is None or not isinstance(right, Const):
            return state
        inner, value = behind
        key = ("behind", id(value))
        if key in self._busy:
            return state
        self._busy.add(key)
        try:
            said = ast.copy_location(ast.Constant(right.value), other)
            there = self._keep(inner, value, op, said, State(state.options))
        except (Stopped, TooLong):
            return state
        finally:
            self._busy.discard(key)
        if there is None:
            return None
        state.options = there.options
        return state

    def _is_number(self, name: str) -> bool:
        """Whether an option of this name is a whole number."""
        setting = self.settings.all.get(name) if "_" in name else None
        return setting is not None and setting.number

    def _kept(
        self, frame: Frame, node: ast.expr, value: Value, state: State
    ) -> State | None:
        """A test narrows the name that it asks for, and the option behind it."""
        if value.atoms is not None and not value.atoms:
            return None
        self._keep_name(frame, node, value, state)
        last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        if "_" in last and last in self.settings.all:
            state.decide(last, value)
        return state

    def _narrowed(
        self, frame: Frame, test: ast.expr, state: State, truth_: bool
    ) -> State | None:
        """Also through a local or an attribute that stands for another condition."""
        found = super()._narrowed(frame, test, state, truth_)
        if found is None:
            return None
        behind = self._behind(frame, test)
        if behind is None:
            return found
        inner, value = behind
        key = ("behind", id(value))
        if key in self._busy:
            return found
        self._busy.add(key)
        try:
            other = State(found.options)
            said = self.fork(inner, value, other)[0 if truth_ else 1]
        except (Stopped, TooLong):
            return found
        finally:
            self._busy.discard(key)
        if said is None:
            return None
        found.options = said.options
        return found

    def _behind(self, frame: Frame, test: ast.expr) -> tuple[Frame, ast.expr] | None:
        """The one expression that a name stands for."""
        code = frame.code
        if code is None:
            return None
        if isinstance(test, ast.Name):
            bound = self.program.scope(code).bound.get(test.id, ())
            every = [*parameters(code.node), *code.node.args.kwonlyargs]
            if len(bound) == 1 and all(arg.arg != test.id for arg in every):
                return frame, bound[0]
        if isinstance(test, ast.Attribute) and self._is_self(frame, test.value):
            method = self.program.method(code.owner, test.attr)
            if method is not None:
                returns = [
                    n for n in walk_own(method.node) if isinstance(n, ast.Return)
                ]
                if len(returns) == 1 and returns[0].value is not None:
                    return self.frame(method), returns[0].value
                return None
            found = self._assigned(code.owner, test.attr)
            if len(found) == 1:
                return self.frame(found[0][0]), found[0][1]
        return None


def _parts(node: Function) -> dict[str, list[ast.expr]]:
    """`a, self.b = value`: the names, each with its part of the value."""
    found: dict[str, list[ast.expr]] = {}
    for part in walk_own(node):
        if isinstance(part, ast.Assign) and len(part.targets) == 1:
            target = part.targets[0]
            if isinstance(target, ast.Tuple) and not isinstance(part.value, ast.Tuple):
                for at, inner in enumerate(target.elts):
                    name = dotted(inner)
                    if name is not None:
                        index = ast.Constant(at)
                        item = ast.Subscript(part.value, index, ast.Load())
                        ast.copy_location(index, part.value)
                        ast.copy_location(item, part.value)
                        found.setdefault(name, []).append(item)
    return found


def _from(least: int) -> Value:
    """What stands for the numbers from one on: its neighbours and powers of two."""
    powers = (2**n for n in range(1, 10) if 2**n > least + 1)
    return join(const(n) for n in (least, least + 1, *powers))


def _key(code: Code, tests: Tests) -> Key:
    return ("meets", code.key, *((id(test), wanted) for test, wanted in tests))


def argument_for(code: Code, call: ast.Call, name: str) -> ast.expr | None:
    """The expression that a call passes for a parameter, or its default."""
    order = [arg.arg for arg in parameters(code.node)]
    if code.owner and order:
        order = order[1:]
    for parameter, value in passed(call, order):
        if parameter == name:
            return value
    spec = code.node.args
    plain = [*spec.posonlyargs, *spec.args]
    for arg, default in zip(reversed(plain), reversed(spec.defaults), strict=False):
        if arg.arg == name:
            return default
    for arg, preset in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if arg.arg == name:
            return preset
    return None
