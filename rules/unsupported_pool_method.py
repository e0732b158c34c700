"""KVC001: speculative decoding reaches a method that raises NotImplementedError."""

from __future__ import annotations

from collections.abc import Iterator

from kvcodemod.facts.paths.reach import Reach, Reached
from kvcodemod.findings import Finding, Step
from kvcodemod.lint.evidence import (
    best,
    classes_text,
    column_of,
    configuration,
    definition,
    doubts,
    grouped,
    guard_steps,
    hit,
    short,
    trace,
)
from kvcodemod.lint.rule import Example, Rule

POOLS = """\
import abc

class KVCache(abc.ABC):
    @abc.abstractmethod
    def get_key_buffer(self, layer_id): ...

class PlainPool(KVCache):
    def get_key_buffer(self, layer_id):
        return self.keys[layer_id]

    def move_kv_cache(self, tgt_loc, src_loc):
        self.keys[tgt_loc] = self.keys[src_loc]

class SplitPool(KVCache):
    def get_key_buffer(self, layer_id):
        return self.parts[layer_id]

    def move_kv_cache(self, tgt_loc, src_loc):
        {body}
"""
BUILD = """\
from sglang.srt.mem_cache.pools import PlainPool, SplitPool

def build_pool(config):
    return SplitPool() if config.split else PlainPool()
"""
WORKER = """\
class VerifyWorker:
    def forward_batch(self, batch, accepted):
        keep_accepted(batch.token_to_kv_pool_allocator, accepted)

def keep_accepted(token_to_kv_pool_allocator, accepted):
    token_to_kv_pool_allocator.get_kvcache().move_kv_cache(accepted.to, accepted.at)
"""


def tree(body: str) -> dict[str, str]:
    """A small tree whose `SplitPool` moves rows by `body`."""
    return {
        "srt/mem_cache/pools.py": POOLS.replace("{body}", body),
        "srt/mem_cache/build.py": BUILD,
        "srt/speculative/verify_worker.py": WORKER,
    }


def check(reach: Reach) -> Iterator[Finding]:
    """One finding for each method that refuses, with every class that gets it."""
    refused = [r for r in reach.reached if r.kind == "raises" and r.method is not None]
    for _, group in grouped(refused, definition):
        yield _finding(reach, group)


def _finding(reach: Reach, group: list[Reached]) -> Finding:
    shown = best(group)
    method = shown.method
    assert method is not None
    affected = tuple(sorted({r.cls for r in hit(group)}))
    conditional = method.verdict == "raises-conditionally"
    guards = guard_steps(shown.chain.guards)
    told = shown.judged.witness is not None
    unsure = bool(guards or doubts(shown) or (conditional and not told))
    name = f"{short(method.owner)}.{method.name}"
    condition = _condition(shown) if conditional else ""
    message = f"`{name}` raises NotImplementedError" + (
        f" if {condition}" if condition else ""
    )
    message += f", and speculative decoding reaches it on {classes_text(affected)}"
    line = shown.refusals[0].line if shown.refusals else method.line
    said = shown.refusals[0].words if shown.refusals else method.refusal
    last = Step(
        method.path, line, name, "raises NotImplementedError here" + _quoted(said)
    )
    return Finding(
        rule=RULE.code,
        name=RULE.name,
        severity="warning" if unsure else "error",
        confidence="medium" if unsure else "high",
        message=message,
        path=method.path,
        line=method.line,
        column=column_of(reach, method.path, method.line),
        symbol=name,
        affected=affected,
        trace=trace(shown, last),
        reason=_reason(shown, affected),
        fix=_fix(reach, shown, name),
        guards=guards,
        configuration=configuration(reach, shown),
        key=f"{method.owner}.{method.name}",
    )


def _condition(shown: Reached) -> str:
    parts = [" and ".join(r.conditions) for r in shown.refusals if r.conditions]
    return " or ".join(dict.fromkeys(parts)) or "some path is taken"


def _quoted(words: str) -> str:
    text = " ".join(words.split())
    if not text:
        return ""
    return f': "{text if len(text) <= 90 else text[:87] + "..."}"'


def _reason(shown: Reached, affected: tuple[str, ...]) -> str:
    where = shown.chain.hops[-1]
    return (
        f"A server that holds one of these pools stops with NotImplementedError at "
        f"`{where.symbol}` ({where.path}:{where.line}) as soon as speculative decoding "
        "gets there, which can be long after it has started to serve."
    )


def _fix(reach: Reach, shown: Reached, name: str) -> str:
    method = shown.method
    assert method is not None
    if reach.waits_for_flag(method):
        return (
            "`kvcodemod apply PATH` rewrites this class: it builds the sub-pools so "
            "that they can move and moves all of them; `kvcodemod verify PATH` proves "
            "it."
        )
    if shown.chain.guards:
        return "Nothing to do while the guard stands; keep it when the path changes."
    return (
        f"Implement `{name}`, or refuse the combination at start-up, where the user "
        "still sees it."
    )


RULE = Rule(
    code="KVC001",
    name="unsupported-pool-method",
    severity="error",
    summary="Speculative decoding reaches a method that raises NotImplementedError.",
    what=(
        "A call on a path that starts in speculative decoding reaches a method, its "
        "own or an inherited one, that raises NotImplementedError on a pool or an "
        "allocator that a server can hold. Where it raises on some paths only, the "
        "finding names the condition. The server that gets there is named, too; where "
        "that hangs on something that is not understood, or a guard stands before the "
        "call, the finding is a warning that says so."
    ),
    why=(
        "The server starts, serves, and stops in the middle of a batch: the method is "
        "called only once drafts have been accepted, so no start-up test sees it."
    ),
    mend=(
        "Implement the method for this class; or refuse the combination of options at "
        "start-up. For a wrapper of sub-pools that waits for the copy flag, run "
        "`kvcodemod apply`."
    ),
    limits=(
        "Calls through tables of functions and through objects of unknown type are not "
        "followed. Refusals other than NotImplementedError are not looked for."
    ),
    fails=(
        Example(
            "a wrapper refuses the move that verification needs",
            tree('raise NotImplementedError("the parts cannot move")'),
        ),
    ),
    passes=(
        Example(
            "the wrapper moves its rows",
            tree("self.parts[tgt_loc] = self.parts[src_loc]"),
        ),
    ),
    check=check,
)
