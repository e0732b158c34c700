"""Edits at the top level of a module: its imports, which stand before definitions."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from kvcodemod.rewrite.edits import ExtendImport
from kvcodemod.rewrite.listing import insert
from kvcodemod.rewrite.snippets import WIDTH

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


def has_class(module: cst.Module, name: str) -> bool:
    """Whether a class stands at the top level, so that something can go before it."""
    return any(
        isinstance(s, cst.ClassDef) and s.name.value == name for s in module.body
    )


def extend_import(module: cst.Module, edit: ExtendImport) -> cst.Module | None:
    """Import more from a module, or the module; None where there is no place for it."""
    if not edit.names:
        return _add_plain(module, edit)
    for at, statement in enumerate(module.body):
        found = _import_from(statement)
        if found is None or _absolute(found, edit.path) != edit.module:
            continue
        if isinstance(found.names, cst.ImportStar):
            continue
        grown = found
        for name in sorted(edit.names):
            grown = _with_name(module, grown, name)
        return _replaced(module, at, found, grown)
    return _add_from(module, edit)


def _with_name(module: cst.Module, node: cst.ImportFrom, name: str) -> cst.ImportFrom:
    assert not isinstance(node.names, cst.ImportStar)
    names = list(node.names)
    key = _sort_key(name)
    at = sum(1 for a in names if _sort_key(_dotted(module, a.name)) < key)
    new = cst.ImportAlias(name=cst.Name(name))
    if node.lpar is not None:
        opening = node.lpar.whitespace_after
        if node.rpar is not None and not isinstance(names[-1].comma, cst.Comma):
            # what stands behind the last name, a comment perhaps, is that name's
            comma = cst.Comma(whitespace_after=node.rpar.whitespace_before)
            names[-1] = names[-1].with_changes(comma=comma)
            empty = cst.SimpleWhitespace("")
            node = node.with_changes(rpar=cst.RightParen(whitespace_before=empty))
        return node.with_changes(names=insert(names, at, new, opening))
    flat = node.with_changes(names=insert(names, at, new, cst.SimpleWhitespace("")))
    if len(module.code_for_node(flat)) <= WIDTH:
        return flat
    inner = cst.ParenthesizedWhitespace(
        indent=True, last_line=cst.SimpleWhitespace(module.default_indent)
    )
    outer = cst.ParenthesizedWhitespace(indent=True)
    assert not isinstance(flat.names, cst.ImportStar)
    spread = [
        alias.with_changes(comma=cst.Comma(whitespace_after=inner))
        for alias in flat.names
    ]
    spread[-1] = spread[-1].with_changes(comma=cst.Comma(whitespace_after=outer))
    return flat.with_changes(
        names=spread,
        lpar=cst.LeftParen(whitespace_after=inner),
        rpar=cst.RightParen(),
    )


def _add_from(module: cst.Module, edit: ExtendImport) -> cst.Module | None:
    """A new `from` line, sorted in among those of the same package."""
    line = f"from {edit.module} import {', '.join(sorted(edit.names))}"
    root = edit.module.partition(".")[0]
    place = None
    for at, statement in enumerate(module.body):
        found = _import_from(statement)
        if found is None or found.relative:
            continue
        name = _dotted(module, found.module)
        if name.partition(".")[0] == root and (place is None or name < edit.module):
            place = at if name > edit.module else at + 1
    return _inserted(module, place, line)


def _add_plain(module: cst.Module, edit: ExtendImport) -> cst.Module | None:
    """A new `import` line, sorted in among those around `import torch`."""
    line = f"import {edit.module}" + (f" as {edit.alias}" if edit.alias else "")
    place = None
    for at, statement in enumerate(module.body):
        found = _import(statement)
        if found is not None and found <= edit.module:
            place = at + 1
    return _inserted(module, place, line)


def _inserted(module: cst.Module, place: int | None, line: str) -> cst.Module | None:
    if place is None:  # after the last import, whatever it imports
        for at, statement in enumerate(module.body):
            if _import_from(statement) is not None or _import(statement) is not None:
                place = at + 1
    if place is None:
        return None
    (statement,) = cst.parse_module(line, module.config_for_parsing).body
    body = [*module.body[:place], statement, *module.body[place:]]
    return module.with_changes(body=body)


def _import_from(statement: Statement) -> cst.ImportFrom | None:
    if isinstance(statement, cst.SimpleStatementLine):
        only: Sequence[cst.BaseSmallStatement] = statement.body
        if len(only) == 1 and isinstance(only[0], cst.ImportFrom):
            return only[0]
    return None


def _import(statement: Statement) -> str | None:
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        only = statement.body[0]
        if isinstance(only, cst.Import) and len(only.names) == 1:
            return _text(only.names[0].name)
    return None


def _replaced(
    module: cst.Module, at: int, old: cst.ImportFrom, new: cst.ImportFrom
) -> cst.Module:
    body = list(module.body)
    body[at] = body[at].with_changes(body=[new])
    return module.with_changes(body=body)


def _absolute(node: cst.ImportFrom, path: str) -> str:
    """The dotted name of what `from ... import` names in the file at `path`."""
    name = _text(node.module) if node.module is not None else ""
    if not node.relative:
        return name
    parts = path.removesuffix(".py").split("/")[: -len(node.relative)]
    return ".".join([*parts, name] if name else parts)


def _dotted(module: cst.Module, node: cst.Attribute | cst.Name | None) -> str:
    return _text(node) if node is not None else ""


def _text(node: cst.BaseExpression) -> str:
    return cst.Module(body=[]).code_for_node(node)


def _sort_key(name: str) -> tuple[int, str, str]:
    """The order of isort's default: CONSTANTS, then Classes, then functions."""
    constant = name.isupper() and len(name) > 1
    group = 0 if constant else 1 if name[:1].isupper() else 2
    return group, name.casefold(), name
