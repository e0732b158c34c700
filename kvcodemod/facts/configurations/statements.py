"""What statements of start-up do: they fork at what is not known and join again."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kvcodemod.facts.configurations.expressions import Expressions, parameters
from kvcodemod.facts.configurations.values import (
    NONE,
    UNKNOWN,
    FunctionRef,
    Record,
    Series,
    Value,
    join,
    one,
)
from kvcodemod.facts.configurations.world import (
    Frame,
    Place,
    State,
    Stopped,
    TooLong,
)
from kvcodemod.facts.syntax.bodies import walk_all, walk_own
from kvcodemod.facts.syntax.expressions import defaults
from kvcodemod.facts.syntax.modules import imported
from kvcodemod.facts.syntax.parsing import Function

_DEEPEST = 40
_TURNS = 24


class Statements(Expressions):
    """Runs functions in a world; see `Expressions`."""

    steps = 0
    longest = 60_000
    """Statements beyond which nothing is followed; SGLang's start-up takes 12,000."""
    remembers = False
    """Whether what a function returns is kept, so that what it raises is not seen."""
    _stack: tuple[FunctionRef, ...] = ()
    _handled: list[Place] = []  # noqa: RUF012 - replaced, never changed

    def enter(
        self,
        ref: FunctionRef,
        args: list[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> Value:
        """What a function returns; its effects on the options go into the state.

        A function that is handed the options and a value for each of some of them by
        name (`declare(options, "why", page_size=1)`) sets them.
        """
        node = ref.node
        if ref.bound is not None:
            args = [one(ref.bound), *args]
        if self._declares(ref, args, keywords, state):
            return NONE
        same = [known for known in self._stack if known.node is node]
        if same or self._generates(node) or len(self._stack) > _DEEPEST:
            self.note("stack")
            self.unsure += 1
            return UNKNOWN
        inner = State(state.options, self._bound(ref, args, keywords))
        frame = Frame(ref.module, ref.qualname.rpartition(".")[0])
        outer, self._stack = self._stack, (*self._stack, ref)
        try:
            end = self.block(frame, node.body, inner)
        finally:
            self._stack = outer
        values = [value for value, _ in frame.returns]
        ends = [way for _, way in frame.returns]
        if end is not None:
            values.append(NONE)
            ends.append(end)
        left = self.joined(ends)
        if left is None:
            raise Stopped
        state.options = left.options
        return join(values)

    def _generates(self, node: Function) -> bool:
        """Whether calling a function does not run it."""
        if id(node) not in self._generators:
            kinds = ast.Yield | ast.YieldFrom | ast.Await
            self._generators[id(node)] = any(
                isinstance(n, kinds) for n in walk_own(node)
            )
        return self._generators[id(node)]

    def _declares(
        self,
        ref: FunctionRef,
        args: list[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> bool:
        """Whether the call only says what options are decided to be; they are set."""
        if ref.node.args.kwarg is None or not any(
            value.only == Record() for value in args
        ):
            return False
        named = {arg.arg for arg in (*parameters(ref.node), *ref.node.args.kwonlyargs)}
        rest = {name: v for name, v in keywords.items() if name not in named}
        if not all(self.is_option(name) for name in rest):
            return False
        for name, value in rest.items():
            self.assign(state, name, value)
        return True

    def _bound(
        self, ref: FunctionRef, args: list[Value], keywords: dict[str, Value]
    ) -> dict[str, Value]:
        node = ref.node
        names: dict[str, Value] = {}
        for name, default in defaults(node):
            names[name] = UNKNOWN
            if default is not None:
                names[name] = self.value(Frame(ref.module), default, State())
        for arg, value in zip(parameters(node), args, strict=False):
            names[arg.arg] = value
        for name, value in keywords.items():
            if name in names:
                names[name] = value
        if node.args.vararg:
            rest = args[len(parameters(node)) :]
            names[node.args.vararg.arg] = one(Series(tuple(rest)))
        if node.args.kwarg:
            names[node.args.kwarg.arg] = UNKNOWN
        return names

    # -- statements

    def block(
        self, frame: Frame, body: Sequence[ast.stmt], state: State | None
    ) -> State | None:
        """What holds after a block; None where control never gets there."""
        for statement in body:
            if state is None:
                return None
            self.steps += 1
            if self.steps > self.longest:
                raise TooLong
            try:
                run = getattr(self, f"_do_{statement.__class__.__name__.lower()}", None)
                if run is not None:
                    state = run(frame, statement, state)
            except Stopped:
                return None
        return state

    def _do_expr(self, frame: Frame, node: ast.Expr, state: State) -> State | None:
        self.value(frame, node.value, state)
        return state

    def _do_assign(self, frame: Frame, node: ast.Assign, state: State) -> State | None:
        value = self.value(frame, node.value, state)
        for target in node.targets:
            self.bind(frame, target, value, state)
        return state

    def _do_annassign(
        self, frame: Frame, node: ast.AnnAssign, state: State
    ) -> State | None:
        if node.value is not None:
            value = self.value(frame, node.value, state)
            self.bind(frame, node.target, value, state)
        return state

    def _do_augassign(
        self, frame: Frame, node: ast.AugAssign, state: State
    ) -> State | None:
        left = self.value(frame, node.target, state)
        right = self.value(frame, node.value, state)
        atom, other = left.only, right.only
        found = UNKNOWN
        if atom is not None and other is not None:
            found = self._binop(type(node.op), atom, other)
        self.bind(frame, node.target, found, state)
        return state

    def _do_return(self, frame: Frame, node: ast.Return, state: State) -> State | None:
        value = self.value(frame, node.value, state) if node.value else NONE
        frame.returns.append((value, state))
        return None

    def _do_raise(self, frame: Frame, node: ast.Raise, state: State) -> State | None:
        if node.exc is None and self._handled:
            self.raised.extend(self._handled)
        else:
            self._raise(frame, node, ast.unparse(node.exc) if node.exc else "raise")
        return None

    def _raise(self, frame: Frame, node: ast.stmt, text: str) -> None:
        self.raised.append(Place(frame.module.path, node.lineno, text))

    def _do_assert(self, frame: Frame, node: ast.Assert, state: State) -> State | None:
        yes, no = self.fork(frame, node.test, state)
        if no is not None:
            self._raise(frame, node, f"assert {ast.unparse(node.test)}")
        return yes

    def _do_if(self, frame: Frame, node: ast.If, state: State) -> State | None:
        yes, no = self.fork(frame, node.test, state)
        ends = [
            self.block(frame, node.body, yes) if yes is not None else None,
            self.block(frame, node.orelse, no) if no is not None else None,
        ]
        left = [end for end in ends if end is not None]
        return self.joined(left)

    def _do_with(self, frame: Frame, node: ast.With, state: State) -> State | None:
        for item in node.items:
            value = self.value(frame, item.context_expr, state)
            if item.optional_vars is not None:
                self.bind(frame, item.optional_vars, value, state)
        return self.block(frame, node.body, state)

    def _do_for(self, frame: Frame, node: ast.For, state: State) -> State | None:
        atom = self.value(frame, node.iter, state).only
        items = atom.items if isinstance(atom, Series) else None
        frame.breaks.append([])
        here: State | None = state
        if items is not None and len(items) <= _TURNS:
            for item in items:
                if here is None:
                    break
                here = self._turn(frame, node, item, here)
        else:
            # none, or any number of turns: what the body sets is not known then
            inner = state.copy()
            self._forget(node, inner)
            end = self._turn(frame, node, UNKNOWN, inner)
            ways = [state, *([end] if end is not None else [])]
            here = self.joined(ways)
        return self._after_loop(frame, node.orelse, here)

    def _turn(
        self, frame: Frame, node: ast.For, item: Value, state: State
    ) -> State | None:
        frame.continues.append([])
        self.bind(frame, node.target, item, state)
        end = self.block(frame, node.body, state)
        ways = [*frame.continues.pop(), *([end] if end is not None else [])]
        return self.joined(ways)

    def _do_while(self, frame: Frame, node: ast.While, state: State) -> State | None:
        frame.breaks.append([])
        frame.continues.append([])
        self._forget(node, state)
        yes, no = self.fork(frame, node.test, state)
        end = self.block(frame, node.body, yes) if yes is not None else None
        ways = [w for w in (no, end, *frame.continues.pop()) if w is not None]
        return self._after_loop(frame, node.orelse, self.joined(ways))

    def _after_loop(
        self, frame: Frame, orelse: list[ast.stmt], state: State | None
    ) -> State | None:
        broken = frame.breaks.pop()
        end = self.block(frame, orelse, state)
        ways = [*broken, *([end] if end is not None else [])]
        return self.joined(ways)

    def _forget(self, node: ast.stmt, state: State) -> None:
        """What a loop assigns is not known from its second turn on."""
        for inner in walk_all(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                state.names[inner.id] = UNKNOWN

    def _do_break(self, frame: Frame, node: ast.Break, state: State) -> State | None:
        frame.breaks[-1].append(state)
        return None

    def _do_continue(
        self, frame: Frame, node: ast.Continue, state: State
    ) -> State | None:
        frame.continues[-1].append(state)
        return None

    def _do_try(self, frame: Frame, node: ast.Try, state: State) -> State | None:
        before = state.copy()
        raised, unsure = len(self.raised), self.unsure
        end = self.block(frame, node.body, state)
        ends: list[State] = []
        stopped = len(self.raised) > raised
        could = stopped or self.unsure > unsure or end is None or self.remembers
        if node.handlers and could:
            handled = self.raised[raised:]
            del self.raised[raised:]
            outer, self._handled = self._handled, handled
            middle = [before, *([end.copy()] if end is not None else [])]
            for handler in node.handlers:
                way = self.joined([w.copy() for w in middle])
                if way is not None and handler.name:
                    way.names[handler.name] = UNKNOWN
                after = self.block(frame, handler.body, way)
                if after is not None:
                    ends.append(after)
            self._handled = outer
        end = self.block(frame, node.orelse, end)
        if end is not None:
            ends.append(end)
        left = self.joined(ends)
        if left is None:
            self.block(frame, node.finalbody, before)
            return None
        return self.block(frame, node.finalbody, left)

    _do_trystar = _do_try

    def _do_match(self, frame: Frame, node: ast.Match, state: State) -> State | None:
        self.value(frame, node.subject, state)
        ends = [state.copy()]
        for case in node.cases:
            way = state.copy()
            for inner in walk_all(case.pattern):
                name = getattr(inner, "name", None)
                if isinstance(name, str):
                    way.names[name] = UNKNOWN
            end = self.block(frame, case.body, way)
            if end is not None:
                ends.append(end)
        return self.joined(ends)

    def _do_import(self, frame: Frame, node: ast.Import, state: State) -> State | None:
        for name, target in imported(frame.module, node):
            frame.imports[name] = target
            state.names.pop(name, None)
        return state

    def _do_importfrom(
        self, frame: Frame, node: ast.ImportFrom, state: State
    ) -> State | None:
        for name, target in imported(frame.module, node):
            frame.imports[name] = target
            state.names.pop(name, None)
        return state

    def _do_functiondef(
        self, frame: Frame, node: ast.FunctionDef, state: State
    ) -> State | None:
        state.names[node.name] = UNKNOWN
        return state

    _do_asyncfunctiondef = _do_classdef = _do_functiondef
