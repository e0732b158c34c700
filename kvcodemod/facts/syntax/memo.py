"""What is made of a piece of syntax, kept with the piece."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

_Node = TypeVar("_Node", bound=ast.AST)
_Made = TypeVar("_Made")


def kept(make: Callable[[_Node], _Made]) -> Callable[[_Node], _Made]:
    """Make it once for each node; it lives as long as the node does."""
    key = f"_kvcodemod_{make.__name__}"

    @wraps(make)
    def get(node: _Node) -> _Made:
        found = node.__dict__
        if key not in found:
            found[key] = make(node)
        return cast(_Made, found[key])

    return get
