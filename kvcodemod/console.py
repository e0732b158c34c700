"""The terminal: colour where there is one, nothing that a file could smuggle in."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

Piece = tuple[str, str]
"""A text and its style (`bold red`, empty for none)."""

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def wants_colour(stream: TextIO | None = None) -> bool:
    """Whether to colour what goes to a stream: a terminal, and NO_COLOR is not set."""
    out = sys.stdout if stream is None else stream
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return out.isatty()


def cache_folder() -> Path:
    """Where results are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "kvcodemod"


def clean(text: str) -> str:
    """Without control characters: a file under inspection must not drive a terminal."""
    return _CONTROL.sub("\ufffd", text).replace("\t", "    ")


def plain(pieces: Iterable[Piece]) -> str:
    """The texts without their styles."""
    return "".join(text for text, _ in pieces)


def coloured(pieces: Iterable[Piece]) -> str:
    """The texts with their styles as a terminal understands them."""
    from rich.style import Style  # loaded only where there is a terminal

    return "".join(
        Style.parse(style).render(text) if style else text for text, style in pieces
    )
