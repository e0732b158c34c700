"""Carries out the edits of one file: parse once, edit, render."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

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
from kvcodemod.rewrite.toplevel import extend_import, inject
from kvcodemod.rewrite.transformers import (
    AddMoveTransformer,
    AddParameterTransformer,
    DelegateMoveTransformer,
    ForwardFlagTransformer,
    PassFlagTransformer,
    Scoped,
    SetUpMoveTransformer,
)


def edit_text(path: str, text: str, edits: Sequence[Edit]) -> str:
    """The text after all edits of one file.

    Raises:
        RefusedError: libcst cannot parse the text, or an edit finds no place.
    """
    try:
        return _edited(path, text, edits)
    except cst.ParserSyntaxError as error:
        raise RefusedError(path, error.raw_line, f"libcst: {error.message}") from error
    except RecursionError as error:
        raise RefusedError(path, 0, "something in it is nested too deeply") from error


def _edited(path: str, text: str, edits: Sequence[Edit]) -> str:
    module = cst.parse_module(text)
    for edit in edits:
        changed = _apply(module, edit)
        if changed is None:
            reason = f"{edit.kind}: found no place for it in {edit.symbol}"
            raise RefusedError(path, edit.line, reason)
        module = changed
    return module.code


def _apply(module: cst.Module, edit: Edit) -> cst.Module | None:
    if isinstance(edit, InjectKernel):
        return inject(module, edit)
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
