"""Run one move and compare every byte of every buffer with gather-then-scatter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .worker_layouts import Memory, View


@dataclass(frozen=True)
class Difference:
    """One buffer that does not hold what it should, and how it looks wrong."""

    place: str
    pool: str
    reason: str
    """The kind of mistake, the same words wherever it is seen."""
    detail: str


class MoveRaised(Exception):
    """The target's move raised the exception that is this one's cause."""

    def __init__(self, cause: Exception) -> None:
        """Keep the target's exception."""
        super().__init__(str(cause))
        self.cause = cause


def fill(memory: Memory, seed: int) -> dict[int, Any]:
    """Put random bytes into every storage; returns copies of them."""
    originals = {}
    for number, (key, live) in enumerate(memory.storages.items()):
        generator = torch.Generator().manual_seed(seed * 1009 + number)
        content = torch.randint(
            0, 256, (live.numel(),), dtype=torch.uint8, generator=generator
        ).to(live.device)
        live.copy_(content)
        originals[key] = content
    return originals


def check_move(
    memory: Memory,
    originals: dict[int, Any],
    target: Any,
    source: Any,
    move: Callable[[Any, Any], Any],
) -> list[Difference]:
    """Move rows in a wrapper whose storages hold `originals`; then put those back.

    Raises:
        MoveRaised: what the target's move raised.
    """
    given = target.clone(), source.clone()
    try:
        try:
            move(target, source)
            if target.is_cuda:
                torch.cuda.synchronize()
        except Exception as error:
            raise MoveRaised(error) from error
        found = _differences(memory, originals, *given)
        if not (torch.equal(target, given[0]) and torch.equal(source, given[1])):
            place = memory.views[0].name.split(".")[0] + ".move_kv_cache"
            text = "the caller's slot lists were changed"
            found.append(Difference(place, "", text, text))
        return found
    finally:
        for key, live in memory.storages.items():
            live.copy_(originals[key])


def _differences(
    memory: Memory, originals: dict[int, Any], target: Any, source: Any
) -> list[Difference]:
    expected = {key: content.clone() for key, content in originals.items()}
    for view in memory.views:
        tgt, src = _on(view, target, memory), _on(view, source, memory)
        before = originals[view.storage]
        view.put(expected[view.storage], tgt, view.rows(before, src))
        free = _contended(tgt, src)
        live = memory.storages[view.storage]
        view.put(expected[view.storage], free, view.rows(live, free))
    found: list[Difference] = []
    wrong_storages: set[int] = set()
    for view in memory.views:
        actual = view.rows(memory.storages[view.storage])
        wanted = view.rows(expected[view.storage])
        if not torch.equal(actual, wanted):
            wrong_storages.add(view.storage)
            found.append(_describe(view, memory, originals, wanted, target, source))
    for key, live in memory.storages.items():
        if key not in wrong_storages and not torch.equal(live, expected[key]):
            view = next(v for v in memory.views if v.storage == key)
            count = int((live != expected[key]).sum())
            reason = "bytes between the rows of its storage were changed"
            found.append(Difference(view.name, view.pool, reason, f"{count} {reason}"))
    return found


def _on(view: View, slots: Any, memory: Memory) -> Any:
    return view.translate(slots).to(memory.storages[view.storage].device)


def _contended(tgt: Any, src: Any) -> Any:
    """Targets named more than once with different sources: slot 0 alone may be one.

    Slot 0 takes the writes of padded tokens; what it holds is nobody's.
    """
    sources: dict[int, set[int]] = {}
    for t, s in zip(tgt.tolist(), src.tolist(), strict=True):
        sources.setdefault(t, set()).add(s)
    slots = [t for t, seen in sources.items() if len(seen) > 1]
    if any(slots):
        raise AssertionError(f"the pattern writes slots {slots} twice: a proof bug")
    return torch.tensor(slots, dtype=torch.long, device=tgt.device)


def _describe(
    view: View,
    memory: Memory,
    originals: dict[int, Any],
    wanted: Any,
    target: Any,
    source: Any,
) -> Difference:
    live, before = memory.storages[view.storage], originals[view.storage]
    actual, old = view.rows(live), view.rows(before)
    bad = torch.nonzero((actual != wanted).any(1)).flatten().tolist()
    tgt, src = _on(view, target, memory), _on(view, source, memory)
    pairs = dict(zip(tgt.tolist(), src.tolist(), strict=True))
    first = bad[0]
    held = torch.nonzero((old == actual[first]).all(1)).flatten().tolist()
    has = f"holds the row of slot {held[0]}" if held else "holds no row that was there"
    should = pairs.get(first)
    want = f"the row of slot {should}" if should is not None else "to stay as it was"
    text = f"{len(bad)} rows differ; slot {first} {has}, expected {want}"
    hint = _hint(view, actual, old, bad, before, target, source)
    detail = f"{text}: {hint}" if hint else text
    return Difference(view.name, view.pool, hint or "rows differ", detail)


def _hint(
    view: View,
    actual: Any,
    old: Any,
    bad: list[int],
    before: Any,
    target: Any,
    source: Any,
) -> str:
    """The kind of mistake that would give exactly these bytes, when one does."""
    if torch.equal(actual, old):
        return "nothing was moved in this buffer"
    if view.mapping is not None and _replays(view, actual, before, target, source, 0):
        return "moved by logical slots, not by the translated ones"
    tgt, src = view.translate(target), view.translate(source)
    if _replays(view, actual, before, tgt, src, 1):
        return "rows were overwritten before they were read"
    if any(_replays(view, actual, before, tgt, src, cap) for cap in (256, 128)):
        return "moved in chunks: a later one reads what an earlier one wrote"
    if all(torch.equal(actual[slot], old[slot]) for slot in bad):
        return "these rows were left where they were"
    return ""


def _replays(
    view: View, actual: Any, before: Any, tgt: Any, src: Any, step: int
) -> bool:
    """Whether moving `step` pairs at a time (0: all at once) gives what is there."""
    tgt, src = tgt.long().to(before.device), src.long().to(before.device)
    if not 0 < len(tgt) < 1000 or int(torch.cat([tgt, src]).max()) >= view.slots:
        return False
    trial = before.clone()
    for start in range(0, len(tgt), step or len(tgt)):
        part = slice(start, start + (step or len(tgt)))
        view.put(trial, tgt[part], view.rows(trial, src[part]))
    keep = torch.arange(view.slots, device=before.device) != 0
    return bool(torch.equal(view.rows(trial)[keep], actual[keep]))
