"""The proof on a small tree of our own: it passes, and fails at the right pool.

The pools have the family's constructor and its layouts, and move with plain torch, so
that this needs torch and triton but none of SGLang's other dependencies.
"""

from __future__ import annotations

import json
import textwrap
import types
from pathlib import Path

import pytest
from needs import need

from kvcodemod.report import proof_json, proof_text
from kvcodemod.verify.outcome import ProofReport
from kvcodemod.verify.run import _Reader, run_proof
from kvcodemod.verify.subject import CallSite, Wrapper

torch = need("torch")
need("triton")

from kvcodemod.verify.worker_build import REQUIRED  # noqa: E402
from kvcodemod.verify.worker_cases import plan  # noqa: E402

POOLS = textwrap.dedent('''
    """Our own pools, in the shape of the family."""
    import os

    import torch


    class KVCache:
        def __init__(self, size, page_size, dtype, head_num, head_dim, layer_num, copy):
            self.size, self.page_size, self.layer_num = size, page_size, layer_num
            self.hnd = os.environ.get("SGLANG_USE_HND_KVCACHE") == "1"
            slots = size + page_size
            shape = (slots, head_num, head_dim)
            if self.hnd:
                shape = (slots // page_size, head_num, page_size, head_dim)
            self.copy = copy
            if dtype.itemsize == 1:
                dtype = torch.uint8
            for name in self.names:
                bufs = [torch.zeros(shape, dtype=dtype) for _ in range(layer_num)]
                setattr(self, name, bufs)
            self.data_ptrs = torch.zeros(2 * layer_num, dtype=torch.uint64)

        def get_kv_size_bytes(self):
            return sum(b.nbytes for n in self.names for b in getattr(self, n))

        def move_kv_cache(self, tgt_loc, src_loc):
            assert self.copy, "build with enable_kv_cache_copy=True"
            for name in self.names:
                for buf in getattr(self, name):
                    self.move_rows(buf, tgt_loc.long(), src_loc.long())

        def move_rows(self, buf, tgt, src):
            if self.hnd:
                p = self.page_size
                buf[tgt // p, :, tgt % p] = buf[src // p, :, src % p]
            else:
                buf[tgt] = buf[src]


    class KVPool(KVCache):
        names = ("k_buffer", "v_buffer")


    class KPool(KVCache):
        names = ("k_buffer",)


    class MappedPool(KVPool):
        full_to_hisparse_device_index_mapping = None

        def register_mapping(self, mapping):
            self.full_to_hisparse_device_index_mapping = mapping

        def move_kv_cache(self, tgt_loc, src_loc):
            mapping = self.full_to_hisparse_device_index_mapping
            super().move_kv_cache(mapping[tgt_loc.long()], mapping[src_loc.long()])


    class Wrapper(KVCache):
        def __init__(
            self, size, page_size, dtype, head_num, head_dim, idx_head_dim,
            dense_layer_ids, sparse_layer_ids, device,
            disable_value_sparse_layer_ids=None, enable_memory_saver=False,
            index_dtype=None, start_layer=None, end_layer=None,
            enable_hisparse=False, host_to_device_ratio=2,
        ):
            self.size, self.page_size, self.device = size, page_size, device
            local = range(start_layer, end_layer)
            off = set(disable_value_sparse_layer_ids or [])
            dense = [i for i in dense_layer_ids if i in local]
            sparse = [i for i in sparse_layer_ids if i in local]
            both = [i for i in sparse if i not in off]
            only = [i for i in sparse if i in off]
            logical = size * host_to_device_ratio if enable_hisparse else size
            main = (page_size, dtype, head_num, head_dim)
            index = (logical, page_size, index_dtype or dtype, 1, idx_head_dim)
            self.dense_pool = None
            if enable_hisparse:
                if dense:
                    self.dense_pool = KVPool(logical, *main, len(dense), True)
                self.main_pool = MappedPool(size, *main, len(sparse), True)
            else:
                self.main_pool = KVPool(size, *main, len(dense) + len(sparse), True)
            self.index_kv_pool = KVPool(*index, len(both), True) if both else None
            self.index_k_pool = KPool(*index, len(only), True) if only else None

        def register_mapping(self, mapping):
            self.main_pool.register_mapping(mapping)

        def move_kv_cache(self, tgt_loc, src_loc):
            for pool in (
                self.main_pool, self.dense_pool, self.index_kv_pool, self.index_k_pool,
            ):
                if pool is not None:
                    pool.move_kv_cache(tgt_loc, src_loc)
''')

