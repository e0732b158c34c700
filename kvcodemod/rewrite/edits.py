"""The kinds of edit that a plan consists of, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Edit:
    """One planned change.

    Attributes:
        path: file, relative to the package's parent.
        symbol: what is edited, qualified inside its module (`Class.method`).
        line: where it stands in the file as it was, 1-based.
    """

    path: str
    symbol: str
    line: int

    @property
    def kind(self) -> str:
        """The name of the kind of edit, as the reports give it."""
        return _KINDS[type(self)]


@dataclass(frozen=True)
class AddParameter(Edit):
    """Give a function one more parameter, `name: bool = False`."""

    name: str


@dataclass(frozen=True)
class ForwardFlag(Edit):
    """Pass a parameter on in the function's `super().__init__(...)` call."""

    name: str


@dataclass(frozen=True)
class PassFlag(Edit):
    """Pass `name=value` in every call of `callee` inside the function `symbol`."""

    callee: str
    name: str
    value: str


@dataclass(frozen=True)
class SetUpMove(Edit):
    """Plan the moves at the end of a constructor; `layout`: only under that value."""

    buffers: tuple[str, ...]
    flag: str
    layout: tuple[str, str] | None = None


@dataclass(frozen=True)
class SetUpShared(Edit):
    """Plan the moves of a wrapper's sub-pools at the end of its constructor."""

    sub_pools: tuple[str, ...]
    flag: str


@dataclass(frozen=True)
class AddMove(Edit):
    """Give a class a move; `how` and `via` as in `facts.pools.movers.Movability`."""

    how: str
    via: str
    signature: str
    args: tuple[str, ...]
    method: str


@dataclass(frozen=True)
class DelegateMove(Edit):
    """Let a wrapper's move go through its sub-pools, after a `check` of each."""

    sub_pools: tuple[str, ...]
    optional: tuple[str, ...]
    args: tuple[str, ...]
    check: str = ""
    shared: bool = False


@dataclass(frozen=True)
class InjectKernel(Edit):
    """Put the kernel's functions in front of the top-level statement of a class."""

    text: str = field(repr=False)


@dataclass(frozen=True)
class InjectCheck(InjectKernel):
    """Put the functions that a wrapper's own move calls in front of it."""


@dataclass(frozen=True)
class ExtendImport(Edit):
    """Import `names` from `module`, or `module` itself where there are no names."""

    module: str
    names: tuple[str, ...] = ()
    alias: str = ""


_KINDS: dict[type[Edit], str] = {
    AddParameter: "add-parameter",
    ForwardFlag: "forward-flag",
    PassFlag: "pass-flag",
    SetUpMove: "set-up-move",
    SetUpShared: "set-up-move",
    AddMove: "add-move",
    DelegateMove: "delegate-move",
    InjectKernel: "inject-kernel",
    InjectCheck: "inject-check",
    ExtendImport: "extend-import",
}


@dataclass(frozen=True)
class Skipped:
    """What was deliberately left alone, and why."""

    symbol: str
    path: str
    line: int
    reason: str


@dataclass(frozen=True)
class Plan:
    """What is to be done to a tree.

    Attributes:
        status: `changed` where there are edits, `unchanged` where the move is
            implemented, `not-applicable` where no such pool exists.
        note: the status in words.
        wrappers: qualified names of the composite pools that get a move.
    """

    status: str
    note: str
    wrappers: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    skipped: tuple[Skipped, ...] = ()
