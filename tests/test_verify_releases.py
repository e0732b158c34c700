"""The proof on real releases: it passes after `apply`, and it can fail."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from needs import need
from proof_env import NPU, NVFP4, PLAIN, extra_path, importable_copy, subjects
from releases import ALL

from kvcodemod.verify.outcome import ProofReport
from kvcodemod.verify.run import run_proof

need("torch")
need("triton")

pytestmark = [pytest.mark.proof, pytest.mark.release, pytest.mark.slow]

if importlib.util.find_spec("orjson") is None:
    need("orjson")  # stands for SGLang's own dependencies


def prove(package: Path, version: str, **options: bool) -> ProofReport:
    report = run_proof(
        package,
        subjects(package),
        device="cpu",
        extra_path=extra_path(version),
        **options,  # type: ignore[arg-type]
    )
    assert report.problem is None, report.problem
    return report


def apply(version: str, folder: Path, *options: str) -> Path:
    package = importable_copy(version, folder)
    command = [sys.executable, "-m", "kvcodemod", "apply", str(package), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return package


def first_failures(report: ProofReport) -> list[str]:
    return [
        f"{case.wrapper}, {case.name}: {f.pattern}: {f.place}: {f.detail}"
        for case in report.cases
        for f in case.failures
    ][:5]


def wrappers(version: str) -> set[str]:
    number = int(version.split(".")[2])
    return (
        {PLAIN}
        | ({NPU} if number >= 18 else set())
        | ({NVFP4} if number >= 23 else set())
    )


@pytest.mark.parametrize("version", ALL)
def test_an_applied_release_passes(version: str, tmp_path: Path) -> None:
    report = prove(apply(version, tmp_path), version)
    assert report.passed, first_failures(report)
    assert {case.wrapper for case in report.cases} == wrappers(version)
    called = {case.wrapper for case in report.cases if case.name.startswith("as built")}
    assert called == wrappers(version)
    hisparse = any("HiSparse" in case.name for case in report.cases)
    assert hisparse == (int(version.split(".")[2]) >= 21)
    assert not report.notes


@pytest.mark.parametrize("version", ["0.5.15", "0.5.18", "0.5.23"])
def test_an_untouched_release_fails_by_its_own_refusal(
    version: str, tmp_path: Path
) -> None:
    report = prove(importable_copy(version, tmp_path), version)
    assert report.status == "failed"
    moving = [c for c in report.cases if not c.name.startswith("writes")]
    assert {case.status for case in moving} == {"failed"}
    assert {case.wrapper for case in moving} == wrappers(version)
    for case in moving:
        (failure,) = case.failures
        assert failure.place == f"{case.wrapper}.move_kv_cache"
        assert failure.reason.startswith("NotImplementedError: move_kv_cache is not")
    assert all(c.status == "passed" for c in report.cases if c not in moving)


@pytest.mark.parametrize("version", ["0.5.15", "0.5.23"])
def test_spec_only_passes_as_the_call_sites_build_it(
    version: str, tmp_path: Path
) -> None:
    report = prove(apply(version, tmp_path, "--copy-flag", "spec-only"), version)
    assert report.passed, first_failures(report)
    names = {case.name for case in report.cases}
    assert "builds without enable_kv_cache_copy" in names


@pytest.mark.parametrize("version", ALL)
def test_the_kernel_in_every_pool_moves_long_permutations(
    version: str, tmp_path: Path
) -> None:
    package = apply(version, tmp_path, "--kernel", "all")
    report = prove(package, version, long_permutations=True)
    assert report.passed, first_failures(report)
    long = [case for case in report.cases if case.moves > 20]
    assert long


def test_the_stock_move_is_not_right_for_long_permutations(applied: Path) -> None:
    report = prove(applied, "0.5.23", long_permutations=True)
    assert report.status == "failed"
    reasons = {f.reason for c in report.cases for f in c.failures}
    assert reasons == {"moved in chunks: a later one reads what an earlier one wrote"}
    pools = {f.pool for c in report.cases for f in c.failures}
    assert pools == {"main_pool", "dense_pool", "index_kv_pool"}


# What follows undoes a part of an applied tree without knowing how `apply` wrote it.

LEFT_OUT = """
_whole_move = MiniMaxSparseKVPool.move_kv_cache


def _move_but_not_all(self, tgt_loc, src_loc):
    left_out = self.{pool}
    buffers = [] if left_out is None else [*left_out.k_buffer, *left_out.v_buffer]
    before = [buffer.clone() for buffer in buffers]
    _whole_move(self, tgt_loc, src_loc)
    for buffer, content in zip(buffers, before):
        buffer.copy_(content)


MiniMaxSparseKVPool.move_kv_cache = _move_but_not_all
"""

UNTRANSLATED = """
_whole_move = MiniMaxSparseKVPool.move_kv_cache


