"""Small trees for the lint tests, and what a run on them finds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trees import tree_of

from kvcodemod.findings import Finding
from kvcodemod.lint.registry import load_rules
from kvcodemod.lint.run import Result, run_rules

POOLS = """
    import abc
    class KVCache(abc.ABC):
        @abc.abstractmethod
        def get_key_buffer(self, layer_id): ...
    class Plain(KVCache):
        def get_key_buffer(self, layer_id): return self.k[layer_id]
        def move_kv_cache(self, tgt_loc, src_loc): self.k[tgt_loc] = self.k[src_loc]
    class Odd(KVCache):
        def get_key_buffer(self, layer_id): return self.k[layer_id]
        def move_kv_cache(self, tgt_loc, src_loc): raise NotImplementedError("odd")
"""
BUILD = """
    from sglang.srt.mem_cache.pools import Odd, Plain
    def build(config):
        return Odd() if config.odd else Plain()
"""
WORKER = """
    class Worker:
        def verify(self, batch, rows):
            batch.token_to_kv_pool_allocator.get_kvcache().move_kv_cache(rows.a, rows.b)
"""


def files(**changes: str) -> dict[str, str]:
    """The usual three files; `pools`, `build` and `worker` replace one of them."""
    return {
        "srt/mem_cache/pools.py": changes.get("pools", POOLS),
        "srt/mem_cache/build.py": changes.get("build", BUILD),
        "srt/speculative/worker.py": changes.get("worker", WORKER),
    }


def run(folder: Path, tree: Mapping[str, str], *codes: str) -> Result:
    rules = load_rules().selected(codes)
    assert rules
    return run_rules(tree_of(folder, dict(tree)), rules)


def find(folder: Path, tree: Mapping[str, str], *codes: str) -> tuple[Finding, ...]:
    result = run(folder, tree, *codes)
    assert not result.broken
    assert not result.failed
    return result.findings


def brief(findings: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    """(rule, severity, symbol) of each."""
    return [(f.rule, f.severity, f.symbol) for f in findings]
