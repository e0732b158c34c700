"""Runs rewritten fixtures: builds their pools as they do, moves rows, compares all.

A program of its own, as the trees all hold a package of the same name. Arguments:
folders that hold `sglang/`. Ends with 1 and says where, if a buffer is wrong.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch

SIZE, PAGE = 20, 4
TARGET, SOURCE = [1, 2, 3, 7, 9], [2, 3, 4, 7, 1]  # a chain, in both directions


def pools(build: Any, speculative: str | None) -> Iterator[tuple[str, Any]]:
    """Every way in which the tree builds its wrapper."""
    options = SimpleNamespace(
        page_size=PAGE, layers=2, device="cpu", speculative=speculative, heads=2
    )
    if hasattr(build, "Builder"):
        for chip in (False, True):
            yield f"chip={chip}", build.Builder(options, chip).layered(SIZE)
    elif hasattr(build, "build_layered") and "packed" in (
        build.build_layered.__code__.co_varnames
    ):
        for packed, mapped in ((False, False), (False, True), (True, False)):
            options.mapped = mapped
            pool = build.build_layered(options, SIZE, packed)
            yield f"packed={packed} mapped={mapped}", pool
    else:
        yield "plain", build.build_layered(options, SIZE)


def parts(pool: Any) -> Iterator[torch.Tensor]:
    for name in ("k_buffer", "v_buffer", "scales"):
        yield from getattr(pool, name, ())


def flat(part: torch.Tensor) -> torch.Tensor:
    if part.dtype == torch.uint8:  # packed: [page, slot, bytes]
        return part.reshape(-1, part.shape[-1])
    return part.reshape(-1, part.shape[-2] * part.shape[-1])


def wrong(wrapper: Any) -> list[str]:
    subs = [
        (name, getattr(wrapper, name, None))
        for name in ("main_pool", "dense_pool", "index_kv_pool", "index_k_pool")
    ]
    subs = [(name, pool) for name, pool in subs if pool is not None]
    expected = []
    for name, pool in subs:
        target, source = torch.tensor(TARGET), torch.tensor(SOURCE)
        if hasattr(pool, "device_slots"):
            pool.device_slots = torch.randperm(SIZE)
            target, source = pool.device_slots[target], pool.device_slots[source]
        for part in parts(pool):
            part.copy_(torch.randint(0, 200, part.shape).to(part.dtype))
            rows = flat(part).clone()
            rows[target] = rows[source]
            expected.append((name, part, rows))
    wrapper.move_kv_cache(torch.tensor(TARGET), torch.tensor(SOURCE))
    assert len({name for name, _, _ in expected}) == len(subs) >= 3
    bad = (n for n, part, rows in expected if not torch.equal(flat(part), rows))
    return list(dict.fromkeys(bad))


def check(folder: str, optional: bool) -> Iterator[str]:
    for name in [n for n in sys.modules if n.partition(".")[0] == "sglang"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    build = importlib.import_module("sglang.srt.mem_cache.build")
    for how, wrapper in pools(build, "EAGLE"):
        for name in wrong(wrapper):
            yield f"{folder}: {how}: {name} is wrong"
    for how, wrapper in pools(build, None) if optional else ():
        if how.startswith("packed=True"):
            continue  # its own move needs nothing to be set up
        wrapper.main_pool.device_slots = torch.randperm(SIZE)
        try:
            wrapper.move_kv_cache(torch.tensor(TARGET), torch.tensor(SOURCE))
        except (AssertionError, RuntimeError):
            continue
        yield f"{folder}: {how}: moves without the flag"
    sys.path.remove(folder)


if __name__ == "__main__":
    torch.manual_seed(0)
    problems = [p for f in sys.argv[1:] for p in check(f, "spec-only" in f)]
    print("\n".join(problems) or "all as expected")
    sys.exit(bool(problems))
