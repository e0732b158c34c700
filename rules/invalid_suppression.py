"""KVC900: a comment that was meant to suppress a finding and does not."""

from __future__ import annotations

from collections.abc import Iterable

from kvcodemod.facts.paths.reach import Reach
from kvcodemod.findings import Finding
from kvcodemod.lint.rule import Rule


def check(reach: Reach) -> Iterable[Finding]:
    """Nothing: `kvcodemod.lint.suppressions` reports it while it hears the comments."""
    return ()


RULE = Rule(
    code="KVC900",
    name="invalid-suppression",
    severity="error",
    summary="A suppression without a rule or reason, or of a rule that is not there.",
    what=(
        "A suppression is a comment on the finding's line that names the rule and says "
        "why: `# kvcodemod: ignore[KVC001] -- refused at start-up`. One that names no "
        "rule, gives no reason, names a rule that does not exist or cannot be "
        "understood suppresses nothing and is reported."
    ),
    why=(
        "A suppression accepts a server that stops while it serves. Whoever reads the "
        "line must see which finding is accepted, and why."
    ),
    mend="Write the rule in brackets, then `--`, then the reason.",
    limits="Only comments count; the same text in a string is left alone.",
    fails=(),
    passes=(),
    check=check,
)
