"""KVC004: a wrapper moves a sub-pool that was built without the flag the move needs."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.facts.paths.copy_flags import Unmovable
from kvcodemod.facts.paths.reach import Reach
from kvcodemod.findings import Finding, Step
from kvcodemod.lint.evidence import classes_text, column_of, grouped, guard_steps
from kvcodemod.lint.rule import Example, Rule

from .unsupported_pool_method import WORKER

_POOLS = """\
class KVCache:
    pass

class PlainPool(KVCache):
    def __init__(self, size, enable_kv_cache_copy=False):
        self.copy_plan = None
        if enable_kv_cache_copy:
            self.copy_plan = make_plan(size)

    def move_kv_cache(self, tgt_loc, src_loc):
        assert self.copy_plan is not None
        self.copy_plan.run(tgt_loc, src_loc)

class Wrapper(KVCache):
    def __init__(self, size, **kwargs):
        self.inner = PlainPool(size, **kwargs)

    def move_kv_cache(self, tgt_loc, src_loc):
        self.inner.move_kv_cache(tgt_loc, src_loc)
"""
_BUILD = """\
from sglang.srt.mem_cache.pools import PlainPool, Wrapper

def build_pool(config):
    if config.plain:
        return PlainPool(8, enable_kv_cache_copy=config.speculative)
    return Wrapper({arguments})
"""


def _tree(arguments: str) -> dict[str, str]:
    return {
        "srt/mem_cache/pools.py": _POOLS,
        "srt/mem_cache/build.py": _BUILD.replace("{arguments}", arguments),
        "srt/speculative/verify_worker.py": WORKER,
    }


def check(reach: Reach) -> Iterator[Finding]:
    """One finding for each construction that lacks the flag."""
    for _, group in grouped(reach.unmovable, _place):
        found = _finding(reach, group)
        if found is not None:
            yield found


def _place(item: Unmovable) -> str:
    return f"{item.code.path}:{item.call.lineno:08}:{item.call.col_offset}"


def _finding(reach: Reach, group: list[Unmovable]) -> Finding | None:
    item = group[0]
    chain = reach.way_to_move(item.wrapper, item.delegate)
    if chain is None:
        return None
    flag, move = reach.names.flag, reach.names.move
    affected = tuple(sorted({i.wrapper for i in group}))
    fields = ", ".join(dict.fromkeys(f"`{i.field}`" for i in group))
    sub_pools = tuple(sorted({name for i in group for name in i.sub_pools}))
    guards = guard_steps(chain.guards)
    how = {
        "absent": f"without `{flag}`",
        "off": f"with `{flag}` switched off",
        "kwargs": f"through `**kwargs` that never carry `{flag}`",
    }[item.how]
    path, line = item.code.path, item.call.lineno
    steps = [
        Step(hop.path, hop.line, hop.symbol, f"calls `{hop.calls}`")
        for hop in chain.hops
    ]
    first = Step(
        chain.hops[0].path,
        chain.start,
        chain.hops[0].symbol,
        "the path starts here, in speculative decoding",
    )
    return Finding(
        rule=RULE.code,
        name=RULE.name,
        severity="warning" if guards else "error",
        confidence="medium" if guards else "high",
        message=(
            f"{classes_text(affected)} moves {fields}, built {how}: the move of "
            f"{classes_text(sub_pools)} fails"
        ),
        path=path,
        line=line,
        column=column_of(reach, path, line),
        symbol=item.code.symbol,
        affected=affected,
        trace=(
            first,
            *steps,
            Step(path, line, item.code.symbol, f"built here {how}"),
        ),
        reason=(
            f"`{move}` of the sub-pool works only if the pool was built with `{flag}`; "
            "otherwise it fails once drafts have been accepted."
        ),
        fix=f"Pass `{flag}` here, as the sibling pools get it.",
        guards=guards,
        key=f"{item.code.qualname} {' '.join(affected)} {fields}",
    )


RULE = Rule(
    code="KVC004",
    name="copy-disabled-sub-pool",
    severity="error",
    summary="A wrapper moves a sub-pool that was built without the copy flag.",
    what=(
        "A wrapper on a path that starts in speculative decoding hands its move to a "
        "sub-pool whose move depends on a constructor flag, and the sub-pool is built "
        "without it, with it switched off, or through `**kwargs` that no construction "
        "site fills with it."
    ),
    why=(
        "The flag is off by default, so that a server without speculative decoding "
        "does not pay for it; that it is forgotten shows only when drafts have been "
        "accepted."
    ),
    mend="Pass the flag where the sub-pool, or the wrapper around it, is built.",
    limits=(
        "Only the flag and the move named in the configuration are looked at. A flag "
        "that comes from an expression counts as switched on."
    ),
    fails=(
        Example("`**kwargs` never carry the flag", _tree("8")),
        Example("the flag is switched off", _tree("8, enable_kv_cache_copy=False")),
    ),
    passes=(
        Example(
            "the flag goes through",
            _tree("8, enable_kv_cache_copy=config.speculative"),
        ),
    ),
    check=check,
)
