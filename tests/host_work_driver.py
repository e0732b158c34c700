"""Run in a rewritten tree: the torch operations and launches of one real move each."""

from __future__ import annotations

import json
import os
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import torch
from kernel_launches import Operations, recording
from sglang.srt.mem_cache import memory_pool


def build() -> Any:
    """A wrapper with dense, K+V and K-only layers."""
    return memory_pool.MiniMaxSparseKVPool(
        size=64,
        page_size=1,
        dtype=torch.bfloat16,
        head_num=2,
        head_dim=128,
        idx_head_dim=128,
        dense_layer_ids=[0],
        sparse_layer_ids=[1, 2],
        disable_value_sparse_layer_ids=[2],
        device="cpu",
        start_layer=0,
        end_layer=3,
    )


def main() -> None:
    """Print one line of JSON."""
    tgt = torch.tensor([3, 4, 5])
    src = torch.tensor([4, 5, 9])
    seen: dict[str, Any] = {}
    with recording(memory_pool) as launches:
        pool = build()
        for name, moved in (("index_k_pool", pool.index_k_pool), ("wrapper", pool)):
            launches.clear()
            with Operations() as operations:
                moved.move_kv_cache(tgt, src)
            seen[name] = {"operations": operations.names, "launches": len(launches)}
    with Operations() as operations:
        torch.zeros(2).sum().item()
    seen["control"] = operations.names
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
