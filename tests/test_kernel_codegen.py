"""The machine code of every variant that a plan can launch, on five GPUs, offline."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from needs import need

torch = need("torch")
need("triton")

pytestmark = pytest.mark.slow

if os.environ.get("TRITON_INTERPRET", "0") not in ("", "0"):
    raise RuntimeError("these tests compile: run them without TRITON_INTERPRET")

import kernel_launches as launches  # noqa: E402
from kernel_asm import TARGETS, Reading, read  # noqa: E402

from kvcodemod.kernels import move_kv_rows as ours  # noqa: E402
from kvcodemod.kernels.source import MODULE  # noqa: E402

ROW_BYTES = {
    1024: "4 heads of 128 in bf16: MiniMax main K or V under TP",
    8192: "a wide row",
    576: "not a power of two",
    256: "one head of 128 in bf16: an index key",
    128: "the same in fp8",
    24: "8 bytes an access",
    1020: "4 bytes an access",
    70: "2 bytes an access",
    1023: "1 byte an access",
}


def planned(module: object = ours, sizes: tuple[int, ...] = tuple(ROW_BYTES)) -> list:
    """Every launch that a pool of rows of these sizes compiles when it is built."""
    buffers = [torch.zeros(4, 1, size, dtype=torch.uint8) for size in sizes]
    with launches.recording(module) as seen:
        module.plan_kv_row_move(buffers)
    return seen


@cache
def readings(target: str) -> dict[launches.Variant, tuple[launches.Launch, Reading]]:
    kernel = launches.load(MODULE, "compiled_kernel")._move_kv_rows_kernel
    gpu, found = TARGETS[target], {}
    for launch in planned():
        variant = launches.variant_of(kernel, launch, gpu)
        if variant not in found:
            compiled = launches.compile_launch(kernel, launch, gpu)
            found[variant] = (launch, read(compiled))
    return found


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param


def test_variants_cover_each_access_and_reach_past_1024_pairs() -> None:
    shapes = [launch.kwargs for launch in planned()]
    assert {shape["UNIT"] for shape in shapes} == {16, 8, 4, 2, 1}
    assert max(shape["PAIRS"] for shape in shapes) >= 1024


@pytest.mark.parametrize(("skip", "unit"), [(0, 16), (8, 8), (4, 4), (2, 2), (1, 1)])
def test_an_unaligned_buffer_narrows_the_accesses(skip: int, unit: int) -> None:
    raw = torch.zeros(4 * 1024 + skip, dtype=torch.uint8)
    buffers = [torch.zeros(4, 1, 1024, dtype=torch.uint8), raw[skip:].view(4, 1, 1024)]
    with launches.recording(ours) as seen:
        ours.plan_kv_row_move(buffers)
    assert {launch.kwargs["UNIT"] for launch in seen} == {unit}


def test_each_access_is_as_wide_as_the_rows_allow(target: str) -> None:
    threads = TARGETS[target].warp_size
    for launch, got in readings(target).values():
        shape = launch.kwargs
        unit = shape["UNIT"]
        assert set(got.loads) == set(got.stores) == {unit}, (shape, got)
        # All of the tile is moved, so no narrower access was overlooked.
        moved = sum(got.loads) * threads * shape["num_warps"]
        assert moved >= shape["PAIRS"] * shape["UNITS"] * unit, (shape, got)


def test_a_barrier_stands_between_the_last_load_and_the_first_store(
    target: str,
) -> None:
    for launch, got in readings(target).values():
        assert got.barrier, (launch.kwargs, got)


def test_nothing_spills_and_programs_fit_two_to_a_processor(target: str) -> None:
    for launch, got in readings(target).values():
        assert got.spills == 0, (launch.kwargs, got)
        assert got.registers <= 64, (launch.kwargs, got)
        assert got.shared <= 16 * 1024, (launch.kwargs, got)


def test_the_amd_barrier_orders_global_memory_too() -> None:
    # LLVM's `s_barrier` orders nothing by itself: the fences around it do, and one
    # restricted to local memory (an `!mmra` mark) would let a store pass a load.
    launch = planned(sizes=(1024,))[-1]
    compiled = launches.compile_launch(
        ours._move_kv_rows_kernel, launch, TARGETS["gfx942"]
    )
    lines = [line.strip() for line in compiled.asm["llir"].splitlines()]
    at = max(
        i for i, line in enumerate(lines) if "call void @llvm.amdgcn.s.barrier" in line
    )
    for fence, order in ((lines[at - 1], "release"), (lines[at + 1], "acquire")):
        assert fence.startswith(f'fence syncscope("workgroup") {order}'), fence
        assert "mmra" not in fence


def test_a_pool_of_two_row_sizes_compiles_few_variants() -> None:
    kernel, gpu = ours._move_kv_rows_kernel, TARGETS["sm_90"]
    seen = planned(sizes=(1024, 1024, 256))
    variants = {launches.variant_of(kernel, launch, gpu) for launch in seen}
    assert len(seen) == 10
    assert len(variants) <= 8, variants  # row sizes share those of many pairs


def mutant(gpu: str, into: Path, *changes: tuple[str, str]) -> Reading:
    """The code for 256 pairs and rows of 1024 bytes after edits of the text."""
    module = launches.load(launches.mutated(into, *changes), "mutated_kernel")
    launch = planned(module, sizes=(1024,))[2]
    kernel = module._move_kv_rows_kernel
    return read(launches.compile_launch(kernel, launch, TARGETS[gpu]))


def unhinted(name: str) -> tuple[str, str]:
    line = f"{name}.to(tl.int64)[:, None] * (units * UNIT), [1, UNIT])"
    return line, line.replace("[1, UNIT]", "[1, 1]")


@pytest.mark.parametrize("gpu", ["sm_90", "gfx942"])
def test_the_reader_sees_each_defect(gpu: str, tmp_path: Path) -> None:
    sound = mutant(gpu, tmp_path)
    assert (sound.barrier, set(sound.loads), sound.spills) == (True, {16}, 0)
    assert not mutant(gpu, tmp_path, ("    tl.debug_barrier()", "    #")).barrier
    narrow = mutant(gpu, tmp_path, unhinted("src"), unhinted("tgt"))
    assert 16 not in {*narrow.loads, *narrow.stores}
    for name in ("src", "tgt"):
        # Rows are repacked between load and store, which the reader may refuse to read.
        with suppress(ValueError):
            half = mutant(gpu, tmp_path, unhinted(name))
            assert {*half.loads, *half.stores} != {16}
    assert mutant(gpu, tmp_path, ("* wide // 256)", "* wide // 16384)")).spills > 0