KEYWORDS = (*REQUIRED, "index_dtype", "enable_hisparse")


def prove(
    tmp_path: Path, pools: str = POOLS, *, call: CallSite | None = None, **options: bool
) -> ProofReport:
    """The proof as a person runs it, in a subprocess."""
    tree = tmp_path / "sglang"
    tree.mkdir()
    (tree / "__init__.py").write_text("")
    (tree / "pools.py").write_text(pools)
    report = run_proof(tree, [subject(call)], device="cpu", timeout=300, **options)  # type: ignore[arg-type]
    assert report.problem is None
    return report


def subject(call: CallSite | None = None) -> Wrapper:
    calls = (call or CallSite("sglang/server.py", 5, KEYWORDS),)
    return Wrapper("sglang.pools", "Wrapper", "sglang/pools.py", 60, calls)


def judge(
    pools: str = POOLS, *, call: CallSite | None = None, long_permutations: bool = False
) -> ProofReport:
    """Every third case and all of HiSparse, in this process: as sharp, and faster."""
    torch.set_num_threads(1)
    module = types.ModuleType("sglang.pools")
    exec(compile(pools, "pools.py", "exec"), module.__dict__)
    request = {"seed": 0, "long_permutations": long_permutations}
    cases = plan(subject(call).to_json(), module.Wrapper, "cpu", request)
    chosen = [
        case
        for number, case in enumerate(cases)
        if number < 2 or not number % 3 or "HiSparse" in case.name
    ]
    reader = _Reader(None)
    for case in chosen:
        reader.line(json.dumps({"event": "case", **case.run(), "seconds": 0.0}))
    assert not reader.noise
    assert len(reader.cases) == len(chosen)
    return ProofReport("sglang", "python", None, tuple(reader.cases), None)


def edited(old: str, new: str) -> str:
    assert POOLS.count(old) == 1, old
    return POOLS.replace(old, new)


def places(report: ProofReport) -> set[str]:
    """Failing buffers, without the layer."""
    return {f.place.split("[")[0] for c in report.cases for f in c.failures}


def reasons(report: ProofReport) -> set[str]:
    return {f.reason for case in report.cases for f in case.failures}


def test_a_right_tree_passes(tmp_path: Path) -> None:
    report = prove(tmp_path, long_permutations=True)
    assert report.passed
    names = [case.name for case in report.cases]
    assert names[0] == "as built at sglang/server.py:5"
    assert sum(case.moves for case in report.cases) > 500
    classes = {pool.cls for case in report.cases for pool in case.pools}
    assert classes == {"KVPool", "KPool", "MappedPool"}
    assert any("has no set_kv_buffer" in note for note in report.notes)
    data = proof_json.to_json(report)
    assert data["schema_version"] == 1
    assert data["status"] == "passed"
    assert data["summary"]["passed"] == len(report.cases)


@pytest.mark.parametrize(
    ("left_out", "place"),
    [
        ("self.main_pool, self.dense_pool,", "Wrapper.main_pool"),
        ("self.dense_pool, self.index_kv_pool,", "Wrapper.dense_pool"),
        ("self.index_kv_pool, self.index_k_pool,", "Wrapper.index_kv_pool"),
        ("self.index_k_pool,\n        ):", "Wrapper.index_k_pool"),
    ],
)
def test_a_sub_pool_left_out(left_out: str, place: str) -> None:
    without = left_out.split(" ", 1)[-1] if "\n" not in left_out else "):"
    report = judge(edited(left_out, without))
    assert report.status == "failed"
    assert reasons(report) == {"nothing was moved in this buffer"}
    expected = {f"{place}.k_buffer", f"{place}.v_buffer"}
    assert places(report) == {
        p for p in expected if place[-7:] != "_k_pool" or "k_b" in p
    }


def test_translation_left_out() -> None:
    old = "super().move_kv_cache(mapping[tgt_loc.long()], mapping[src_loc.long()])"
    report = judge(edited(old, "super().move_kv_cache(tgt_loc, src_loc)"))
    assert report.status == "failed"
    assert places(report) == {
        "Wrapper.main_pool.k_buffer",
        "Wrapper.main_pool.v_buffer",
    }
    assert reasons(report) == {"moved by logical slots, not by the translated ones"}
    assert all("HiSparse" in c.name for c in report.cases if c.status == "failed")


def test_scatter_while_gathering() -> None:
    new = "for t, s in zip(tgt, src): buf[t] = buf[s]"
    report = judge(edited("buf[tgt] = buf[src]", new))
    assert report.status == "failed"
    assert reasons(report) == {"rows were overwritten before they were read"}


