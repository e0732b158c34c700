"""Compile a Triton kernel for a GPU that is not there and read its machine code.

NVIDIA code is read from the SASS of the very cubin that Triton would load (with the
disassembler in Triton's wheel), AMD code from the assembly and its metadata.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton import knobs
from triton.backends.compiler import GPUTarget

TARGETS = {
    "sm_80": GPUTarget("cuda", 80, 32),
    "sm_90": GPUTarget("cuda", 90, 32),
    "sm_100": GPUTarget("cuda", 100, 32),
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx950": GPUTarget("hip", "gfx950", 64),
}
"""The GPUs whose code is read: A100, H100/H200, B200, MI300, MI355."""

_AMD_WIDTH = {"byte": 1, "short": 2, "dword": 4, "dwordx2": 8, "dwordx4": 16}


@dataclass(frozen=True)
class Reading:
    """What one variant's machine code does. Counts are per thread, or per warp."""

    instructions: int
    loads: tuple[int, ...]
    """Bytes of each load of rows, in program order (loads of slots are left out)."""
    stores: tuple[int, ...]
    barrier: bool
    """A barrier stands between the last load of rows and the first store."""
    registers: int
    spills: int
    """Bytes of registers that a thread keeps in memory."""
    shared: int
    """Bytes of shared memory of a program."""


def read(compiled: Any) -> Reading:
    """Read a `triton.compile` result, for either vendor.

    A load of rows is one whose register a store writes back; the others fetch slots and
    base addresses.

    Raises:
        ValueError: rows are not stored as they were loaded (widths differ), or at all.
    """
    if "cubin" in compiled.asm:
        code, registers, spills = _nvidia(compiled.asm["cubin"])
    else:
        code, registers, spills = _amd(compiled.asm["amdgcn"])
    loads: dict[int, int] = {}
    stores = [at for at, step in enumerate(code) if step.kind == "store"]
    for store in stores:
        held = code[store].register
        at = store - 1
        while at >= 0 and (code[at].kind, code[at].register) != ("load", held):
            at -= 1
        if at < 0 and spills:  # the row took a way through memory
            continue
        if at < 0:
            raise ValueError(f"{held} is stored but was not loaded as it is")
        loads[at] = code[at].width
    between = code[max(loads) : min(stores)]
    return Reading(
        instructions=len(code),
        loads=tuple(loads.values()),
        stores=tuple(code[at].width for at in stores),
        barrier=any(step.kind == "barrier" for step in between),
        registers=registers,
        spills=spills,
        shared=compiled.metadata.shared,
    )


@dataclass(frozen=True)
class _Step:
    kind: str = "other"
    width: int = 0
    register: str = ""


def _nvidia(cubin: bytes) -> tuple[list[_Step], int, int]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(cubin)
        command = [knobs.nvidia.cuobjdump.path, "-sass", "-res-usage", file.name]
        text = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout
    code = []
    for line in re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", text):
        if line.startswith("BRA"):  # the endless loop that pads the end
            break
        code.append(_nvidia_step(re.sub(r"^@!?U?P\w+\s+", "", line)))
    found = re.search(r"REG:(\d+) STACK:(\d+) .*LOCAL:(\d+)", text)
    if found is None or not code:
        raise ValueError(f"cuobjdump shows no code: {text[:500]}")
    registers, stack, local = map(int, found.groups())
    return code, registers, max(stack, local)


def _nvidia_step(line: str) -> _Step:
    name, *flags = line.split(maxsplit=1)[0].split(".")
    operands = line.partition(" ")[2].split(",")
    widths = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
    width = max((widths.get(flag, 0) for flag in flags), default=0) or 4
    if name == "LDG":
        return _Step("load", width, operands[0].strip())
    if name == "STG":
        return _Step("store", width, operands[-1].strip())
    return _Step("barrier" if name == "BAR" and "SYNC" in flags else "other")


def _amd(text: str) -> tuple[list[_Step], int, int]:
    lines = text[: text.rindex("s_endpgm")].splitlines()
    code = [
        _amd_step(line.strip())
        for line in lines
        if re.match(r"\s+([a-z]\w+|; wave barrier)", line)
    ]
    counts = dict(re.findall(r"^\s*\.(\w+_(?:count|size)):\s*(\d+)", text, re.M))
    spilled = int(counts["vgpr_spill_count"]) + int(counts["sgpr_spill_count"])
    memory = int(counts["private_segment_fixed_size"])
    return code, int(counts["vgpr_count"]), max(memory, 4 * spilled)


def _amd_step(line: str) -> _Step:
    # LLVM leaves only a comment where a program is one wavefront, which runs in step:
    # nothing may be moved across it.
    if line.startswith(("s_barrier", "; wave barrier")):
        return _Step("barrier")
    found = re.match(
        r"(?:global|flat|buffer)_(load|store)_[us]?(byte|short|dword(?:x\d)?)\S*"
        r"\s+(\S+), (\S+),",
        line,
    )
    if found is None:
        return _Step()
    kind, width, first, second = found.groups()
    return _Step(kind, _AMD_WIDTH[width], first if kind == "load" else second)
