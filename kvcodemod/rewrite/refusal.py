"""The one error of planning: this tree is not rewritten, here is where and why."""

from __future__ import annotations


class RefusedError(Exception):
    """The tree cannot be rewritten; the message names the place and the reason."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        """Keep the place beside the reason."""
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


class UnknownPoolError(RefusedError):
    """The person named a pool that the tree does not have."""