def test_moving_in_chunks_shows_only_with_long_permutations() -> None:
    new = "for i in range(0, len(tgt), 256): buf[tgt[i:i+256]] = buf[src[i:i+256]]"
    pools = edited("buf[tgt] = buf[src]", new)
    assert judge(pools).passed
    report = judge(pools, long_permutations=True)
    assert report.status == "failed"
    assert len(reasons(report)) == 1
    assert "chunks" in reasons(report).pop()


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        ("buf[tgt] = buf[src]; buf[77] ^= 1", "rows differ"),
        ("buf[tgt] = buf[src]; tgt_loc += 1", "slot lists"),
    ],
)
def test_what_should_stay_is_compared_too(new: str, reason: str) -> None:
    pools = edited(
        "buf[tgt] = buf[src]", new.replace("buf[77] ^= 1", "buf[77].zero_()")
    )
    pools = pools.replace(
        "self.move_rows(buf, tgt_loc.long(), src_loc.long())",
        "self.move_rows(buf, tgt_loc.long(), src_loc.long(), tgt_loc)",
    )
    pools = pools.replace(
        "def move_rows(self, buf, tgt, src):",
        "def move_rows(self, buf, tgt, src, tgt_loc):",
    )
    report = judge(pools)
    assert report.status == "failed"
    assert any(reason in text for text in reasons(report))


def test_the_wrapper_that_refuses() -> None:
    old = "        for pool in (\n"
    report = judge(edited(old, "        raise NotImplementedError('not yet')\n" + old))
    assert report.status == "failed"
    assert places(report) == {"Wrapper.move_kv_cache"}
    assert reasons(report) == {"NotImplementedError: not yet"}


def test_a_sub_pool_that_raises_is_named() -> None:
    old = "self.index_k_pool = KPool(*index, len(only), True)"
    report = judge(edited(old, old.replace("True", "False")))
    assert report.status == "failed"
    assert places(report) == {"Wrapper.index_k_pool"}
    failure = next(f for c in report.cases for f in c.failures)
    assert failure.pool == "index_k_pool"
    assert "enable_kv_cache_copy" in failure.reason
    assert "pools.py:" in failure.detail


def test_an_argument_that_the_wrapper_does_not_take() -> None:
    call = CallSite("sglang/server.py", 9, (*KEYWORDS, "enable_kv_cache_copy"))
    report = judge(call=call)
    bad = [case for case in report.cases if case.status == "failed"]
    assert {case.name.split(",")[0] for case in bad} == {
        "as built at sglang/server.py:9"
    }
    failure = bad[0].failures[0]
    assert failure.place == "Wrapper.__init__"
    assert "sglang/server.py:9" in failure.detail
    assert "enable_kv_cache_copy" in failure.detail


def test_an_argument_that_a_sub_pool_does_not_take() -> None:
    old = "KPool(*index, len(only), True)"
    report = judge(edited(old, "KPool(*index, len(only), copy=True, more=1)"))
    assert report.status == "failed"
    assert all(
        "KPool" in place or "Wrapper.__init__" in place for place in places(report)
    )
    failure = report.cases[0].failures[0]
    assert "sglang/server.py:5" in failure.detail
    assert "more" in failure.detail


def test_a_wrapper_the_proof_cannot_build_is_not_checked() -> None:
    old = "dense_layer_ids, sparse_layer_ids, device,\n"
    report = judge(edited(old, old.rstrip() + " planet,\n"))
    assert report.status == "unchecked"
    assert reasons(report) == {"the proof knows no value for its parameters: planet"}


def test_a_buffer_whose_rows_cannot_be_located_is_not_passed_over() -> None:
    old = "return sum(b.nbytes for n in self.names for b in getattr(self, n))"
    report = judge(edited(old, old + " + 4096"))
    assert report.status == "unchecked"
    assert reasons(report) == {"its rows cannot be located"}


def test_the_text_names_pools_and_groups_failures() -> None:
    import io

    from rich.console import Console

    report = judge(edited("self.index_k_pool,\n        ):", "):"))
    out = io.StringIO()
    proof_text.print_report(report, Console(file=out, width=110))
    text = out.getvalue()
    assert "Wrapper.index_k_pool.k_buffer: nothing was moved" in text
    assert text.count("nothing was moved") == 1
    assert ".main_pool" in text
    assert "as built at sglang/server.py:5" in text
    assert text.strip().splitlines()[-1].startswith("failed:")
    assert "\x1b" not in text
