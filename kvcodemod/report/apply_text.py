"""What `apply` did, or would do, in words for a person."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.rewrite.edits import Edit, Plan

_WORDS = {
    "add-parameter": "takes the flag",
    "forward-flag": "hands the flag on to its base",
    "pass-flag": "passes the flag",
    "set-up-move": "plans its moves when it is built",
    "add-move": "gets a move",
    "delegate-move": "moves every sub-pool",
    "inject-kernel": "gets the kernel put in front of it",
    "inject-check": "gets a check of layouts put in front of it",
    "extend-import": "is imported from",
}


def apply_text(plan: Plan, version: str | None, pending: bool) -> Iterator[str]:
    """The lines of the report; `pending` says that nothing has been written."""
    name = f"SGLang {version}" if version else "SGLang (version unknown)"
    yield f"{name}: {plan.note}"
    for path in sorted({edit.path for edit in plan.edits}):
        yield ""
        yield path
        for edit in _in_order(plan, path):
            yield f"  {edit.line:>5}  {edit.symbol} {_WORDS[edit.kind]}"
    if plan.skipped:
        yield ""
        yield "left alone on purpose"
        for skipped in plan.skipped:
            yield f"  {skipped.path}:{skipped.line}: {skipped.symbol}"
            yield f"         {skipped.reason}"
    if plan.edits:
        files = len({edit.path for edit in plan.edits})
        verb = "would change" if pending else "changed"
        yield ""
        yield f"{verb} {files} files with {len(plan.edits)} edits"


def _in_order(plan: Plan, path: str) -> list[Edit]:
    edits = [edit for edit in plan.edits if edit.path == path]
    return sorted(edits, key=lambda edit: (edit.line, edit.kind, edit.symbol))
