"""Cuts a file at its top-level statements, so that only what is edited is parsed anew.

libcst takes longer for a file of 6,000 lines than everything else that `apply` does.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from kvcodemod.rewrite.edits import Edit, ExtendImport

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_DEFINITIONS = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Chunk:
    """Whole top-level statements with the blank lines and comments in front of them.

    Attributes:
        last: the last line of the chunk, 1-based.
        body: the statements.
        text: those lines; all chunks together are the file.
    """

    last: int
    body: list[ast.stmt]
    text: str = ""


def cut(text: str, tree: ast.Module) -> list[Chunk]:
    """The chunks of a file: all that stands before the first definition is one."""
    lines = _LINE.findall(text)
    chunks: list[Chunk] = []
    head = True
    for statement in tree.body:
        end = _with_footer(lines, statement.end_lineno or statement.lineno)
        first = min([statement.lineno, *_decorators(statement)])
        grows = chunks and (head or first <= chunks[-1].last)
        if isinstance(statement, _DEFINITIONS):
            grows = bool(chunks) and first <= chunks[-1].last
            head = False
        if grows:
            chunks[-1].body.append(statement)
            chunks[-1].last = max(end, chunks[-1].last)
        else:
            chunks.append(Chunk(end, [statement]))
    if not chunks:
        return [Chunk(len(lines), [], text)]
    chunks[-1].last = len(lines)
    start = 0
    for chunk in chunks:
        chunk.text = "".join(lines[start : chunk.last])
        start = chunk.last
    return chunks


def _decorators(statement: ast.stmt) -> list[int]:
    marks = getattr(statement, "decorator_list", [])
    return [mark.lineno for mark in marks]


def _with_footer(lines: list[str], end: int) -> int:
    """`end`, or the last of the indented comments below: they belong to the block."""
    last = end
    for at in range(end, len(lines)):
        line = lines[at]
        if line.strip() and not (line[0] in " \t" and line.lstrip().startswith("#")):
            break
        if line.strip():
            last = at + 1
    return last


def place(chunks: list[Chunk], edit: Edit, path: str) -> Chunk | None:
    """The chunk that an edit is for."""
    if isinstance(edit, ExtendImport):
        for chunk in chunks if edit.names else ():
            for statement in chunk.body:
                if _imports_from(statement, edit.module, path):
                    return chunk
        return chunks[0]
    return next((chunk for chunk in chunks if edit.line <= chunk.last), None)


def _imports_from(statement: ast.stmt, module: str, path: str) -> bool:
    if not isinstance(statement, ast.ImportFrom) or statement.names[0].name == "*":
        return False
    parts = path.removesuffix(".py").split("/")[: -statement.level or None]
    base = [*(parts if statement.level else []), statement.module or ""]
    return ".".join(filter(None, base)) == module
