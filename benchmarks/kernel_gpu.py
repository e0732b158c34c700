"""GB/s of our kernel, the stock kernel and plain torch, against a device copy.

    python benchmarks/kernel_gpu.py [--release 0.5.23] [--layers 62] [--slots 16384]

Needs a CUDA or ROCm GPU; without one it says so and exits 0. Values are checked before
anything is timed, in the same process. A byte moved counts twice: read and written.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import kernel_launches as launches
import torch
import triton
from releases import pristine

from kvcodemod.kernels.move_kv_rows import move_kv_rows, plan_kv_row_move

PAIRS = (4, 16, 64, 256, 1024, 2048, 4096)
ROW_BYTES = {256: "an index key", 1024: "K or V of 4 heads", 2048: "of 8 heads"}
Move = Callable[[torch.Tensor, torch.Tensor], None]


def main() -> int:
    """Check values, then print one line for each row size and number of pairs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", default="0.5.23", help="of the stock kernel")
    parser.add_argument("--layers", type=int, default=62, help="K and V of each")
    parser.add_argument("--slots", type=int, default=16384)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("No CUDA or ROCm GPU here: nothing was measured.")
        return 0
    print(torch.cuda.get_device_name(), "| GB/s, read and written; higher is better")
    print("| row bytes | pairs | ours | stock | torch | device copy |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as into:
        kernel = launches.stock_kernel(pristine(options.release), Path(into))
        for row_bytes in ROW_BYTES:
            shape = (options.slots, 1, row_bytes)
            buffers = [
                torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
                for _ in range(2 * options.layers)
            ]
            moves = movers(buffers, kernel)
            check(buffers, moves)
            for pairs in PAIRS:
                print_line(buffers, moves, pairs)
    return 0


def movers(buffers: list[torch.Tensor], stock_kernel: Any) -> dict[str, Move]:
    """Each way to move the rows of `buffers`, ready to be called."""
    plan = plan_kv_row_move(buffers)
    device, row_bytes = buffers[0].device, buffers[0].shape[-1]
    starts = [buffer.data_ptr() for buffer in buffers]
    table = torch.tensor(starts, dtype=torch.uint64, device=device)
    strides = torch.full((len(buffers),), row_bytes, device=device)
    cap = launches.stock_cap(row_bytes)

    def ours(tgt: torch.Tensor, src: torch.Tensor) -> None:
        move_kv_rows(plan, tgt, src)

    def stock(tgt: torch.Tensor, src: torch.Tensor) -> None:
        for part in zip(tgt.split(cap), src.split(cap), strict=True):
            launch = launches.stock_launch(table, strides, part, row_bytes)
            stock_kernel[launch.grid](*launch.args, **launch.kwargs)

    def plain(tgt: torch.Tensor, src: torch.Tensor) -> None:
        for buffer in buffers:
            buffer[tgt] = buffer[src]

    return {"ours": ours, "stock": stock, "torch": plain}


def check(buffers: list[torch.Tensor], moves: dict[str, Move]) -> None:
    """Compare every mover with gather-then-scatter; the stock one on disjoint slots.

    Raises:
        AssertionError: a mover moved something else.
    """
    slots = len(buffers[0])
    for pairs in (count for count in (*PAIRS, 4097) if 2 * count <= slots):
        order = torch.randperm(slots, device=buffers[0].device)
        disjoint = order[:pairs], order[pairs : 2 * pairs]
        rotated = order[:pairs], order[:pairs].roll(1)
        for name, move in moves.items():
            for tgt, src in [disjoint] if name == "stock" else [disjoint, rotated]:
                want = [buffer.clone() for buffer in buffers[:: len(buffers) - 1]]
                for rows in want:
                    rows[tgt] = rows[src]
                move(tgt, src)
                for rows, buffer in zip(
                    want, buffers[:: len(buffers) - 1], strict=True
                ):
                    assert torch.equal(rows, buffer), (name, pairs)


def print_line(buffers: list[torch.Tensor], moves: dict[str, Move], pairs: int) -> None:
    """Time every mover and a copy of as many bytes."""
    slots, _, row_bytes = buffers[0].shape
    order = torch.randperm(slots, device=buffers[0].device)
    tgt, src = order[:pairs], order[pairs : 2 * pairs]
    moved = len(buffers) * pairs * row_bytes
    one = torch.empty(moved, dtype=torch.uint8, device=buffers[0].device)
    other = torch.empty_like(one)
    timed = [lambda move=move: move(tgt, src) for move in moves.values()]
    speeds = []
    for call in (*timed, lambda: other.copy_(one)):
        milliseconds = triton.testing.do_bench(call, return_mode="median")
        speeds.append(f"{2 * moved / milliseconds / 1e6:.0f}")
    print("|", " | ".join(map(str, (row_bytes, pairs, *speeds))), "|", flush=True)


if __name__ == "__main__":
    sys.exit(main())
