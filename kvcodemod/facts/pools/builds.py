"""What a composite pool builds, as plain data: calls, sub-pools, the whole."""

from __future__ import annotations

from dataclasses import dataclass

from kvcodemod.facts.classes.table import Method, PoolClass


@dataclass(frozen=True)
class Build:
    """One call that constructs a pool.

    Attributes:
        function: qualified name inside the module of the function it stands in.
        callee: the called expression as text (`main_pool_cls`).
        classes: qualified names of the classes that the callee can stand for.
        positional: how many arguments are passed by position.
        keywords: names passed by keyword, in order.
        flag: the expression passed for the flag, as text, or None.
        splat: whether `**something` is passed too.
    """

    path: str
    line: int
    function: str
    callee: str
    classes: tuple[str, ...]
    positional: int
    keywords: tuple[str, ...]
    flag: str | None
    splat: bool


@dataclass(frozen=True)
class SubPool:
    """An attribute that holds a pool which the class itself builds."""

    attr: str
    line: int
    optional: bool
    builds: tuple[Build, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Every class that the attribute can hold, sorted."""
        return tuple(sorted({c for build in self.builds for c in build.classes}))


@dataclass(frozen=True)
class Composite:
    """A pool class that builds sub-pools.

    Attributes:
        move: the move as the class itself defines it, or None.
        class_params: class-valued constructor parameters -> classes they can get.
        unclear: (path, line, reason) for everything that could not be understood.
    """

    cls: PoolClass
    sub_pools: tuple[SubPool, ...]
    move: Method | None
    class_params: tuple[tuple[str, tuple[str, ...]], ...]
    unclear: tuple[tuple[str, int, str], ...]
