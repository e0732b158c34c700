"""What an expression of start-up can come out as, in three-valued logic."""

from __future__ import annotations

import ast
import builtins
import operator
import re
from collections.abc import Callable, Iterator

from kvcodemod.config import Names
from kvcodemod.facts.classes.table import bases_of
from kvcodemod.facts.configurations.settings import Settings
from kvcodemod.facts.configurations.values import (
    FALSE,
    MIRRORED,
    NONE,
    OPPOSITE,
    OPS,
    TRUE,
    UNKNOWN,
    Atom,
    ClassRef,
    Const,
    FunctionRef,
    Member,
    Record,
    Series,
    Table,
    Value,
    compared,
    const,
    join,
    narrowed,
    one,
    told,
    truth,
    truth_of,
)
from kvcodemod.facts.configurations.world import (
    Frame,
    Place,
    State,
    Stopped,
    World,
    merged,
)
from kvcodemod.facts.syntax.bodies import children, walk_all
from kvcodemod.facts.syntax.modules import Module, Modules
from kvcodemod.facts.syntax.parsing import Function, dotted

_NUMBERS: dict[type, Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_TEXT = frozenset(
    {
        *("lower", "upper", "strip", "startswith", "endswith", "removeprefix"),
        *("split", "replace", "lstrip", "rstrip", "removesuffix", "isdigit"),
    }
)
_MODEL = const("model")
_ARCHITECTURES = "architectures"
"""Where a model's `config.json` names its class."""
_MANY = 24
"""Pairs of atoms beyond which the outcome is not looked for."""
_SHORT = 24
"""Characters of a pattern and a text up to which one is matched with the other."""
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class Expressions:
    """Evaluates expressions in a world; what it cannot tell is unknown."""

    def __init__(
        self, modules: Modules, settings: Settings, names: Names, world: World
    ) -> None:
        """Nothing is evaluated yet."""
        self.modules = modules
        self.settings = settings
        self.names = names
        self.world = world
        self.raised: list[Place] = []
        """Where something is raised, on some way at least."""
        self.unsure = 0
        """How many things were met that could raise for all that is known."""
        self._globals: dict[str, Value] = {}
        self._called_names: dict[str, bool] = {}
        self._generators: dict[int, bool] = settings.generators
        self._kinds: dict[type, Callable[[Frame, ast.expr, State], Value]] = {}

    # -- what the statements add

    def enter(
        self,
        ref: FunctionRef,
        args: list[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> Value:
        """What a function of the tree returns; its effects go into the state."""
        raise NotImplementedError

    # -- options

    def option(self, state: State, name: str) -> Value:
        """What an option is by now; the model's name stays a plain one."""
        if name == self.names.model_option:
            return _MODEL
        self.note("option", name)
        found = state.options.get(name)
        if found is None:
            return self.world.option(self.settings, name)
        return found

    def note(self, kind: str, name: str = "") -> None:
        """Something of the world was asked for: an option, the platform, ..."""

    def joined(self, ways: list[State]) -> State | None:
        """What holds after one of several; None where there is none."""
        return merged(ways, self.settings, self.world)

    def decide(self, state: State, name: str, value: Value) -> None:
        """An option is this from here on."""
        state.decide(name, value)

    def assign(self, state: State, name: str, value: Value) -> None:
        """The code sets an option, as opposed to asking about it."""
        self.decide(state, name, value)

    def is_option(self, name: str) -> bool:
        """Whether the tree declares an option of this name."""
        return name in self.settings.all

    # -- expressions

    def value(self, frame: Frame, node: ast.expr, state: State) -> Value:
        """What an expression can come out as.

        Raises:
            Stopped: it never does.
        """
        kind = node.__class__
        found = self._kinds.get(kind)
        if found is None:
            found = getattr(self, f"_of_{kind.__name__.lower()}", self._of_anything)
            self._kinds[kind] = found
        return found(frame, node, state)

    def _of_anything(self, frame: Frame, node: ast.expr, state: State) -> Value:
        self.unsure += 1
        return UNKNOWN

    def _of_lambda(self, frame: Frame, node: ast.Lambda, state: State) -> Value:
        return UNKNOWN

    def _of_joinedstr(self, frame: Frame, node: ast.JoinedStr, state: State) -> Value:
        return UNKNOWN

    def _of_constant(self, frame: Frame, node: ast.Constant, state: State) -> Value:
        if node.value is ... or isinstance(node.value, complex):
            return UNKNOWN
        return const(node.value)

    def _of_tuple(self, frame: Frame, node: ast.Tuple, state: State) -> Value:
        return self._series(frame, node.elts, state)

    def _of_list(self, frame: Frame, node: ast.List, state: State) -> Value:
        return self._series(frame, node.elts, state)

    def _of_set(self, frame: Frame, node: ast.Set, state: State) -> Value:
        return self._series(frame, node.elts, state)

    def _series(self, frame: Frame, nodes: list[ast.expr], state: State) -> Value:
        items: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.value(frame, node.value, state).only
                if not isinstance(inner, Series):
                    return UNKNOWN
                items.extend(inner.items)
            else:
                items.append(self.value(frame, node, state))
        return one(Series(tuple(items)))

    def _of_dict(self, frame: Frame, node: ast.Dict, state: State) -> Value:
        items: dict[Atom, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                inner = self.value(frame, value, state).only
                if not isinstance(inner, Table):
                    return UNKNOWN
                items.update(inner.items)
                continue
            atom = self.value(frame, key, state).only
            if atom is None:
                return UNKNOWN
            items[atom] = self.value(frame, value, state)
        return one(Table(tuple(items.items())))

    def _of_namedexpr(self, frame: Frame, node: ast.NamedExpr, state: State) -> Value:
        found = self.value(frame, node.value, state)
        state.names[node.target.id] = found
        return found

    def _of_ifexp(self, frame: Frame, node: ast.IfExp, state: State) -> Value:
        yes, no = self.fork(frame, node.test, state)
        found: list[Value] = []
        for way, inner in ((yes, node.body), (no, node.orelse)):
            if way is not None:
                found.append(self.value(frame, inner, way))
        self._rejoin(state, [s for s in (yes, no) if s is not None])
        return join(found)

    def _of_boolop(self, frame: Frame, node: ast.BoolOp, state: State) -> Value:
        wants = isinstance(node.op, ast.And)
        found: list[Value] = []
        ways: list[State] = []
        here: State | None = state.copy()
        for at, part in enumerate(node.values):
            assert here is not None
            value = self.value(frame, part, here)
            if at == len(node.values) - 1:
                found.append(value)
                ways.append(here)
                break
            said = truth(value)
            if said is not wants:  # it can end here
                kept = value.kept(lambda atom: truth_of(atom) is not wants)
                found.append(kept if kept.known else UNKNOWN)
                if said is None and not value.known:
                    found[-1] = FALSE if wants else UNKNOWN
                ways.append(here.copy())
            if said is (not wants):
                break
            here = self._narrowed(frame, part, here, wants)
            if here is None:
                break
        self._rejoin(state, ways)
        return join(found)

    def _rejoin(self, state: State, ways: list[State]) -> None:
        both = self.joined(ways)
        if both is not None:
            state.become(both)

    def _of_unaryop(self, frame: Frame, node: ast.UnaryOp, state: State) -> Value:
        inner = self.value(frame, node.operand, state)
        if isinstance(node.op, ast.Not):
            said = truth(inner)
            return told(None if said is None else not said)
        if isinstance(node.op, ast.USub):
            atom = inner.only
            if isinstance(atom, Const) and isinstance(atom.value, int | float):
                return const(-atom.value)
        return UNKNOWN

    def _of_binop(self, frame: Frame, node: ast.BinOp, state: State) -> Value:
        left = self.value(frame, node.left, state)
        right = self.value(frame, node.right, state)
        if not left.atoms or not right.atoms:
            return UNKNOWN
        if len(left.atoms) * len(right.atoms) > _MANY:
            return UNKNOWN
        return join(
            self._binop(type(node.op), a, b) for a in left.atoms for b in right.atoms
        )

    def _binop(self, op: type, left: Atom, right: Atom) -> Value:
        if isinstance(left, Series) and isinstance(right, Series):
            if op in (ast.Add, ast.BitOr):
                return one(Series((*left.items, *right.items)))
        elif isinstance(left, Table) and isinstance(right, Table):
            if op is ast.BitOr:
                return one(
                    Table(tuple({**dict(left.items), **dict(right.items)}.items()))
                )
        elif isinstance(left, Const) and isinstance(right, Const) and op in _NUMBERS:
            a, b = left.value, right.value
            numbers = isinstance(a, int | float) and isinstance(b, int | float)
            if numbers or (op is ast.Add and isinstance(a, str) and isinstance(b, str)):
                try:
                    return const(_NUMBERS[op](a, b))  # type: ignore[arg-type]
                except ArithmeticError:
                    return UNKNOWN
        self.unsure += 1
        return UNKNOWN

    def _of_compare(self, frame: Frame, node: ast.Compare, state: State) -> Value:
        left = self.value(frame, node.left, state)
        said: list[bool | None] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            other = self.value(frame, right, state)
            said.append(compared(OPS[type(op)], left, other))
            left = other
        if False in said:
            return FALSE
        return told(None if None in said else True)

    def _of_subscript(self, frame: Frame, node: ast.Subscript, state: State) -> Value:
        base = self.value(frame, node.value, state).only
        if isinstance(node.slice, ast.Slice):
            return UNKNOWN
        key = self.value(frame, node.slice, state)
        atom = key.only
        if isinstance(base, ClassRef) and isinstance(atom, Const):
            member = self._member(base.qualname, str(atom.value))
            if member is not None:
                return one(member)
        if isinstance(base, Series) and isinstance(atom, Const):
            at = atom.value
            if isinstance(at, int) and -len(base.items) <= at < len(base.items):
                return base.items[at]
        if isinstance(base, Table):
            if atom is not None:
                for known, value in base.items:
                    if known == atom:
                        return value
            elif base.items:
                self.unsure += 1
                return join(value for _, value in base.items)
        self.unsure += 1
        return UNKNOWN

    # -- names and attributes

    def _of_name(self, frame: Frame, node: ast.Name, state: State) -> Value:
        if node.id in state.names:
            return state.names[node.id]
        return self.named(frame, node.id)

    def named(self, frame: Frame, name: str) -> Value:
        """What a dotted name means outside the locals."""
        platform = self._platform(name.rpartition(".")[2])
        if platform is not None and name.rpartition(".")[2].startswith("_"):
            return platform  # `_is_cuda = is_cuda()`
        full = self.modules.resolve(frame.module, name, frame.imports)
        return self.qualified(full)

    def qualified(self, full: str) -> Value:
        """What a qualified name stands for."""
        if full not in self._globals:
            self._globals[full] = UNKNOWN  # a cycle ends here
            home, _, bare = full.rpartition(".")
            self._globals[full] = self._qualified(home, bare)
        return self._globals[full]

    def follows(self, path: str) -> bool:
        """Whether a file has a say in how a server starts."""
        below = path.partition("/")[2]
        return below.startswith((*self.names.startup_files, *self.names.entry_folders))

    def _module(self, name: str) -> Module | None:
        return self.modules.named(name)

    def _qualified(self, home: str, bare: str) -> Value:
        module = self._module(home)
        if module is None:
            # `Class.attribute`
            outer, _, cls = home.rpartition(".")
            owner = self._module(outer) if outer else None
            if owner is not None and isinstance(owner.names.get(cls), ast.ClassDef):
                return self._class_attribute(home, bare, None)
            return UNKNOWN
        node = module.names.get(bare)
        if isinstance(node, ast.ClassDef):
            return one(ClassRef(f"{home}.{bare}"))
        if isinstance(node, _FUNCTIONS):
            return one(FunctionRef(module, node, f"{home}.{bare}"))
        values = [v for v in _assigned(module.tree.body, bare) if v is not None]
        if not values:
            return UNKNOWN
        frame = Frame(module)
        found = join(self.value(frame, value, State()) for value in values)
        atom = found.only
        if isinstance(atom, Series | Table) and not atom.items:
            fillers = self._fillers(module, bare)
            if fillers is None:
                return UNKNOWN
            called = {name for name in fillers if self._is_called(name)}
            if called and isinstance(atom, Table):
                return self._registered(module, fillers)
            return UNKNOWN if called else found
        return found

    def _fillers(self, module: Module, name: str) -> dict[str, bool] | None:
        """The functions that put items into a container that starts empty.

        With each, whether it makes lists of items. None where the module itself does.
        """
        if any(
            _stores_into(inner, name)
            for statement in module.tree.body
            if not isinstance(statement, ast.ClassDef | _FUNCTIONS)
            for inner in walk_all(statement)
        ):
            return None
        found: dict[str, bool] = {}
        functions = [
            node
            for qualname, node in module.names.items()
            if isinstance(node, _FUNCTIONS) and "." not in qualname
        ]
        for node in functions:
            stores = [n for n in walk_all(node) if _stores_into(n, name)]
            if stores:
                found[node.name] = not any(isinstance(n, ast.Assign) for n in stores)
        for node in functions:  # those that hand on to one that does
            for inner in walk_all(node):
                if isinstance(inner, ast.Call) and dotted(inner.func) in found:
                    found.setdefault(node.name, found[dotted(inner.func) or ""])
        return found

    def _registered(self, module: Module, fillers: dict[str, bool]) -> Value:
        """A registry that decorators fill: `@register("key")` above a function."""
        items: dict[Atom, list[Value]] = {}
        lists = True
        for path in self.settings.files:
            data = self.modules.tree.data(path)
            other = None
            if any(f"@{name}(".encode() in data for name in fillers):
                other = self.modules.try_get(path)
            for qualname, node in other.names.items() if other else ():
                for decorator in getattr(node, "decorator_list", ()):
                    name = (
                        dotted(decorator.func)
                        if isinstance(decorator, ast.Call)
                        else None
                    )
                    if name not in fillers or not isinstance(node, _FUNCTIONS):
                        continue
                    assert other is not None
                    lists = fillers[name]
                    ref = FunctionRef(other, node, f"{other.name}.{qualname}")
                    for key in decorator.args:
                        if not isinstance(key, ast.Constant):
                            return UNKNOWN
                        atom = self.value(Frame(other), key, State()).only
                        if atom is None:
                            return UNKNOWN
                        items.setdefault(atom, []).append(one(ref))
        return one(
            Table(
                tuple(
                    (key, one(Series(tuple(refs))) if lists else refs[-1])
                    for key, refs in items.items()
                )
            )
        )

    def _is_called(self, name: str) -> bool:
        """Whether a file of start-up calls a function of this name."""
        if name not in self._called_names:
            needle = f"{name}(".encode()
            self._called_names[name] = any(
                isinstance(node, ast.Call)
                and (dotted(node.func) or "").rpartition(".")[2] == name
                for path in self.settings.files
                if needle in self.modules.tree.data(path)
                for module in [self.modules.try_get(path)]
                if module is not None
                for node in walk_all(module.tree)
            )
        return self._called_names[name]

    def _of_attribute(self, frame: Frame, node: ast.Attribute, state: State) -> Value:
        if self._is_global(frame, node, state):
            found = self.named(frame, dotted(node) or "")
            if found.known:
                return found
        base = self.value(frame, node.value, state)
        return self.attribute(base, node.attr, state)

    def _is_global(self, frame: Frame, node: ast.expr, state: State) -> bool:
        """Whether an expression is a name outside the locals, with dots."""
        head = (dotted(node) or "").partition(".")[0]
        return head not in state.names and (
            head in frame.imports
            or head in frame.module.imports
            or head in frame.module.names
        )

    def attribute(self, base: Value, name: str, state: State) -> Value:
        """What an attribute of a value is."""
        if not base.atoms:
            return self.of_unknown(name, state)
        return join(self._attribute(atom, name, state) for atom in base.atoms)

    def of_unknown(self, name: str, state: State) -> Value:
        """An attribute of something that is not known."""
        if name == _ARCHITECTURES:
            self.note("architecture")
            if self.world.architectures:
                known = join(const(name) for name in self.world.architectures)
                return one(Series((known,)))
        platform = self._platform(name)
        if platform is not None:
            return platform
        self.unsure += 1
        return UNKNOWN

    def _platform(self, name: str) -> Value | None:
        """What a name like `is_cuda` means; None where it is no such name."""
        start, _, asked = name.lstrip("_").partition("is_")
        if start or not asked:
            return None
        if asked in self.names.foreign_platforms:
            return FALSE
        if asked not in self.names.platforms:
            return None
        self.note("platform")
        if self.world.platform is None:
            return told(None)
        return told(asked == self.world.platform)

    def _attribute(self, atom: Atom, name: str, state: State) -> Value:
        if isinstance(atom, Record):
            if self.is_option(name) or name in state.options:
                return self.option(state, name)
            self.note("option", name)
            if self.settings.home is None:
                return UNKNOWN
            module, cls = self.settings.home
            return self._class_attribute(f"{module.name}.{cls}", name, atom, state)
        if isinstance(atom, ClassRef):
            member = self._member(atom.qualname, name)
            if member is not None:
                return one(member)
            return self._class_attribute(atom.qualname, name, atom)
        if isinstance(atom, Member):
            if name == "name":
                return const(atom.name)
            if name == "value":
                return one(atom.equals) if atom.equals else UNKNOWN
            return self._class_attribute(atom.enum, name, atom, state)
        if isinstance(atom, FunctionRef) and name in ("__name__", "__qualname__"):
            return const(atom.node.name)
        self.unsure += 1
        return UNKNOWN

    def _order(self, qualname: str) -> list[tuple[str, Module, ast.ClassDef]]:
        """A class of the tree and its bases there, in order of definition."""
        found: list[tuple[str, Module, ast.ClassDef]] = []
        todo = [qualname]
        while todo:
            name = todo.pop(0)
            home, _, bare = name.rpartition(".")
            module = self._module(home)
            node = module.names.get(bare) if module else None
            if module and isinstance(node, ast.ClassDef):
                if all(name != known for known, _, _ in found):
                    found.append((name, module, node))
                    todo.extend(bases_of(self.modules, module, node))
            elif name:
                found.append((name, module, None))  # type: ignore[arg-type]
        return found

    def _class_attribute(
        self, qualname: str, name: str, me: Atom | None, state: State | None = None
    ) -> Value:
        for full, module, node in self._order(qualname):
            if node is None:
                continue
            for statement in node.body:
                if isinstance(statement, _FUNCTIONS) and statement.name == name:
                    kinds = {
                        (dotted(d) or "").rpartition(".")[2]
                        for d in statement.decorator_list
                    }
                    bound: Atom | None = me
                    if "staticmethod" in kinds:
                        bound = None
                    elif "classmethod" in kinds:
                        bound = ClassRef(qualname)
                    elif isinstance(me, ClassRef):
                        bound = None
                    ref = FunctionRef(module, statement, f"{full}.{name}", bound)
                    if kinds & {"property", "cached_property"} and state is not None:
                        return self.enter(ref, [], {}, state)
                    return one(ref)
                targets: list[ast.expr] = []
                if isinstance(statement, ast.Assign):
                    targets = statement.targets
                elif isinstance(statement, ast.AnnAssign):
                    targets = [statement.target]
                else:
                    continue
                if statement.value is not None and any(
                    isinstance(t, ast.Name) and t.id == name for t in targets
                ):
                    return self.value(Frame(module, full), statement.value, State())
        self.unsure += 1
        return UNKNOWN

    def _member(self, qualname: str, name: str) -> Member | None:
        """The member of an enumeration, or None where it is no such thing."""
        order = self._order(qualname)
        bases = {full.rpartition(".")[2] for full, _, node in order if node is None}
        if not bases & {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}:
            return None
        for full, module, node in order:
            for statement in node.body if node is not None else ():
                if isinstance(statement, ast.Assign) and any(
                    isinstance(t, ast.Name) and t.id == name for t in statement.targets
                ):
                    said = self.value(Frame(module, full), statement.value, State())
                    equal = said.only if bases & {"str", "int", "StrEnum"} else None
                    return Member(
                        full, name, equal if isinstance(equal, Const) else None
                    )
        return None

    def members(self, qualname: str) -> Iterator[Member]:
        """The members of an enumeration, in order."""
        for _, _, node in self._order(qualname):
            for statement in node.body if node is not None else ():
                if isinstance(statement, ast.Assign):
                    for target in statement.targets:
                        if isinstance(target, ast.Name):
                            member = self._member(qualname, target.id)
                            if member is not None:
                                yield member

    # -- calls

    def _of_call(self, frame: Frame, node: ast.Call, state: State) -> Value:
        func = node.func
        name = dotted(func) or ""
        last = func.attr if isinstance(func, ast.Attribute) else name
        platform = self._platform(last)
        if platform is not None:
            return platform
        if last in self.names.device_functions:
            return self.device()
        if isinstance(func, ast.Name) and func.id not in state.names:
            built = getattr(self, f"_call_{func.id}", None)
            if built is not None and hasattr(builtins, func.id):
                return built(frame, node, state)  # type: ignore[no-any-return]
        if last in ("match", "search", "fullmatch") and self._is_global(
            frame, func, state
        ):
            full = self.modules.resolve(frame.module, name, frame.imports)
            if full == f"re.{last}":
                return self._matched(frame, node, last, state)
        callee = UNKNOWN
        is_global = self._is_global(frame, func, state)
        if is_global or not isinstance(func, ast.Attribute):
            callee = (
                self.named(frame, name) if is_global else self.value(frame, func, state)
            )
        if isinstance(func, ast.Attribute) and not callee.known:
            if func.attr in ("extend", "append") and isinstance(
                func.value, ast.Attribute
            ):
                self._stash(frame, node, func.value, state)
            if isinstance(func.value, ast.Call) and dotted(func.value.func) == "super":
                return self._super(frame, node, func, state)
            base = self.value(frame, func.value, state)
            if not base.known and func.attr == "get" and node.args:
                key = node.args[0]
                if isinstance(key, ast.Constant) and key.value == _ARCHITECTURES:
                    return self.of_unknown(_ARCHITECTURES, state)
            found = self._of_method(frame, node, func, base, state)
            if found is not None:
                return found
            callee = self.attribute(base, func.attr, state)
        if not callee.known and self._ends(frame, func, state):
            self.raised.append(Place(frame.module.path, node.lineno, ast.unparse(node)))
            raise Stopped
        args, keywords, whole = self._arguments(frame, node, state)
        return self.call(callee, args, keywords, state, whole)

    def _ends(self, frame: Frame, func: ast.expr, state: State) -> bool:
        """Whether a call ends the program."""
        name = dotted(func) or ""
        if name in ("exit", "quit"):
            return name not in state.names and name not in frame.module.names
        if name.rpartition(".")[2] not in ("exit", "_exit"):
            return False
        full = self.modules.resolve(frame.module, name, frame.imports)
        return full in ("sys.exit", "os._exit")

    def _matched(self, frame: Frame, node: ast.Call, how: str, state: State) -> Value:
        """None where a short text does not match a pattern; else not known."""
        given = [value.only for value in self._given(frame, node, state)]
        texts = [a.value for a in given if isinstance(a, Const)]
        plain = [t for t in texts if isinstance(t, str) and len(t) <= _SHORT]
        if len(texts) == 2 == len(plain):
            try:
                found = getattr(re, how)(*plain)
            except re.error:
                return UNKNOWN
            return NONE if found is None else UNKNOWN
        self.unsure += 1
        return UNKNOWN

    def _stash(
        self, frame: Frame, node: ast.Call, target: ast.Attribute, state: State
    ) -> None:
        """Decisions put into a list on the options: (who says so, {option: value})."""
        if self.value(frame, target.value, state).only != Record():
            return
        for given in self._given(frame, node, state):
            box = given.only
            pairs = box.items if isinstance(box, Series) else ()
            for pair in (*pairs, given):
                inner = pair.only
                last = inner.items[-1].only if _is_pair(inner) else None  # type: ignore[union-attr]
                if isinstance(last, Table):
                    for key, value in last.items:
                        if isinstance(key, Const) and self.is_option(str(key.value)):
                            self.assign(state, str(key.value), value)

    def device(self) -> Value:
        """What the device of the platform is called."""
        self.note("platform")
        platform = self.world.platform
        if platform is None:
            return UNKNOWN
        return const("cuda" if platform == "hip" else platform)

    def _arguments(
        self, frame: Frame, node: ast.Call, state: State
    ) -> tuple[list[Value], dict[str, Value], bool]:
        args: list[Value] = []
        whole = True
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                inner = self.value(frame, arg.value, state).only
                if isinstance(inner, Series):
                    args.extend(inner.items)
                else:
                    whole = False
            else:
                args.append(self.value(frame, arg, state))
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.value(frame, keyword.value, state)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
                continue
            tables = [a for a in value.atoms or () if isinstance(a, Table)]
            if not value.atoms or len(tables) != len(value.atoms):
                whole = False
            for table in tables:
                for key, item in table.items:
                    if isinstance(key, Const) and isinstance(key.value, str):
                        sure = len(tables) == 1 and whole
                        known = keywords.get(key.value)
                        if not sure and known is None and self.is_option(key.value):
                            known = self.option(state, key.value)
                        both = (item,) if sure or known is None else (known, item)
                        keywords[key.value] = join(both)
        return args, keywords, whole

    def call(
        self,
        callee: Value,
        args: list[Value],
        keywords: dict[str, Value],
        state: State,
        whole: bool = True,
    ) -> Value:
        """What a call of a value returns."""
        if not callee.atoms:
            self.unsure += 1
            return UNKNOWN
        if len(callee.atoms) == 1:
            return self._called(callee.only, args, keywords, state, whole)
        found: list[Value] = []
        ways: list[State] = []
        for atom in sorted(callee.atoms, key=repr):
            way = state.copy()
            found.append(self._called(atom, args, keywords, way, whole))
            ways.append(way)
        self._rejoin(state, ways)
        return join(found)

    def _called(
        self,
        atom: Atom | None,
        args: list[Value],
        keywords: dict[str, Value],
        state: State,
        whole: bool,
    ) -> Value:
        if isinstance(atom, FunctionRef):
            # a helper elsewhere is worth it where all that it is given is told
            told_ = all(v.known for v in (*args, *keywords.values())) and whole
            if not self.follows(atom.module.path) and not (told_ and args):
                self.unsure += 1
                return UNKNOWN
            return self.enter(atom, args, keywords, state)
        if isinstance(atom, ClassRef):
            record = one(Record())
            if any(v == record for v in (*args, *keywords.values())):
                return record  # a view of the options
        self.unsure += 1
        return UNKNOWN

    def _of_method(
        self,
        frame: Frame,
        node: ast.Call,
        func: ast.Attribute,
        base: Value,
        state: State,
    ) -> Value | None:
        """A method of a text, a series or a table; None where it is none of these."""
        atom = base.only
        if isinstance(atom, Const) and isinstance(atom.value, str):
            args, keywords, whole = self._arguments(frame, node, state)
            given = [a.only for a in args]
            if func.attr in _TEXT and whole and not keywords:
                plain = [g.value for g in given if isinstance(g, Const)]
                texts = all(isinstance(p, str) for p in plain)
                if len(plain) == len(given) and texts:
                    said = getattr(atom.value, func.attr)(*plain)
                    if isinstance(said, list):
                        return one(Series(tuple(const(s) for s in said)))
                    return const(said)
            return UNKNOWN
        if base.atoms and all(
            isinstance(a, Const) and isinstance(a.value, str) for a in base.atoms
        ):
            if func.attr in ("lower", "upper", "strip") and not node.args:
                return join(
                    const(getattr(a.value, func.attr)())  # type: ignore[union-attr]
                    for a in base.atoms
                )
            self._arguments(frame, node, state)
            return UNKNOWN
        if isinstance(atom, Table | Series):
            return self._of_container(frame, node, func, atom, state)
        return None

    def _of_container(
        self,
        frame: Frame,
        node: ast.Call,
        func: ast.Attribute,
        atom: Table | Series,
        state: State,
    ) -> Value:
        args, keywords, whole = self._arguments(frame, node, state)
        if isinstance(atom, Table):
            if func.attr == "get" and args and not keywords:
                default = args[1] if len(args) > 1 else NONE
                key = args[0].only
                if key is not None:
                    return dict(atom.items).get(key, default)
                return join((*(value for _, value in atom.items), default))
            if func.attr == "items":
                pairs = (one(Series((one(k), v))) for k, v in atom.items)
                return one(Series(tuple(pairs)))
            if func.attr == "keys":
                return one(Series(tuple(one(k) for k, _ in atom.items)))
            if func.attr == "values":
                return one(Series(tuple(v for _, v in atom.items)))
            if func.attr == "copy":
                return one(atom)
            if func.attr == "update" and isinstance(func.value, ast.Name) and whole:
                new = dict(atom.items)
                given = args[0].only if args else Table(())
                if isinstance(given, Table):
                    new.update(given.items)
                    new.update(
                        (Const(name, "str"), value) for name, value in keywords.items()
                    )
                    state.names[func.value.id] = one(Table(tuple(new.items())))
                    return NONE
        if isinstance(func.value, ast.Name) and func.value.id in state.names:
            short = isinstance(atom, Series) and len(atom.items) < _MANY
            if func.attr == "append" and short and len(args) == 1:
                grown = Series((*atom.items, args[0]))
                state.names[func.value.id] = one(grown)
                return NONE
            if func.attr not in ("index", "count"):
                state.names[func.value.id] = UNKNOWN
        self.unsure += 1
        return UNKNOWN

    def _super(
        self, frame: Frame, node: ast.Call, func: ast.Attribute, state: State
    ) -> Value:
        args, keywords, _ = self._arguments(frame, node, state)
        me = state.names.get("self")
        atom = me.only if me is not None else None
        for full, module, known in self._order(frame.owner)[1:] if frame.owner else ():
            for statement in known.body if known is not None else ():
                if isinstance(statement, _FUNCTIONS) and statement.name == func.attr:
                    ref = FunctionRef(module, statement, f"{full}.{func.attr}", atom)
                    return self.enter(ref, args, keywords, state)
        return UNKNOWN

    # -- builtins

    def _given(self, frame: Frame, node: ast.Call, state: State) -> list[Value]:
        return self._arguments(frame, node, state)[0]

    def _call_getattr(self, frame: Frame, node: ast.Call, state: State) -> Value:
        given = self._given(frame, node, state)
        name = given[1].only if len(given) > 1 else None
        if not isinstance(name, Const) or not isinstance(name.value, str):
            self.unsure += 1
            return UNKNOWN
        base = given[0]
        if isinstance(base.only, Record) and len(given) == 3:
            self.note("option", name.value)
            if not self.is_option(name.value) and name.value not in state.options:
                return given[2]  # nothing has set it so far
            return self.option(state, name.value)
        found = self.attribute(base, name.value, state)
        return found

    def _call_setattr(self, frame: Frame, node: ast.Call, state: State) -> Value:
        given = self._given(frame, node, state)
        if len(given) == 3 and isinstance(given[0].only, Record):
            name = given[1].only
            if isinstance(name, Const) and isinstance(name.value, str):
                self.assign(state, name.value, given[2])
        return NONE

    def _call_hasattr(self, frame: Frame, node: ast.Call, state: State) -> Value:
        given = self._given(frame, node, state)
        name = given[1].only if len(given) > 1 else None
        if isinstance(given[0].only, Record) and isinstance(name, Const):
            self.note("option", str(name.value))
            if self.is_option(str(name.value)) or name.value in state.options:
                return TRUE
        return told(None)

    def _call_isinstance(self, frame: Frame, node: ast.Call, state: State) -> Value:
        given = self.value(frame, node.args[0], state) if node.args else UNKNOWN
        kinds = node.args[1] if len(node.args) > 1 else None
        parts = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        names = {dotted(p) if p is not None else None for p in parts}
        if not given.atoms or None in names:
            return told(None)
        said = {_is_kind(atom, names) for atom in given.atoms}
        return told(said.pop() if len(said) == 1 else None)

    def _call_len(self, frame: Frame, node: ast.Call, state: State) -> Value:
        atom = self._given(frame, node, state)[0].only if node.args else None
        if isinstance(atom, Series | Table):
            return const(len(atom.items))
        if isinstance(atom, Const) and isinstance(atom.value, str):
            return const(len(atom.value))
        return UNKNOWN

    def _call_bool(self, frame: Frame, node: ast.Call, state: State) -> Value:
        given = self._given(frame, node, state)
        return told(truth(given[0])) if given else FALSE

    def _call_int(self, frame: Frame, node: ast.Call, state: State) -> Value:
        given = self._given(frame, node, state)
        atom = given[0].only if len(given) == 1 else None
        if isinstance(atom, Const) and isinstance(atom.value, int | float):
            return const(int(atom.value))
        self.unsure += 1
        return UNKNOWN

    def _call_str(self, frame: Frame, node: ast.Call, state: State) -> Value:
        given = self._given(frame, node, state)
        atoms = given[0].atoms if given else None
        if atoms and all(isinstance(a, Const) for a in atoms):
            return join(const(str(a.value)) for a in atoms if isinstance(a, Const))
        return UNKNOWN

    def _call_all(self, frame: Frame, node: ast.Call, state: State) -> Value:
        return self._every(frame, node, state, True)

    def _call_any(self, frame: Frame, node: ast.Call, state: State) -> Value:
        return self._every(frame, node, state, False)

    def _every(self, frame: Frame, node: ast.Call, state: State, all_: bool) -> Value:
        atom = self._given(frame, node, state)[0].only if node.args else None
        if not isinstance(atom, Series):
            return told(None)
        said = [truth(item) for item in atom.items]
        if (not all_) in said:
            return told(not all_)
        return told(None if None in said else all_)

    def _of_generatorexp(
        self, frame: Frame, node: ast.GeneratorExp, state: State
    ) -> Value:
        return self._comprehended(frame, node, state)

    def _of_listcomp(self, frame: Frame, node: ast.ListComp, state: State) -> Value:
        return self._comprehended(frame, node, state)

    def _of_setcomp(self, frame: Frame, node: ast.SetComp, state: State) -> Value:
        return self._comprehended(frame, node, state)

    def _comprehended(
        self,
        frame: Frame,
        node: ast.GeneratorExp | ast.ListComp | ast.SetComp,
        state: State,
    ) -> Value:
        """`f(x) for x in (a, b) if g(x)` over something of which every item is told."""
        if len(node.generators) != 1:
            self.unsure += 1
            return UNKNOWN
        loop = node.generators[0]
        atom = self.value(frame, loop.iter, state).only
        if not isinstance(atom, Series) or len(atom.items) > _MANY:
            self.unsure += 1
            return UNKNOWN
        items: list[Value] = []
        for item in atom.items:
            inner = state.copy()
            self.bind(frame, loop.target, item, inner)
            keep: bool | None = True
            for test in loop.ifs:
                said = truth(self.value(frame, test, inner))
                keep = False if said is False else (None if said is None else keep)
                if keep is False:
                    break
            if keep is None:
                return UNKNOWN
            if keep:
                items.append(self.value(frame, node.elt, inner))
        return one(Series(tuple(items)))

    def _call_set(self, frame: Frame, node: ast.Call, state: State) -> Value:
        given = self._given(frame, node, state)
        if not given:
            return one(Series(()))
        atom = given[0].only
        if isinstance(atom, Table):
            return one(Series(tuple(one(key) for key, _ in atom.items)))
        return one(atom) if isinstance(atom, Series) else UNKNOWN

    _call_tuple = _call_list = _call_frozenset = _call_sorted = _call_set

    def _call_dict(self, frame: Frame, node: ast.Call, state: State) -> Value:
        args, keywords, whole = self._arguments(frame, node, state)
        base = args[0].only if args else Table(())
        if not isinstance(base, Table) or not whole:
            return UNKNOWN
        items = dict(base.items)
        items.update((Const(name, "str"), value) for name, value in keywords.items())
        return one(Table(tuple(items.items())))

    def _call_print(self, frame: Frame, node: ast.Call, state: State) -> Value:
        return NONE

    def _call_max(self, frame: Frame, node: ast.Call, state: State) -> Value:
        return self._extreme(frame, node, state, max)

    def _call_min(self, frame: Frame, node: ast.Call, state: State) -> Value:
        return self._extreme(frame, node, state, min)

    def _extreme(
        self, frame: Frame, node: ast.Call, state: State, pick: Callable[..., object]
    ) -> Value:
        atoms = [v.only for v in self._given(frame, node, state)]
        plain = [
            a.value
            for a in atoms
            if isinstance(a, Const) and isinstance(a.value, int | float)
        ]
        if len(plain) == len(atoms) > 1:
            return const(pick(plain))  # type: ignore[arg-type]
        return UNKNOWN

    # -- targets

    def bind(self, frame: Frame, target: ast.expr, value: Value, state: State) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            state.names[target.id] = value
        elif isinstance(target, ast.Attribute):
            base = self.value(frame, target.value, state)
            if isinstance(base.only, Record):
                self.assign(state, target.attr, value)
        elif isinstance(target, ast.Tuple | ast.List):
            atom = value.only
            items: tuple[Value, ...] | None = None
            if isinstance(atom, Series) and len(atom.items) == len(target.elts):
                items = atom.items
            for at, part in enumerate(target.elts):
                inner = part.value if isinstance(part, ast.Starred) else part
                told_ = items[at] if items and inner is part else UNKNOWN
                self.bind(frame, inner, told_, state)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            known = state.names.get(target.value.id)
            atom = known.only if known is not None else None
            key = self.value(frame, target.slice, state).only
            if isinstance(atom, Table) and key is not None:
                items_ = {**dict(atom.items), key: value}
                state.names[target.value.id] = one(Table(tuple(items_.items())))
            elif known is not None:
                state.names[target.value.id] = UNKNOWN

    # -- tests

    def fork(
        self, frame: Frame, test: ast.expr, state: State
    ) -> tuple[State | None, State | None]:
        """What holds where a test is true, and where it is false; None: never.

        Raises:
            Stopped: the test never gets decided.
        """
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yes, no = self.fork(frame, test.operand, state)
            return no, yes
        if isinstance(test, ast.BoolOp):
            wants = isinstance(test.op, ast.And)
            here: State | None = state
            ends: list[State] = []
            for part in test.values:
                if here is None:
                    break
                yes, no = self.fork(frame, part, here)
                here, end = (yes, no) if wants else (no, yes)
                if end is not None:
                    ends.append(end)
            other = self.joined(ends)
            return (here, other) if wants else (other, here)
        said = truth(self.value(frame, test, state))
        if said is True:
            return state, None
        if said is False:
            return None, state
        both = state.copy()
        return (
            self._narrowed(frame, test, state, True),
            self._narrowed(frame, test, both, False),
        )

    def _narrowed(
        self, frame: Frame, test: ast.expr, state: State, truth_: bool
    ) -> State | None:
        """The state where a test came out so; None where it cannot."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._narrowed(frame, test.operand, state, not truth_)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is truth_:
            here: State | None = state
            for part in test.values:
                here = self._narrowed(frame, part, here, truth_) if here else None
            return here
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            op = OPS[type(test.ops[0])]
            op = op if truth_ else OPPOSITE[op]
            right = test.comparators[0]
            kept = self._keep(frame, test.left, op, right, state)
            if kept is not None and op in MIRRORED:
                kept = self._keep(frame, right, MIRRORED[op], test.left, kept)
            return kept
        subject = test.target if isinstance(test, ast.NamedExpr) else test
        if isinstance(subject, ast.Name | ast.Attribute):
            value = self.value(frame, subject, state)
            left = value.kept(lambda atom: truth_of(atom) is not (not truth_))
            return self._kept(frame, subject, left, state)
        return state

    def _keep(
        self, frame: Frame, node: ast.expr, op: str, other: ast.expr, state: State
    ) -> State | None:
        if not isinstance(node, ast.Name | ast.Attribute):
            return state
        value = self.value(frame, node, state)
        left = narrowed(op, value, self.value(frame, other, state))
        return self._kept(frame, node, left, state)

    def _kept(
        self, frame: Frame, node: ast.expr, value: Value, state: State
    ) -> State | None:
        if value.atoms is not None and not value.atoms:
            return None
        if isinstance(node, ast.Name):
            if node.id in state.names:
                state.names[node.id] = value
        elif isinstance(node, ast.Attribute):
            base = self.value(frame, node.value, state)
            if isinstance(base.only, Record) and self.is_option(node.attr):
                self.decide(state, node.attr, value)
        return state


def _is_pair(atom: Atom | None) -> bool:
    return isinstance(atom, Series) and len(atom.items) == 2


def _is_kind(atom: Atom, names: set[str | None]) -> bool | None:
    kinds = {
        Series: {"list", "tuple", "set", "frozenset", "Sequence"},
        Table: {"dict", "Mapping"},
    }
    if isinstance(atom, Const):
        mro = {kind.__name__ for kind in type(atom.value).__mro__}
        return bool(mro & names)
    if isinstance(atom, Table):
        return bool(kinds[Table] & names)
    if isinstance(atom, Series):
        return None if kinds[Series] & names else False
    return None


def _assigned(body: list[ast.stmt], name: str) -> Iterator[ast.expr | None]:
    """What a name of a module is assigned, in conditions and `try` too."""
    todo: list[ast.AST] = list(reversed(body))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ClassDef | _FUNCTIONS):
            continue
        if isinstance(node, ast.Assign):
            if any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                yield node.value
        elif isinstance(node, ast.AnnAssign):
            if isinstance(node.target, ast.Name) and node.target.id == name:
                yield node.value
        elif isinstance(node, ast.stmt | ast.ExceptHandler):
            todo.extend(reversed(children(node)))


def _stores_into(node: ast.AST, name: str) -> bool:
    """Whether a node puts something into the container of a name."""
    if isinstance(node, ast.Assign):
        return any(
            isinstance(t, ast.Subscript)
            and isinstance(t.value, ast.Name)
            and t.value.id == name
            for t in node.targets
        )
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
        and node.func.attr in ("append", "add", "setdefault", "update", "extend")
    )


def parameters(node: Function) -> list[ast.arg]:
    """The positional parameters of a function."""
    return [*node.args.posonlyargs, *node.args.args]
