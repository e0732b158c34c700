"""Parsing: from text to syntax trees, lines and dotted names."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from kvcodemod.tree.source import SourceError

Function = ast.FunctionDef | ast.AsyncFunctionDef


def module_name(path: str) -> str:
    """`a/b/c.py` -> `a.b.c`, `a/b/__init__.py` -> `a.b`."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: str, text: str) -> ast.Module:
    """The syntax tree of a file.

    Raises:
        SourceError: the file does not parse, with the line.
    """
    try:
        with _no_warnings():
            return ast.parse(text)
    except SyntaxError as error:
        raise SourceError(path, error.lineno, f"does not parse: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "nested too deeply"
        raise SourceError(path, None, f"does not parse: {reason}") from error


def parse_annotation(text: str) -> ast.expr | None:
    """The syntax of an annotation that is written as a string; None if it has none."""
    try:
        with _no_warnings():
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Python's own word on a target, such as on an invalid escape, is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_LINE_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them: a form feed or U+2028 does not end one."""
    return _LINE_END.split(text)


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` as text, or None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    text = ""
    while isinstance(node, ast.Attribute):
        text = f".{node.attr}{text}"
        node = node.value
    return node.id + text if isinstance(node, ast.Name) else None
