"""Move KV rows between slots of many buffers at once: the functions `apply` injects.

Every top-level function of this file goes into SGLang's own module as it stands here
(see `source.py`), so they use `torch`, `triton`, `tl` and each other, nothing else.
`docs/kernel.md` has the design and the measurements behind the numbers.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators
# mypy: disable-error-code="type-arg"

from __future__ import annotations

import torch
import triton
import triton.language as tl


# No variant hangs on the value of an argument, so that serving never compiles one.
@triton.jit(do_not_specialize=[1, 2, 3, 4, 5, 6])
def _move_kv_rows_kernel(
    bases,
    tgt,
    tgt_step,
    src,
    src_step,
    pairs,
    units,
    UNIT: tl.constexpr,
    PAIRS: tl.constexpr,
    UNITS: tl.constexpr,
):
    pair = tl.arange(0, PAIRS).to(tl.int64)
    byte = tl.program_id(0) * UNITS * UNIT + tl.arange(0, UNITS * UNIT)[None, :]
    base = tl.cast(tl.load(bases + tl.program_id(1)), tl.pointer_type(tl.int8)) + byte
    live = pair < pairs
    # By address, as low 32-bit words: one variant for int32, int64 and any stride.
    tgt = tl.load(tl.cast(tgt, tl.pointer_type(tl.int32)) + pair * tgt_step, live, 0)
    src = tl.load(tl.cast(src, tl.pointer_type(tl.int32)) + pair * src_step, live, 0)
    # On the block of pointers, and only there, the hint makes one access of a unit.
    tgt = tl.multiple_of(base + tgt.to(tl.int64)[:, None] * (units * UNIT), [1, UNIT])
    src = tl.multiple_of(base + src.to(tl.int64)[:, None] * (units * UNIT), [1, UNIT])
    live = live[:, None] & (byte < units * UNIT)
    rows = tl.load(src, live)
    tl.debug_barrier()  # a target may be another thread's source: load all, then store
    tl.store(tgt, rows, live)


def plan_kv_row_move(buffers: list[torch.Tensor]) -> list[tuple]:
    """Plan `move_kv_rows` for a pool's buffers, once, when the pool is built.

    Buffers are `[slot, ..., head, dim]` of any dtype and kept by the plan; the last two
    dimensions are one slot's row. Raises ValueError if one is not contiguous.
    """
    groups: dict[int, list[torch.Tensor]] = {}
    for buf in buffers:
        if buf.dim() < 3 or not buf.numel() or not buf.is_contiguous():
            raise ValueError(f"KV rows need contiguous [slot, head, dim]: {buf.shape}")
        rows = buf.view(-1, buf.shape[-2] * buf.shape[-1]).view(torch.uint8)
        groups.setdefault(rows.shape[1], []).append(rows)
    interpreted = type(_move_kv_rows_kernel).__name__ == "InterpretedFunction"
    plan = []
    for size, group in groups.items():
        at = [size, *(rows.data_ptr() for rows in group)]
        unit = max(u for u in (1, 2, 4, 8, 16) if not any(x % u for x in at))
        group = [rows.view(torch.int64 if unit > 4 else torch.uint8) for rows in group]
        bases, units, tiles, device = None, size // unit, [], group[0].device
        if device.type in (("cpu",) if interpreted else ("cuda", "xpu")):
            bases = torch.tensor(at[1:], dtype=torch.uint64, device=device)
            slot = torch.zeros(1, dtype=torch.int64, device=device)
            for most in (16, 64, 256, 1024, 4096):
                wide = min(32, 4096 // most, triton.next_power_of_2(units))
                warps = max(1, most * wide // 256)  # 8 units a thread, so no spills
                tile = {"UNIT": unit, "PAIRS": most, "UNITS": wide, "num_warps": warps}
                # Compile it: move the first unit of one buffer onto itself.
                move_kv_rows([(group[:1], bases, 1, [tile])], slot, slot)
                tiles.append(tile)
        plan.append((group, bases, units, tiles))
    return plan


def move_kv_rows(plan: list | None, tgt_loc: torch.Tensor, src_loc: torch.Tensor):
    """Do `buf[tgt_loc] = buf[src_loc]` in every buffer of the plan, for any overlap.

    Slots are int32 or int64 `[pairs]` on the buffers' device, their range unchecked.
    Raises RuntimeError without a plan, ValueError for other slots.
    """
    if plan is None:
        raise RuntimeError("to move KV rows, build with enable_kv_cache_copy=True")
    pairs, slots, ints = tgt_loc.numel(), [], (torch.int32, torch.int64)
    device = plan[0][0][0].device if plan else tgt_loc.device
    for loc in (tgt_loc, src_loc):
        if loc.shape != (pairs,) or loc.dtype not in ints or loc.device != device:
            raise ValueError(f"KV slots must be int32 or int64 [pairs] on {device}")
        slots += [loc.data_ptr(), loc.stride(0) * loc.itemsize // 4]
    for rows, bases, units, tiles in plan if pairs else ():
        tile = next((tile for tile in tiles if pairs <= tile["PAIRS"]), None)
        if tile:
            grid = (triton.cdiv(units, tile["UNITS"]), len(rows))
            _move_kv_rows_kernel[grid](bases, *slots, pairs, units, **tile)
            continue
        # Columns are independent: stage some at a time, in at most 32 MiB.
        for block in (b for r in rows for b in r.split(max(1, 2**22 // pairs), dim=1)):
            block[tgt_loc.long()] = block[src_loc.long()]
