"""KVC002: speculative decoding calls a method that a pool does not have at all."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.facts.paths.reach import Reach, Reached
from kvcodemod.findings import Finding, Step
from kvcodemod.lint.evidence import (
    best,
    classes_text,
    column_of,
    configuration,
    doubts,
    grouped,
    guard_steps,
    hit,
    trace,
)
from kvcodemod.lint.rule import Example, Rule

from .unsupported_pool_method import tree

_LACKS = """\
class SplitPool(KVCache):
    def get_key_buffer(self, layer_id):
        return self.parts[layer_id]
"""


def _without_move() -> dict[str, str]:
    files = tree("pass")
    pools = files["srt/mem_cache/pools.py"].partition("class SplitPool")[0]
    return {**files, "srt/mem_cache/pools.py": pools + _LACKS}


def check(reach: Reach) -> Iterator[Finding]:
    """One finding for each class in which the method would have to be defined."""
    missing = [r for r in reach.reached if r.kind == "missing"]
    for _, group in grouped(missing, lambda r: f"{reach.home(r)} {r.call.method}"):
        yield _finding(reach, group)


def _finding(reach: Reach, group: list[Reached]) -> Finding:
    shown = best(group)
    home = reach.program.table.classes[reach.home(shown)]
    method = shown.call.method
    affected = tuple(sorted({r.cls for r in hit(group)}))
    guards = guard_steps(shown.chain.guards)
    unsure = bool(guards or doubts(shown))
    verb = "have" if len(affected) > 1 else "has"
    where = shown.chain.hops[-1]
    return Finding(
        rule=RULE.code,
        name=RULE.name,
        severity="warning" if unsure else "error",
        confidence="medium" if unsure else "high",
        message=(
            f"{classes_text(affected)} {verb} no `{method}`, "
            "and speculative decoding calls it"
        ),
        path=home.path,
        line=home.line,
        column=column_of(reach, home.path, home.line),
        symbol=f"{home.name}.{method}",
        affected=affected,
        trace=trace(
            shown,
            Step(
                home.path,
                home.line,
                home.name,
                f"neither this class nor a base of it defines `{method}`",
            ),
        ),
        reason=(
            f"A server that holds one of these stops with AttributeError at "
            f"`{where.symbol}` ({where.path}:{where.line})."
        ),
        fix=(
            "Nothing to do while the guard stands; keep it when the path changes."
            if guards
            else f"Define `{method}` in `{home.name}`, or refuse the combination at "
            "start-up, where the user still sees it."
        ),
        guards=guards,
        configuration=configuration(reach, shown),
        key=f"{home.qualname} {method}",
    )


RULE = Rule(
    code="KVC002",
    name="missing-pool-method",
    severity="error",
    summary="Speculative decoding calls a method that a pool or allocator lacks.",
    what=(
        "A call on a path that starts in speculative decoding names a method that a "
        "class which a server can hold defines nowhere in its hierarchy. The finding "
        "stands at the topmost class that could define it for all that lack it."
    ),
    why=(
        "The call ends in AttributeError in the middle of a batch. Python has no "
        "interface check, and the base class often does not declare the method."
    ),
    mend="Define the method, or refuse the combination of options at start-up.",
    limits=(
        "Attributes that code outside the class sets on its instances are not seen. A "
        "method that belongs to one family of pools only, as its declaration in that "
        "family's base or the options of all its owners show, is expected of no other."
    ),
    fails=(Example("one of two pools cannot move", _without_move()),),
    passes=(
        Example(
            "both can",
            tree("self.parts[tgt_loc] = self.parts[src_loc]"),
        ),
    ),
    check=check,
)
