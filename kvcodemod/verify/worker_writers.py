"""Check the proof's idea of where rows are against the tree's own writers.

The reference for moves is inferred from shapes. This writes a few rows through the
wrapper, as a model does, and looks which bytes changed: a layout or a translation of
slots that was misread shows here, whatever `move_kv_cache` does.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from .worker_compare import Difference, fill
from .worker_layouts import Memory, View
from .worker_matrix import Config

SLOTS = (5, 2, 9, 300, 41)

REASON = "the tree writes rows elsewhere than the proof would look for them"


def check_writers(
    wrapper: Any, memory: Memory, config: Config, seed: int
) -> tuple[list[Difference], str]:
    """Write to every layer of every sub-pool.

    Returns:
        What is not where it should be, and why writers could not be run, if so.
    """
    originals = fill(memory, seed)
    device = next(iter(originals.values())).device
    mapping = next((v.mapping for v in memory.views if v.mapping is not None), None)
    slots = torch.tensor(SLOTS, dtype=torch.int64, device=device)
    if mapping is not None:
        slots = torch.nonzero(mapping).flatten()[slots]
    found: list[Difference] = []
    for call, layer, heads, dim, name in _writes(config):
        if not hasattr(wrapper, call):
            return found, f"{type(wrapper).__name__} has no {call}"
        values = [
            torch.randn(len(slots), heads, dim, dtype=torch.bfloat16, device=device)
            for _ in range(1 if call == "set_index_k_buffer" else 2)
        ]
        where = SimpleNamespace(layer_id=layer, k_scale=None, v_scale=None)
        try:
            getattr(wrapper, call)(where, slots, *(v.clone() for v in values))
        except Exception as error:
            return found, f"{call} raised {type(error).__name__}: {error}"
        found += _judge(memory, originals, slots, name)
        for key, live in memory.storages.items():
            live.copy_(originals[key])
    return found, ""


def _writes(config: Config) -> list[tuple[str, int, int, int, str]]:
    """Method, layer id, heads, width and sub-pool of every write."""
    found = []
    for offset, kind in enumerate(config.split):
        layer = len(config.before) + offset
        main = "dense_pool" if config.hisparse and kind == "d" else "main_pool"
        wide = (layer, config.head_num, config.head_dim, main)
        found.append(("set_kv_buffer", *wide))
        if kind == "v":
            index = (layer, 1, config.idx_head_dim, "index_kv_pool")
            found.append(("set_index_kv_buffer", *index))
        elif kind == "k":
            index = (layer, 1, config.idx_head_dim, "index_k_pool")
            found.append(("set_index_k_buffer", *index))
    return found


def _judge(
    memory: Memory, originals: dict[int, Any], slots: Any, pool: str
) -> list[Difference]:
    """Exactly the rows of `slots`, in one layer of one sub-pool, must have changed."""
    found: list[Difference] = []
    touched = False
    allowed = {key: content.clone() for key, content in originals.items()}
    for view in memory.views:
        rows = _changed(view, memory, originals)
        if not rows:
            continue
        own = view.translate(slots)
        if view.pool != pool or rows != sorted(own.tolist()):
            text = f"slots {rows[:8]} changed, expected {sorted(own.tolist())}"
            found.append(Difference(view.name, view.pool, REASON, text))
        touched = True
        live = memory.storages[view.storage]
        view.put(allowed[view.storage], own, view.rows(live, own))
    if not touched:
        found.append(Difference(pool, pool, REASON, "no row changed"))
    elif not found and any(
        not torch.equal(live, allowed[key]) for key, live in memory.storages.items()
    ):
        found.append(Difference(pool, pool, REASON, "bytes outside the rows changed"))
    return found


def _changed(view: View, memory: Memory, originals: dict[int, Any]) -> list[int]:
    before = view.rows(originals[view.storage])
    after = view.rows(memory.storages[view.storage])
    slots: list[int] = torch.nonzero((before != after).any(1)).flatten().tolist()
    return slots
