"""What a proof is about: the wrappers of the family and the places that build them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CallSite:
    """One call in the tree that builds a wrapper."""

    path: str
    """Relative to the package's parent, with `/`."""
    line: int
    keywords: tuple[str, ...] = ()
    """Names passed by keyword at that call, in source order."""
    positional: int = 0
    """How many arguments are passed by position."""
    extra_keywords: bool = False
    """The call also passes `**something`, whose names are not known."""

    @property
    def place(self) -> str:
        """`path:line`, as a person would look it up."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Wrapper:
    """One composite pool class, as the static analysis found it."""

    module: str
    """Dotted name to import, such as `sglang.srt.mem_cache.memory_pool`."""
    qualname: str
    path: str
    line: int
    calls: tuple[CallSite, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The wrapper as the worker reads it."""
        return {
            "module": self.module,
            "qualname": self.qualname,
            "place": f"{self.path}:{self.line}",
            "calls": [
                {
                    "place": call.place,
                    "keywords": list(call.keywords),
                    "positional": call.positional,
                    "extra_keywords": call.extra_keywords,
                }
                for call in self.calls
            ],
        }
