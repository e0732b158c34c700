"""A check that keeps a class, or one method of it, from being reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, order=True)
class Guard:
    """A check that keeps a class, or one method of it, from being reached.

    Attributes:
        method: for an attribute check, the method that it asks for.
    """

    kind: Literal["isinstance", "hasattr", "handler", "start-up"]
    path: str
    line: int
    text: str
    method: str = ""
