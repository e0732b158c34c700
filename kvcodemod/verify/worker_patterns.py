"""Slot lists for the proof: every way in which targets and sources can overlap."""

from __future__ import annotations

import random
from dataclasses import dataclass

CAP = 128
"""The lower of the two caps of the stock move (0.5.23 memory_pool.py: 128 or 256).

Past its cap the stock move goes chunk by chunk, so only lists of up to this many pairs,
or lists in the shape of speculative decoding, are gather-then-scatter there.
"""


@dataclass(frozen=True)
class Pattern:
    """Two lists of logical slots of equal length."""

    name: str
    target: tuple[int, ...]
    source: tuple[int, ...]
    bits: int = 64
    """Width of the index tensors."""
    first: bool = False
    """The others would write outside the pool's memory if this one fails."""


def patterns(
    usable: list[int],
    last: int,
    rng: random.Random,
    *,
    rows: int = 0,
    absent: tuple[int, ...] = (),
    long_permutations: bool = False,
    brief: bool = False,
) -> list[Pattern]:
    """All patterns over `usable` slots (ascending, without 0).

    Args:
        usable: slots that hold a row of their own in every sub-pool.
        last: the highest slot of the pool.
        rng: the only source of randomness.
        rows: how many slots the smallest sub-pool has.
        absent: logical slots that a HiSparse mapping sends to device slot 0.
        long_permutations: also permutations longer than any cap of the stock move.
        brief: only the patterns that meet those caps.
    """
    mixed = list(usable)
    rng.shuffle(mixed)
    a, n = usable, min(CAP, len(usable) // 2)
    found = [
        _pairs("empty", [], []),
        _pairs("one pair", [a[3]], [a[7]]),
        _pairs("onto itself", a[:9], a[:9]),
        _pairs("disjoint", mixed[:17], mixed[17:34]),
        _pairs("chained", mixed[:16], mixed[1:17]),
        _pairs("chained backwards", mixed[1:30], mixed[:29]),
        _pairs("shifted down by 1", a[4:44], a[5:45]),
        _pairs("shifted up by 1", a[5:45], a[4:44]),
        _pairs("shifted up by 3", a[8:72], a[5:69]),
        _pairs("swapped", [*mixed[:20], *mixed[20:40]], [*mixed[20:40], *mixed[:20]]),
        _pairs("permuted", mixed[:n], rng.sample(mixed[:n], n)),
        _pairs("one source, many targets", mixed[1:13], [mixed[0]] * 12),
        _pairs("up to the last slot", [a[2], last], [last, a[2]]),
        _pairs("many written to slot 0", [0] * 6 + mixed[:6], mixed[6:18]),
        _windows("accepted drafts", mixed, rng, requests=9, window=6, accept=4),
        _windows("accepted drafts, many", mixed, rng, requests=60, window=8, accept=6),
        _windows("accepted drafts, in order", a, rng, requests=60, window=8, accept=6),
    ]
    if len(mixed) > 8000:
        many = _windows("accepted drafts, thousands", mixed, rng, 1000, 8, accept=6)
        found.append(many)
    if brief:
        wanted = ("permuted", "accepted drafts, many", "accepted drafts, thousands")
        found = [p for p in found if p.name in wanted]
    found += [
        Pattern(f"{p.name}, int32", p.target, p.source, 32)
        for p in found
        if p.name in ("empty", "permuted", "chained", "accepted drafts, many")
    ]
    if absent:
        low = [slot for slot in mixed if slot < rows]
        first = Pattern("low slots", tuple(low[:9]), tuple(low[9:18]), first=True)
        found.insert(0, first)
        where = [*absent[:5], *mixed[:5]]
        found.append(_pairs("not on the device", where, mixed[5:15]))
    if long_permutations:
        every = mixed[: min(len(mixed), 400)]
        found.append(
            _pairs("permuted, long", every, rng.sample(every, len(every)), over=256)
        )
        found.append(_pairs("shifted up by 1, long", a[1:301], a[:300], over=256))
        found.append(_pairs("shifted down by 1, long", a[:300], a[1:301], over=256))
    return found


def _pairs(name: str, target: list[int], source: list[int], over: int = 0) -> Pattern:
    if len(target) != len(source) or (over and len(target) <= over):
        raise AssertionError(f"the pool is too small for the pattern {name!r}")
    return Pattern(name, tuple(target), tuple(source))


def _windows(
    name: str,
    slots: list[int],
    rng: random.Random,
    requests: int,
    window: int,
    accept: int,
) -> Pattern:
    """What `move_accept_tokens_to_target_kvcache` makes after a verify step.

    Each request compacts inside its own window: targets are the window's front, sources
    rising indices into the same window. Both lists are dense, and padded with slot 0 to
    `requests * accept` pairs (0.5.23 speculative/spec_utils.py).
    """
    requests = min(requests, len(slots) // window)
    target: list[int] = []
    source: list[int] = []
    for request in range(requests):
        own = slots[request * window : (request + 1) * window]
        count = accept if request % 3 else rng.randint(1, accept)
        target += own[:count]
        source += [own[i] for i in sorted(rng.sample(range(window), count))]
    pad = [0] * (requests * accept - len(target) + 11)
    return _pairs(name, target + pad, source + pad)
