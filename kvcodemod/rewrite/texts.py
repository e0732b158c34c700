"""The code that an edit writes: one place for the edit itself and for its check."""

from __future__ import annotations

from kvcodemod.rewrite import snippets
from kvcodemod.rewrite.edits import (
    AddMove,
    DelegateMove,
    Edit,
    InjectKernel,
    SetUpMove,
    SetUpShared,
)


def text_of(edit: Edit) -> str:
    """The statements that an edit adds; empty where it only changes some."""
    match edit:
        case SetUpShared():
            return snippets.set_up_shared(edit.sub_pools, edit.flag)
        case SetUpMove():
            return snippets.set_up(edit.buffers, edit.flag, *(edit.layout or ("", "")))
        case AddMove():
            return snippets.move(edit.how, edit.via, edit.signature, edit.args)
        case DelegateMove(shared=True):
            move = edit.symbol.rpartition(".")[2]
            return snippets.delegate_shared(move, edit.args, edit.check)
        case DelegateMove():
            move = edit.symbol.rpartition(".")[2]
            pools, optional = edit.sub_pools, edit.optional
            return snippets.delegate(move, edit.args, pools, optional, edit.check)
        case InjectKernel():
            return edit.text
    return ""
