"""Our kernel's machine code beside the stock kernel's of a real release, as a table.

    python benchmarks/kernel_codegen.py [--release 0.5.23] [--row-bytes 1024]

No GPU is needed: both are compiled offline and read by `tests/kernel_asm.py`. The stock
kernel is cut out of the downloaded release at run time and launched as SGLang does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import kernel_launches as launches
import torch
from kernel_asm import TARGETS, Reading, read
from releases import pristine

from kvcodemod.kernels import move_kv_rows as ours
from kvcodemod.kernels.source import MODULE

PAIRS = (16, 64, 256, 1024, 4096)
HEAD = (
    "GPU",
    "pairs",
    "kernel",
    "launches",
    "bytes per access",
    "loads and stores of rows per thread",
    "warp instructions per row",
    "barrier",
    "registers",
    "bytes spilled per thread",
    "shared bytes",
)


def main() -> int:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", default="0.5.23")
    parser.add_argument("--row-bytes", type=int, default=1024)
    options = parser.parse_args()
    print(f"Rows of {options.row_bytes} bytes; stock: SGLang {options.release}.\n")
    print("|", " | ".join(HEAD), "|")
    print("|", " | ".join("---" for _ in HEAD), "|")
    with tempfile.TemporaryDirectory() as into:
        stock = launches.stock_kernel(pristine(options.release), Path(into))
        for gpu in TARGETS:
            for pairs in PAIRS:
                show(gpu, pairs, "stock", stock, stock_calls(pairs, options.row_bytes))
                kernel = launches.load(MODULE, "ours")._move_kv_rows_kernel
                show(gpu, pairs, "ours", kernel, our_calls(pairs, options.row_bytes))
    return 0


def our_calls(pairs: int, row_bytes: int) -> list[launches.Launch]:
    """The launches of one `move_kv_rows` in a pool of one buffer."""
    slots = torch.zeros(pairs, dtype=torch.int64)
    with launches.recording(ours) as seen:
        plan = ours.plan_kv_row_move([torch.zeros(2, 1, row_bytes, dtype=torch.uint8)])
        seen.clear()
        ours.move_kv_rows(plan, slots, slots)
    return list(seen)


def stock_calls(pairs: int, row_bytes: int) -> list[launches.Launch]:
    """The launches SGLang makes for the same: several past its cap."""
    table = torch.zeros(1, dtype=torch.uint64)
    strides = torch.tensor([row_bytes])
    slots = torch.zeros(pairs, dtype=torch.int64)
    cap = launches.stock_cap(row_bytes)
    return [
        launches.stock_launch(table, strides, (part, part), row_bytes)
        for part in slots.split(cap)
    ]


def show(
    gpu: str, pairs: int, name: str, kernel: object, calls: list[launches.Launch]
) -> None:
    """Print one line of the table."""
    got: Reading = read(launches.compile_launch(kernel, calls[0], TARGETS[gpu]))
    # The code has no loop, so every warp of every program issues all of it once.
    programs = sum(call.grid[0] * call.grid[1] for call in calls)
    issued = got.instructions * calls[0].kwargs["num_warps"] * programs
    cells = (
        gpu,
        pairs,
        name,
        len(calls),
        "/".join(map(str, sorted(set(got.loads)))),
        2 * len(got.stores),
        f"{issued / pairs:.0f}",
        "yes" if got.barrier else "no",
        got.registers,
        got.spills,
        got.shared,
    )
    print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    sys.exit(main())
