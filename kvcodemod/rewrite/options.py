"""What the person asked of `apply`."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvcodemod.config import Names


@dataclass(frozen=True)
class Options:
    """What the person asked for.

    Attributes:
        copy_flag: `always`, or `spec-only`: the wrapper gets the parameter.
        kernel: `pools`: it serves the pools without a move of their own. `all`: the
            wrapper moves every slot-major sub-pool by it.
        pools: bare names of further composite pools.
    """

    copy_flag: str = "always"
    kernel: str = "pools"
    pools: tuple[str, ...] = ()
    names: Names = field(default_factory=Names)
