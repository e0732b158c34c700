"""Carries out the edits of one file: parse what is edited, edit, render."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from kvcodemod.rewrite.chunks import cut, place
from kvcodemod.rewrite.edits import (
    AddMove,
    AddParameter,
    DelegateMove,
    Edit,
    ExtendImport,
    ForwardFlag,
    InjectKernel,
    PassFlag,
    SetUpMove,
    SetUpShared,
)
from kvcodemod.rewrite.refusal import RefusedError
from kvcodemod.rewrite.toplevel import extend_import, has_class
from kvcodemod.rewrite.transformers import (
    AddMoveTransformer,
    AddParameterTransformer,
    DelegateMoveTransformer,
    ForwardFlagTransformer,
    PassFlagTransformer,
    Scoped,
    SetUpMoveTransformer,
)


def edit_text(
    path: str, text: str, edits: Sequence[Edit], tree: ast.Module | None = None
) -> str:
    """The text after all edits of one file; `tree` is its syntax, where it is known.

    Raises:
        RefusedError: libcst cannot parse the text, or an edit finds no place.
    """
    try:
        chunks = cut(text, tree or ast.parse(text))
        todo: dict[int, list[Edit]] = {}
        for edit in edits:
            chunk = place(chunks, edit, path)
            if chunk is None:
                raise _lost(edit)
            todo.setdefault(chunks.index(chunk), []).append(edit)
        for at, own in todo.items():
            chunks[at].text = _edited(chunks[at].text, own)
    except cst.ParserSyntaxError as error:
        raise RefusedError(path, 0, f"libcst: {error.message}") from error
    except RecursionError as error:
        raise RefusedError(path, 0, "something in it is nested too deeply") from error
    return "".join(chunk.text for chunk in chunks)


def _edited(text: str, edits: Sequence[Edit]) -> str:
    module = cst.parse_module(text)
    front = ""
    for edit in edits:
        if isinstance(edit, InjectKernel):
            if not has_class(module, edit.symbol):
                raise _lost(edit)
            front += f"\n\n{edit.text}".replace("\n", module.default_newline)
            continue
        changed = _apply(module, edit)
        if changed is None:
            raise _lost(edit)
        module = changed
    return front + module.code


def _lost(edit: Edit) -> RefusedError:
    reason = f"{edit.kind}: found no place for it in {edit.symbol}"
    return RefusedError(edit.path, edit.line, reason)


def _apply(module: cst.Module, edit: Edit) -> cst.Module | None:
    if isinstance(edit, ExtendImport):
        return extend_import(module, edit)
    transformer = _transformer(module, edit)
    changed = module.visit(transformer)
    return changed if transformer.done else None


def _transformer(module: cst.Module, edit: Edit) -> Scoped:
    match edit:
        case AddParameter():
            return AddParameterTransformer(edit, module)
        case ForwardFlag():
            return ForwardFlagTransformer(edit, module)
        case PassFlag():
            return PassFlagTransformer(edit, module)
        case SetUpMove() | SetUpShared():
            return SetUpMoveTransformer(edit, module)
        case AddMove():
            return AddMoveTransformer(edit, module)
        case DelegateMove():
            return DelegateMoveTransformer(edit, module)
    raise TypeError(f"no transformer for {type(edit).__name__}")
