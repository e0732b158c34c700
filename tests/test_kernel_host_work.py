"""What a move does on the host: a launch a row size, and not one torch operation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from needs import need

torch = need("torch")
need("triton")

import kernel_launches as launches  # noqa: E402
from kernel_asm import TARGETS  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from kvcodemod.kernels import move_kv_rows as ours  # noqa: E402
from kvcodemod.kernels.source import MODULE  # noqa: E402

MOST = 4096
"""The most pairs that one launch moves."""


def pool() -> list[Any]:
    """K and V of unlike head sizes and an index key: three row sizes, five buffers."""
    sizes = ((4, 128), (4, 128), (4, 64), (1, 128), (1, 128))
    return [torch.zeros(8, *size, dtype=torch.bfloat16) for size in sizes]


def slots(pairs: int, dtype: Any, step: int = 1, skip: int = 0) -> Any:
    """Slot numbers; `step` > 1 is not contiguous, `skip` unaligns the first."""
    return torch.zeros(pairs * step + skip, dtype=dtype)[skip::step]


def kinds_of_slots(pairs: int) -> list[tuple[Any, Any]]:
    narrow, wide = torch.int32, torch.int64
    return [
        (slots(pairs, wide), slots(pairs, wide)),
        (slots(pairs, narrow), slots(pairs, narrow)),
        (slots(pairs, narrow), slots(pairs, wide)),
        (slots(pairs, wide, step=2), slots(pairs, narrow, step=3)),
        (slots(pairs, wide, skip=1), slots(pairs, narrow, skip=1)),
    ]


def moves(module: ModuleType, pairs: int) -> tuple[list[str], list[launches.Launch]]:
    """The torch operations and the launches of moves with every kind of slots."""
    with launches.recording(module) as seen:
        plan = module.plan_kv_row_move(pool())
        given = kinds_of_slots(pairs)
        seen.clear()
        with launches.Operations() as operations:
            for tgt, src in given:
                module.move_kv_rows(plan, tgt, src)
    return operations.names, list(seen)


@pytest.mark.parametrize("pairs", [1, 3, 16, 17, 255, 256, 1000, 1024, MOST])
def test_a_move_is_one_launch_a_row_size_and_no_torch_operation(pairs: int) -> None:
    operations, seen = moves(ours, pairs)
    assert operations == []
    assert len(seen) == 3 * len(kinds_of_slots(pairs))


def test_an_empty_move_launches_nothing() -> None:
    assert moves(ours, 0) == ([], [])


@pytest.mark.parametrize("target", TARGETS)
def test_a_move_never_compiles(target: str) -> None:
    kernel = launches.load(MODULE, "bound_kernel")._move_kv_rows_kernel
    with launches.recording(ours) as seen:
        ours.plan_kv_row_move(pool())
    planned = {launches.variant_of(kernel, call, TARGETS[target]) for call in seen}
    for pairs in (1, 2, 15, 16, 17, 48, 64, 1023, 1024, 1025, MOST):
        for call in moves(ours, pairs)[1]:
            assert launches.variant_of(kernel, call, TARGETS[target]) in planned


def test_past_one_launch_the_scratch_is_bounded() -> None:
    rows = torch.zeros(8, 64, 1024, dtype=torch.uint8)
    pairs, largest = MOST + 1, 0

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            if "index.Tensor" in str(func):
                largest = max(largest, out.nbytes)
            return out

    with launches.recording(ours) as seen:
        plan = ours.plan_kv_row_move([rows])
        seen.clear()
        with Sizes():
            ours.move_kv_rows(plan, *kinds_of_slots(pairs)[0])
    assert seen == []
    assert 0 < largest <= 32 * 2**20 < pairs * rows[0].nbytes


LAUNCH = "            _move_kv_rows_kernel[grid]("


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            (LAUNCH, f"            tgt_loc.max().item()\n{LAUNCH}"), id="item"
        ),
        pytest.param((LAUNCH, f"            src_loc + 0\n{LAUNCH}"), id="allocation"),
        pytest.param(
            (
                "for loc in (tgt_loc, src_loc):",
                "for loc in (tgt_loc, src_loc.clone()):",
            ),
            id="clone",
        ),
    ],
)
def test_host_work_would_be_seen(change: tuple[str, str], tmp_path: Path) -> None:
    module = launches.load(launches.mutated(tmp_path, change), "mutated_host")
    assert moves(module, 64)[0] != []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("[1, 2, 3, 4, 5, 6]", "[1, 2, 3, 4, 6]"), id="pairs"),
        pytest.param(("[1, 2, 3, 4, 5, 6]", "[2, 3, 4, 5, 6]"), id="address"),
        pytest.param(("[1, 2, 3, 4, 5, 6]", "[1, 3, 4, 5, 6]"), id="step"),
        pytest.param(
            ("move_kv_rows([(group[:1], bases, 1, [tile])], slot, slot)", "pass"),
            id="not-compiled",
        ),
    ],
)
def test_a_late_compilation_would_be_seen(
    change: tuple[str, str], tmp_path: Path
) -> None:
    module = launches.load(launches.mutated(tmp_path, change), "mutated_late")
    variant: Callable[..., Any] = launches.variant_of
    kernel, gpu = module._move_kv_rows_kernel, TARGETS["sm_90"]
    with launches.recording(module) as seen:
        module.plan_kv_row_move(pool())
    planned = {variant(kernel, call, gpu) for call in seen}
    moved = {
        variant(kernel, call, gpu) for n in (1, 16, 17) for call in moves(module, n)[1]
    }
    assert not moved <= planned
