"""KVC901: a suppression on a line that has nothing to suppress."""

from __future__ import annotations

from collections.abc import Iterable

from kvcodemod.facts.paths.reach import Reach
from kvcodemod.findings import Finding
from kvcodemod.lint.rule import Rule


def check(reach: Reach) -> Iterable[Finding]:
    """Nothing: `kvcodemod.lint.suppressions` reports it after the other rules."""
    return ()


RULE = Rule(
    code="KVC901",
    name="unused-suppression",
    severity="error",
    summary="A suppression that suppresses nothing.",
    what=(
        "A comment `# kvcodemod: ignore[KVC001] -- reason` stands on a line on which "
        "that rule finds nothing: the defect is gone, or the comment stands on the "
        "wrong line. Of several rules in one comment each is looked at."
    ),
    why="A suppression that is left behind hides the next defect on its line.",
    mend="Remove the comment, or move it to the line that the finding names.",
    limits="A rule that did not run (`--select`, `--ignore`) is not judged.",
    fails=(),
    passes=(),
    check=check,
)
