"""Inserting one more item into a parameter list, an argument list or an import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import libcst as cst

_Item = TypeVar("_Item", cst.Param, cst.Arg, cst.ImportAlias)
_TRAILING = {
    cst.Param: "whitespace_after_param",
    cst.Arg: "whitespace_after_arg",
}


def insert(
    items: Sequence[_Item],
    at: int,
    new: _Item,
    opening: cst.BaseParenthesizableWhitespace,
    last: bool = True,
) -> list[_Item]:
    """Put `new` at a place in a comma-separated list that `opening` leads into.

    The layout stays what it is: one item a line where the list starts on a line of its
    own, else all on one. A comment behind an item stays with that item. `last` says
    that nothing follows the list inside the brackets.
    """
    separator = cst.Comma(whitespace_after=_clean(opening))
    result: list[_Item] = list(items)
    if at < len(result) or not last:
        result.insert(at, new.with_changes(comma=separator))
        return result
    if not result:
        return [new]
    before = result[-1]
    trailing = _TRAILING.get(type(before))
    behind: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace("")
    changes: dict[str, Any] = {}
    if isinstance(before.comma, cst.Comma):
        behind = before.comma.whitespace_after
        simple = isinstance(behind, cst.SimpleWhitespace)
        ending = behind if simple else _clean(behind)
        changes["comma"] = cst.Comma(whitespace_after=ending)
        separator = before.comma.with_changes(whitespace_after=_clean(opening))
    elif trailing:
        behind = getattr(before, trailing)
        changes[trailing] = behind
        before = before.with_changes(**{trailing: cst.SimpleWhitespace("")})
    if isinstance(behind, cst.ParenthesizedWhitespace):
        # comments behind and below the item that was the last one stay where they are
        if trailing in changes:
            changes[trailing] = _clean(behind)
        lead = behind.with_changes(**_start(opening, behind))
        separator = separator.with_changes(whitespace_after=lead)
    result[-1] = before.with_changes(comma=separator)
    result.append(new.with_changes(**changes))
    return result


def _start(
    opening: cst.BaseParenthesizableWhitespace, behind: cst.ParenthesizedWhitespace
) -> dict[str, Any]:
    """Where a line with one more item starts: where the first does, or farther in."""
    if isinstance(opening, cst.ParenthesizedWhitespace):
        return {"indent": opening.indent, "last_line": opening.last_line}
    deeper = cst.SimpleWhitespace(f"{behind.last_line.value}    ")
    return {"indent": behind.indent, "last_line": deeper}


def _clean(
    space: cst.BaseParenthesizableWhitespace,
) -> cst.BaseParenthesizableWhitespace:
    """The same line break without comments; a single blank for none."""
    if isinstance(space, cst.ParenthesizedWhitespace):
        return space.with_changes(
            first_line=cst.TrailingWhitespace(newline=space.first_line.newline),
            empty_lines=[],
        )
    return cst.SimpleWhitespace(" ")
