"""The rewrite from end to end: plan, edit, check, and, if asked, write."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from kvcodemod.facts.syntax.modules import Modules
from kvcodemod.facts.syntax.nesting import too_deep
from kvcodemod.rewrite.check import check_texts, check_tree
from kvcodemod.rewrite.edits import Plan
from kvcodemod.rewrite.engine import edit_text
from kvcodemod.rewrite.options import Options
from kvcodemod.rewrite.patch import make_patch
from kvcodemod.rewrite.plan import make_plan
from kvcodemod.tree.source import SourceTree
from kvcodemod.tree.write import write_all


@dataclass(frozen=True)
class Rewrite:
    """A plan and the files it leads to; both mappings are empty without edits."""

    plan: Plan
    old: dict[str, bytes]
    new: dict[str, bytes]


def prepare(tree: SourceTree, options: Options) -> Rewrite:
    """Everything but the writing: the new bytes of every file, checked.

    Raises:
        RefusedError: the tree cannot be rewritten, or the result is in doubt.
        SourceError: a file that matters cannot be read or parsed.
    """
    try:
        plan = make_plan(tree, options)
    except RecursionError:
        raise too_deep(tree) from None
    old: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    for path in sorted({edit.path for edit in plan.edits}):
        source = tree.text(path)
        edits = [edit for edit in plan.edits if edit.path == path]
        text = edit_text(path, source.text, edits, Modules(tree).get(path).tree)
        old[path], new[path] = tree.data(path), source.encode(text)
    if new:
        after = tree.with_files(new)
        check_texts(tree, after, plan)
        check_tree(after, plan, options)
    return Rewrite(plan, old, new)


def write(tree: SourceTree, rewrite: Rewrite, proof: Callable[[], bool] | None) -> bool:
    """Write all files; with a `proof` that says no, put everything back.

    Returns whether the new files are in place.

    Raises:
        WriteError: nothing was changed, and why.
    """
    if not rewrite.new:
        return True
    write_all(tree.package, rewrite.old, rewrite.new)
    if proof is None:
        return True
    proven = False
    try:
        proven = proof()
    finally:
        if not proven:
            write_all(tree.package, rewrite.new, rewrite.old)
    return proven


def patch_of(tree: SourceTree, rewrite: Rewrite) -> bytes:
    """The rewrite as a patch, relative to the top of the checkout."""
    package = tree.package
    inside = os.path.relpath(package.parent, package.patch_base)
    prefix = "" if inside == "." else f"{inside}/".replace(os.sep, "/")
    return make_patch(rewrite.old, rewrite.new, prefix)
