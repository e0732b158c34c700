"""Values: the moved rows of every buffer, bit for bit, against gather-then-scatter.

Run by `test_kernel_values.py` in processes of their own, once with Triton's interpreter
(which must be on before Triton is imported) and once without it, by plain torch. The
environment variable KERNEL_MODULE names another copy of the module to test.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernel_launches as launches
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvcodemod.kernels.source import MODULE

kernel = launches.load(Path(os.environ.get("KERNEL_MODULE", MODULE)), "kernel_cases")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
BY_TRITON = INTERPRETED or DEVICE == "cuda"

settings.register_profile(
    "kernel",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("kernel")

DTYPES = (
    torch.bfloat16,
    torch.float16,
    torch.float32,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.uint8,
)


def random_buffer(shape: tuple[int, ...], dtype: Any, skip: int = 0) -> Any:
    """A buffer of random bits (NaNs among them), its start moved on by `skip` items."""
    item = torch.empty(0, dtype=dtype).element_size()
    count = torch.Size(shape).numel() * item
    raw = torch.randint(0, 256, (count + skip * item,), dtype=torch.uint8)
    return raw.to(DEVICE)[skip * item :].view(dtype).view(shape)


def rows_of(buffer: Any) -> Any:
    """The bytes of a buffer, a slot a row."""
    row = buffer.shape[-1] * buffer.shape[-2] * buffer.element_size()
    return buffer.reshape(-1).view(torch.uint8).view(-1, row)


def check(buffers: list[Any], tgt: Any, src: Any) -> None:
    """Move, and compare every byte of every buffer, moved or not."""
    want = [rows_of(buffer).clone() for buffer in buffers]
    for rows in want:
        rows[tgt.long()] = rows[src.long()]
    plan = kernel.plan_kv_row_move(buffers)
    kernel.move_kv_rows(plan, tgt, src)
    for number, (rows, buffer) in enumerate(zip(want, buffers, strict=True)):
        assert torch.equal(rows, rows_of(buffer)), f"buffer {number}"


def slots(numbers: list[int], dtype: Any = torch.int64, step: int = 1) -> Any:
    """Slot numbers on the device; with `step` > 1 a strided view of a wider tensor."""
    held = torch.full((max(1, len(numbers) * step),), 10**6, dtype=dtype)
    held[: len(numbers) * step : step] = torch.tensor(numbers, dtype=dtype)
    return held.to(DEVICE)[: len(numbers) * step : step]


def test_the_route_is_the_one_meant() -> None:
    plan = kernel.plan_kv_row_move([random_buffer((4, 1, 16), torch.uint8)])
    assert bool(plan[0][3]) == BY_TRITON


PATTERNS: dict[str, Callable[[int], tuple[list[int], list[int]]]] = {
    "disjoint": lambda n: (list(range(n)), list(range(n, 2 * n))),
    "chain": lambda n: (list(range(n)), list(range(1, n + 1))),
    "shift-up": lambda n: (list(range(1, n + 1)), list(range(n))),
    "shift-far": lambda n: (list(range(7, n + 7)), list(range(n))),
    "swap": lambda n: (list(range(n)), list(range(n))[::-1]),
    "rotation": lambda n: (list(range(n)), [(i + n // 3) % n for i in range(n)]),
    "onto-itself": lambda n: (list(range(n)), list(range(n))),
    "one-source": lambda n: (list(range(n)), [n // 2] * n),
    "padded": lambda n: (
        [*range(5, 5 + n // 2), *[0] * (n - n // 2)],
        [*range(6, 6 + n // 2), *[0] * (n - n // 2)],
    ),
}
COUNTS = (1, 2, 15, 16, 17, 64, 65, 257, 1024, 1025, 4096, 4097)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("pairs", COUNTS)
def test_patterns(pattern: str, pairs: int) -> None:
    tgt, src = PATTERNS[pattern](pairs)
    buffers = [
        random_buffer((2 * pairs + 8, 1, width), torch.uint8) for width in (48, 5)
    ]
    check(buffers, slots(tgt), slots(src))


@pytest.mark.parametrize("shape", ["slot", "page", "slot-1"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layouts(shape: str, dtype: Any) -> None:
    sizes = {"slot": (96, 2, 64), "page": (6, 16, 3, 24), "slot-1": (96, 1, 2, 40)}
    buffers = [random_buffer(sizes[shape], dtype) for _ in range(3)]
    numbers = torch.randperm(96).tolist()
    check(buffers, slots(numbers[:50]), slots(numbers[20:70], torch.int32))


@given(data=st.data())
def test_any_move(data: st.DataObject) -> None:
    """Any shapes, dtypes, alignments and slots, targets distinct but for slot 0."""
    total = data.draw(st.sampled_from([3, 24, 128, 320]), "slots")
    shapes = st.tuples(st.integers(1, 4), st.integers(1, 70))
    buffers = []
    for _ in range(data.draw(st.integers(1, 4), "buffers")):
        heads, width = data.draw(shapes, "row")
        page = data.draw(st.sampled_from([s for s in (1, 2, 4, 8) if total % s == 0]))
        start = (total // page, page) if data.draw(st.booleans()) else (total,)
        skip = data.draw(st.sampled_from([0, 0, 1, 2, 3]), "skip")
        dtype = data.draw(st.sampled_from(DTYPES), "dtype")
        buffers.append(random_buffer((*start, heads, width), dtype, skip))
    tgt = data.draw(st.lists(st.integers(1, total - 1), unique=True, max_size=total))
    src = [data.draw(st.integers(0, total - 1)) for _ in tgt]
    padding = [0] * data.draw(st.integers(0, 5), "padding")
    kinds = st.sampled_from([torch.int32, torch.int64])
    steps = st.integers(1, 3)
    check(
        buffers,
        slots(tgt + padding, data.draw(kinds), data.draw(steps)),
        slots(src + padding, data.draw(kinds), data.draw(steps)),
    )


def test_one_plan_serves_many_moves_and_sees_new_values() -> None:
    buffer = random_buffer((64, 2, 16), torch.float16)
    plan = kernel.plan_kv_row_move([buffer])
    for _ in range(3):
        buffer.copy_(random_buffer((64, 2, 16), torch.float16))
        want = rows_of(buffer).clone()
        tgt, src = torch.randperm(64, device=DEVICE).chunk(2)
        want[tgt] = want[src]
        kernel.move_kv_rows(plan, tgt, src)
        assert torch.equal(want, rows_of(buffer))


def test_planning_changes_nothing_and_takes_any_iterable() -> None:
    buffers = [random_buffer((8, 1, 96), torch.uint8) for _ in range(2)]
    before = [buffer.clone() for buffer in buffers]
    kernel.plan_kv_row_move(iter(buffers))
    assert all(map(torch.equal, before, buffers))


def test_nothing_to_move() -> None:
    none = torch.empty(0, dtype=torch.int64, device=DEVICE)
    kernel.move_kv_rows(kernel.plan_kv_row_move([]), slots([1]), slots([0]))
    check([random_buffer((4, 1, 16), torch.uint8)], none, none)


def test_no_plan_names_the_flag() -> None:
    for numbers in ([1], []):
        with pytest.raises(RuntimeError, match="enable_kv_cache_copy=True"):
            kernel.move_kv_rows(None, slots(numbers), slots(numbers))


@pytest.mark.parametrize(
    "buffer",
    [
        pytest.param(torch.zeros(4, 8, 16)[:, ::2], id="heads-strided"),
        pytest.param(torch.zeros(4, 8, 16)[::2], id="slots-strided"),
        pytest.param(torch.zeros(2, 4, 16).transpose(0, 1), id="transposed"),
        pytest.param(torch.zeros(8, 16), id="no-heads"),
        pytest.param(torch.zeros(0, 2, 16), id="no-slots"),
    ],
)
def test_a_buffer_that_is_not_slot_rows_is_refused(buffer: Any) -> None:
    with pytest.raises(ValueError, match="contiguous"):
        kernel.plan_kv_row_move([torch.zeros(8, 2, 16), buffer])


@pytest.mark.parametrize(
    ("tgt", "src"),
    [
        pytest.param(torch.tensor([1, 2]), torch.tensor([1]), id="unequal"),
        pytest.param(torch.tensor([1.0]), torch.tensor([2.0]), id="float"),
        pytest.param(torch.tensor([True]), torch.tensor([False]), id="mask"),
        pytest.param(torch.tensor([[1]]), torch.tensor([[2]]), id="2-d"),
        pytest.param(
            torch.tensor([1], device="meta"), torch.tensor([2]), id="other-device"
        ),
    ],
)
def test_slots_that_are_not_slots_are_refused(tgt: Any, src: Any) -> None:
    plan = kernel.plan_kv_row_move([torch.zeros(8, 2, 16)])
    with pytest.raises(ValueError, match="int32 or int64"):
        kernel.move_kv_rows(plan, tgt, src)


def test_offsets_past_two_gigabytes() -> None:
    # Row 70000 of 40000-byte rows starts at 2.8 GB; untouched pages cost no memory.
    buffer = torch.empty(70002, 1, 40000, dtype=torch.uint8, device=DEVICE)
    for slot in (0, 1, 70000, 70001):
        buffer[slot] = slot % 251
    plan = kernel.plan_kv_row_move([buffer])
    kernel.move_kv_rows(plan, slots([70001, 1]), slots([1, 70000]))
    assert buffer[70001].unique().tolist() == [1]
    assert buffer[1].unique().tolist() == [70000 % 251]
