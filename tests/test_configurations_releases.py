"""Servers on real releases: what is true has one, what was judged false has none."""

from __future__ import annotations

from functools import cache

import pytest
from lint_trees import load_rules
from releases import pristine

from kvcodemod.findings import Excluded, Finding
from kvcodemod.lint.run import Result, run_rules
from kvcodemod.tree.locate import find_package
from kvcodemod.tree.source import SourceTree

pytestmark = pytest.mark.release

RULES = tuple(r for c, r in load_rules().rules.items() if c in ("KVC001", "KVC002"))


@cache
def _lint(release: str) -> Result:
    result = run_rules(SourceTree(find_package(pristine(release))), RULES)
    assert not result.broken
    assert not result.failed
    return result


def _found(release: str, symbol: str) -> Finding:
    (found,) = [f for f in _lint(release).findings if f.symbol == symbol]
    return found


def _excluded(release: str, symbol: str) -> Excluded:
    (found,) = [e for e in _lint(release).excluded if e.symbol == symbol]
    assert not any(f.symbol == symbol for f in _lint(release).findings)
    return found


@pytest.mark.parametrize("release", ["0.5.20", "0.5.23"])
def test_ngram_of_breadth_one_moves_minimax(release: str) -> None:
    """Start-up wants the breadth at page sizes above one (arg_groups, 0.5.23)."""
    found = _found(release, "MiniMaxSparseKVPool.move_kv_cache")
    said = found.configuration
    assert said is not None
    assert (found.severity, said.platform, said.architecture, said.assumes) == (
        "error",
        "cuda",
        "MiniMaxM3SparseForCausalLM",
        (),
    )
    assert said.command_line == (
        "--speculative-algorithm NGRAM --speculative-ngram-max-bfs-breadth 1"
    )
    assert [step.symbol for step in found.trace[:3]] == [
        "NGRAMWorker.forward_batch_generation",
        "NGRAMWorker.forward_batch_generation",
        "move_accept_tokens_to_target_kvcache",
    ]


@pytest.mark.parametrize("release", ["0.5.20", "0.5.23"])
def test_only_classes_with_a_server_of_their_own_are_affected(release: str) -> None:
    """NVFP4 allows only algorithms that do not move, NPU neither NGRAM nor trees."""
    found = _found(release, "MiniMaxSparseKVPool.move_kv_cache")
    assert found.affected == ("sglang.srt.mem_cache.memory_pool.MiniMaxSparseKVPool",)


@pytest.mark.parametrize("release", ["0.5.20", "0.5.23"])
def test_the_quantized_draft_pool_says_what_it_needs(release: str) -> None:
    found = _found(release, "MHATokenToKVPoolMXFP8.set_kv_buffer_prefix_valid")
    said = found.configuration
    assert said is not None
    assert dict(said.options)["--speculative-algorithm"] == "DFLASH"
    assert [a.text for a in said.assumes] == ["self.kv_cache_dtype_str == 'mxfp8'"]


@pytest.mark.parametrize(
    ("release", "symbol", "path", "line"),
    [
        # (kv_shard_hook.py: one refusal of five conjuncts)
        (
            "0.5.23",
            "PageInterleaveDSATokenToKVPool.move_kv_cache",
            "kv_shard_hook.py",
            115,
        ),
        ("0.5.23", "UnifiedSWAKVPool.move_kv_cache", "kv_cache_hook.py", 588),
        ("0.5.20", "UnifiedSWAKVPool.move_kv_cache", "kv_cache_hook.py", 225),
        (
            "0.5.17",
            "DeepSeekV4TokenToKVPool.move_kv_cache",
            "deepseek_v4_hook.py",
            148,
        ),
        (
            "0.5.15",
            "DeepSeekV4TokenToKVPool.move_kv_cache",
            "deepseek_v4_hook.py",
            56,
        ),
    ],
)
def test_what_start_up_refuses_is_no_finding(
    release: str, symbol: str, path: str, line: int
) -> None:
    places = {
        (fact.path.rpartition("/")[2], fact.line)
        for fact in _excluded(release, symbol).facts
        if fact.text.startswith("start-up refuses it")
    }
    assert (path, line) in places


def test_a_pool_of_another_algorithm_is_no_finding() -> None:
    """Start-up takes KV sharding with EAGLE only, and the call is DFLASH's."""
    symbol = "PageInterleaveMHATokenToKVPool.set_kv_buffer_prefix_valid"
    assert _excluded("0.5.23", symbol).affected.endswith(symbol.partition(".")[0])


@pytest.mark.parametrize("release", ["0.5.15", "0.5.17", "0.5.20", "0.5.23"])
def test_no_error_assumes_anything(release: str) -> None:
    errors = [f for f in _lint(release).findings if f.severity == "error"]
    assert errors
    for found in errors:
        assert found.configuration is not None
        assert found.configuration.assumes == ()


@pytest.mark.parametrize("release", ["0.5.15", "0.5.17", "0.5.20", "0.5.23"])
def test_the_stub_of_another_loop_is_no_error(release: str) -> None:
    """No option tells whether its worker ever verifies (hardware_backend/mlx)."""
    found = _found(release, "_DummyKVCache.move_kv_cache")
    assert found.severity == "warning"
    assert found.configuration is not None
    assert found.configuration.platform == "mps"
    assert [a.text for a in found.configuration.assumes][:1] == ["_use_mlx"]
