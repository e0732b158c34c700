"""What the person asked of `apply`."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvcodemod.config import Names


@dataclass(frozen=True)
class Options:
    """What the person asked for.

    Attributes:
        copy_flag: `always`, or `spec-only`: the wrapper gets the parameter.
        pools: bare names of further composite pools.
    """

    copy_flag: str = "always"
    pools: tuple[str, ...] = ()
    names: Names = field(default_factory=Names)
