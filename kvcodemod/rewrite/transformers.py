"""One libcst transformer for each kind of edit inside a class or a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

from kvcodemod.rewrite import snippets
from kvcodemod.rewrite.edits import (
    AddMove,
    AddParameter,
    DelegateMove,
    Edit,
    ForwardFlag,
    PassFlag,
    SetUpMove,
    SetUpShared,
)
from kvcodemod.rewrite.listing import insert
from kvcodemod.rewrite.texts import text_of

_Node = TypeVar("_Node", cst.ClassDef, cst.FunctionDef)


class Scoped(cst.CSTTransformer):
    """Walks down to the one class or function that an edit names, and nowhere else.

    Attributes:
        done: whether the edit has been made; a plan that finds no place is a bug or
            a tree that changed, and is never passed over in silence.
    """

    def __init__(self, edit: Edit, module: cst.Module) -> None:
        """Prepare for one edit of one module."""
        super().__init__()
        self.config = module.config_for_parsing
        self.newline = module.default_newline
        self.indent = module.default_indent
        self.target = edit.symbol.split(".")
        self.stack: list[str] = []
        self.indents = 0
        self.done = False

    @property
    def inside(self) -> bool:
        """Whether the walk is inside the target."""
        return self.stack == self.target

    def statements(self, text: str) -> list[cst.BaseStatement]:
        """Parsed statements, with the newlines of the module they are for."""
        text = text.replace("\n", self.newline)
        parsed = cst.parse_module(text, self.config)
        return [s for s in parsed.body if isinstance(s, cst.BaseStatement)]

    def _enter(self, name: str) -> bool:
        self.stack.append(name)
        return self.stack == self.target[: len(self.stack)]

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        return self._enter(node.name.value)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return self._enter(node.name.value)

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return self.inside

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> bool:
        self.indents += 1
        return True

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        self.indents -= 1
        return updated_node

    def leave_ClassDef(
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.ClassDef:
        here, _ = self.inside, self.stack.pop()
        return self._edited(updated_node) if here else updated_node

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        here, _ = self.inside, self.stack.pop()
        return self._edited(updated_node) if here else updated_node

    def _edited(self, node: _Node) -> _Node:
        if self.done:
            return node  # a second definition of the same name is not the planned one
        changed = self.edit(node)
        self.done = self.done or changed is not node
        return changed

    def edit(self, node: _Node) -> _Node:
        """The edited target; the same object where nothing was to be done."""
        return node

    def extended(
        self, block: cst.BaseSuite, statements: Sequence[cst.BaseStatement]
    ) -> cst.BaseSuite:
        """A block with more statements at its end."""
        if not isinstance(block, cst.IndentedBlock):
            return block
        return block.with_changes(body=[*block.body, *statements])


class AddParameterTransformer(Scoped):
    """`def f(self, a)` -> `def f(self, a, name: bool = False)`."""

    def __init__(self, edit: AddParameter, module: cst.Module) -> None:
        """Take the name of the parameter."""
        super().__init__(edit, module)
        self.name = edit.name

    def edit(self, node: _Node) -> _Node:
        if not isinstance(node, cst.FunctionDef):
            return node
        params = node.params
        new = cst.Param(
            name=cst.Name(self.name),
            annotation=cst.Annotation(cst.Name("bool")),
            default=cst.Name("False"),
            star="",
        )
        opening = node.whitespace_before_params
        tail = params.star_kwarg is None
        starred = not isinstance(params.star_arg, cst.MaybeSentinel)
        if starred:
            items = params.kwonly_params
            grown = insert(items, len(items), new, opening, last=tail)
            params = params.with_changes(kwonly_params=grown)
        else:
            items = params.params
            grown = insert(items, len(items), new, opening, last=tail)
            params = params.with_changes(params=grown)
        return node.with_changes(params=params)


class PassFlagTransformer(Scoped):
    """`callee(a=1)` -> `callee(a=1, name=value)`, in one function."""

    def __init__(self, edit: PassFlag, module: cst.Module) -> None:
        """Take the callee and what to pass."""
        super().__init__(edit, module)
        self.module = module
        self.name, self.value = edit.name, edit.value
        self.callee = edit.callee.replace(" ", "")
        self.passed = 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if not self.inside or not self.wanted(original_node):
            return updated_node
        self.passed += 1
        args = updated_node.args
        if any(a.keyword is not None and a.keyword.value == self.name for a in args):
            return updated_node
        opening = updated_node.whitespace_before_args
        first_splat = (i for i, arg in enumerate(args) if arg.star == "**")
        at = next(first_splat, len(args))
        new = cst.Arg(
            keyword=cst.Name(self.name),
            value=self._expression(opening),
            equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
        )
        return updated_node.with_changes(args=insert(args, at, new, opening))

    def wanted(self, node: cst.Call) -> bool:
        """Whether this is a call to pass the flag in."""
        text = self.module.code_for_node(node.func)
        return "".join(text.split()) == self.callee

    def edit(self, node: _Node) -> _Node:
        self.done = self.passed > 0
        return node

    def _expression(
        self, opening: cst.BaseParenthesizableWhitespace
    ) -> cst.BaseExpression:
        text = self.value
        if isinstance(opening, cst.ParenthesizedWhitespace):
            block = self.indents * len(self.indent)
            hang = len(opening.last_line.value)
            text = snippets.fitted(self.name, text, block, hang)
        text = text.replace("\n", self.newline)
        return cst.parse_expression(text, self.config)


class ForwardFlagTransformer(PassFlagTransformer):
    """`super().__init__(a)` -> `super().__init__(a, name=name)`."""

    def __init__(self, edit: ForwardFlag, module: cst.Module) -> None:
        """Take the name to hand on."""
        where = (edit.path, edit.symbol, edit.line)
        super().__init__(PassFlag(*where, "", edit.name, edit.name), module)

    def wanted(self, node: cst.Call) -> bool:
        func = node.func
        return (
            isinstance(func, cst.Attribute)
            and func.attr.value == "__init__"
            and isinstance(func.value, cst.Call)
            and isinstance(func.value.func, cst.Name)
            and func.value.func.value == "super"
        )


class SetUpMoveTransformer(Scoped):
    """Statements that plan the moves, at the end of a constructor."""

    def __init__(self, edit: SetUpMove | SetUpShared, module: cst.Module) -> None:
        """Take the buffers or the sub-pools to plan for."""
        super().__init__(edit, module)
        self.text = text_of(edit)

    def edit(self, node: _Node) -> _Node:
        body = self.extended(node.body, self.statements(self.text))
        return node if body is node.body else node.with_changes(body=body)


class AddMoveTransformer(Scoped):
    """A move, at the end of a class."""

    def __init__(self, edit: AddMove, module: cst.Module) -> None:
        """Take the kind of move."""
        super().__init__(edit, module)
        self.text = text_of(edit)

    def edit(self, node: _Node) -> _Node:
        blank = cst.EmptyLine(indent=False)
        (function,) = self.statements(self.text)
        function = function.with_changes(leading_lines=[blank])
        body = self.extended(node.body, [function])
        return node if body is node.body else node.with_changes(body=body)


class DelegateMoveTransformer(Scoped):
    """The body of a wrapper's move; a docstring stays."""

    def __init__(self, edit: DelegateMove, module: cst.Module) -> None:
        """Take the sub-pools in order."""
        super().__init__(edit, module)
        self.text = text_of(edit)

    def edit(self, node: _Node) -> _Node:
        body: list[cst.BaseStatement] = self.statements(self.text)
        block = node.body
        if not isinstance(block, cst.IndentedBlock):
            return node.with_changes(body=cst.IndentedBlock(body=body))
        if _has_docstring(block):
            body.insert(0, block.body[0])
        return node.with_changes(body=block.with_changes(body=body))


def _has_docstring(block: cst.IndentedBlock) -> bool:
    first = block.body[0] if block.body else None
    return (
        isinstance(first, cst.SimpleStatementLine)
        and isinstance(first.body[0], cst.Expr)
        and isinstance(first.body[0].value, cst.SimpleString | cst.ConcatenatedString)
    )