def _move_by_logical_slots(self, tgt_loc, src_loc):
    name = "full_to_hisparse_device_index_mapping"
    mapping = getattr(self.main_pool, name, None)
    if mapping is not None:
        setattr(self.main_pool, name, torch.arange(len(mapping)))
    _whole_move(self, tgt_loc, src_loc)
    if mapping is not None:
        setattr(self.main_pool, name, mapping)


MiniMaxSparseKVPool.move_kv_cache = _move_by_logical_slots
"""

ROW_BY_ROW = """
_whole_move = MiniMaxSparseKVPool.move_kv_cache


def _move_row_by_row(self, tgt_loc, src_loc):
    held = {}  # which row each slot holds after one pair after another
    for target, source in zip(tgt_loc.tolist(), src_loc.tolist()):
        held[target] = held.get(source, source)
    _whole_move(
        self,
        tgt_loc.new_tensor(list(held.keys())),
        src_loc.new_tensor(list(held.values())),
    )


MiniMaxSparseKVPool.move_kv_cache = _move_row_by_row
"""


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return apply("0.5.23", tmp_path_factory.mktemp("applied"))


def undone(applied: Path, text: str) -> ProofReport:
    """The proof of an applied 0.5.23 with `text` at the end of its pools' module."""
    module = applied / "srt/mem_cache/memory_pool.py"
    content = module.read_bytes()
    try:
        module.write_bytes(content + textwrap.dedent(text).encode())
        report = prove(applied, "0.5.23")
    finally:
        module.write_bytes(content)
    assert report.status == "failed"
    return report


def places(report: ProofReport, wrapper: str = PLAIN) -> set[str]:
    return {
        failure.place.split("[")[0]
        for case in report.cases
        for failure in case.failures
        if case.wrapper == wrapper
    }


@pytest.mark.parametrize("pool", ["index_kv_pool", "index_k_pool", "dense_pool"])
def test_a_sub_pool_left_out(applied: Path, pool: str) -> None:
    text = LEFT_OUT.replace("{pool}", pool)
    names = {"k_buffer", "v_buffer"}
    if pool == "index_k_pool":
        text = text.replace(", *left_out.v_buffer", "")
        names = {"k_buffer"}
    report = undone(applied, text)
    assert places(report) == {f"{PLAIN}.{pool}.{name}" for name in names}
    reasons = {f.reason for c in report.cases for f in c.failures if c.wrapper == PLAIN}
    assert reasons == {"nothing was moved in this buffer"}


def test_the_translation_left_out(applied: Path) -> None:
    report = undone(applied, UNTRANSLATED)
    assert places(report) == {f"{PLAIN}.main_pool.{n}_buffer" for n in "kv"}
    failed = [case for case in report.cases if case.status == "failed"]
    assert all("HiSparse" in case.name for case in failed)
    reasons = {f.reason for case in failed for f in case.failures}
    assert reasons == {"moved by logical slots, not by the translated ones"}


def test_scatter_before_everything_is_gathered(applied: Path) -> None:
    report = undone(applied, ROW_BY_ROW)
    reasons = {f.reason for c in report.cases for f in c.failures}
    assert reasons == {"rows were overwritten before they were read"}
    for wrapper in (PLAIN, NPU, NVFP4):
        assert f"{wrapper}.main_pool.k_buffer" in places(report, wrapper)
        assert f"{wrapper}.index_k_pool.k_buffer" in places(report, wrapper)


def test_an_argument_that_a_sub_pool_does_not_take(applied: Path) -> None:
    text = """
    _init = MHATokenToKOnlyPool.__init__


    def _init_without_the_flag(self, size, page_size, dtype, head_num, head_dim,
                               layer_num, device, enable_memory_saver,
                               start_layer=None, end_layer=None):
        _init(self, size, page_size, dtype, head_num, head_dim, layer_num, device,
              enable_memory_saver, start_layer, end_layer)


    _init_without_the_flag.__qualname__ = "MHATokenToKOnlyPool.__init__"
    MHATokenToKOnlyPool.__init__ = _init_without_the_flag
    """
    report = undone(applied, text)
    failure = next(f for c in report.cases for f in c.failures if c.wrapper == PLAIN)
    assert failure.place == f"{PLAIN}.__init__ > MHATokenToKOnlyPool.__init__"
    assert (
        "built as at sglang/srt/mem_cache/kv_cache_configurator.py:" in failure.detail
    )
    assert "enable_kv_cache_copy" in failure.detail
    assert all(c.status == "passed" for c in report.cases if c.wrapper == NVFP4)


def test_a_current_transformers_with_an_older_release_is_named(tmp_path: Path) -> None:
    package = importable_copy("0.5.15", tmp_path)
    report = run_proof(package, subjects(package), device="cpu")
    if report.problem is None:
        pytest.skip("this Python has the transformers that 0.5.15 asks for")
    assert report.problem.kind == "unsuitable-dependency"
    assert "transformers" in report.problem.hint
    assert "transformers==5.12.1" in report.problem.hint
