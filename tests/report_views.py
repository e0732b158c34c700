"""Findings with every field and every nasty character, for the tests of reports."""

from __future__ import annotations

from dataclasses import replace

from kvcodemod.findings import Finding, Step
from kvcodemod.lint.baseline import ACCEPTED
from kvcodemod.lint.registry import load_rules
from kvcodemod.report.lint_view import View

NASTY = "a % b\r\nc, d: e | `f` <g> & \"h\" 'i' ]]> \x00\x1b[31m\ud800 \u2028 ü 😀"
"""Percent, newlines, XML and Markdown markup, control characters, a lone surrogate."""

FINDING = Finding(
    rule="KVC001",
    name="unsupported-pool-method",
    severity="error",
    confidence="high",
    message="`Pool.move` raises",
    path="sglang/srt/pool.py",
    line=7,
    column=5,
    symbol="Pool.move",
    affected=("sglang.srt.pool.Pool",),
    trace=(
        Step("sglang/srt/speculative/w.py", 3, "Worker.go", "the path starts here"),
        Step("sglang/srt/pool.py", 8, "Pool.move", "raises here"),
    ),
    reason="The server stops.",
    fix="Implement it.",
    key="Pool.move",
)
WARNING = replace(
    FINDING,
    severity="warning",
    line=9,
    symbol="Pool.copy",
    key="Pool.copy",
    guards=(Step("sglang/srt/args.py", 2, "", "start-up refuses it"),),
)
BY_COMMENT = replace(FINDING, line=11, key="c", suppressed="refused at start-up")
BY_BASELINE = replace(FINDING, line=13, key="d", suppressed=ACCEPTED)
NASTY_FINDING = replace(
    FINDING,
    message=NASTY,
    path="sglang/srt/a b%,:ü.py",
    symbol=NASTY,
    reason=NASTY,
    fix=NASTY,
    trace=(Step("sglang/s p.py", 1, NASTY, NASTY), Step("sglang/t.py", 2, "t", NASTY)),
)


def view(*findings: Finding, **more: object) -> View:
    """A run with these findings; suppressed ones are told apart by themselves."""
    values: dict[str, object] = {
        "findings": tuple(f for f in findings if f.suppressed is None),
        "suppressed": tuple(f for f in findings if f.suppressed is not None),
        "source": lambda path, line: "",
        "version": "0.5.23",
        "pools": 3,
        "entries": 2,
        "rules": tuple(load_rules().rules.values()),
        **more,
    }
    return View(**values)  # type: ignore[arg-type]
