"""Which kernel variants a plan and its moves launch, found without a GPU.

A recorder stands in for the kernel, so `plan_kv_row_move` and `move_kv_rows` run as
they do on a GPU, on CPU tensors. Triton's own binder then tells a launch's variant.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from torch.utils._python_dispatch import TorchDispatchMode
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import create_function_from_signature

from kvcodemod.kernels.source import MODULE

STOCK = "copy_all_layer_kv_cache_tiled"
_STOCK_FILES = (
    "sglang/kernels/ops/kvcache/cache_move.py",
    "sglang/srt/mem_cache/triton_ops/cache_move.py",
)


@dataclass(frozen=True)
class Launch:
    """One launch: its grid, its arguments and the constants and options by name."""

    grid: tuple[int, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(hash=False)


class InterpretedFunction:
    """Records launches. The name is how a plan knows that Triton runs on a CPU."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        return partial(self._record, grid)

    def _record(self, grid: tuple[int, ...], *args: Any, **kwargs: Any) -> None:
        self.launches.append(Launch(grid, args, kwargs))


@contextmanager
def recording(module: ModuleType) -> Iterator[list[Launch]]:
    """The launches that `module`'s functions make inside the `with` block."""
    kernel, recorder = module._move_kv_rows_kernel, InterpretedFunction()
    module._move_kv_rows_kernel = recorder
    try:
        yield recorder.launches
    finally:
        module._move_kv_rows_kernel = kernel


@dataclass(frozen=True)
class Variant:
    """What Triton compiles for a launch; equal variants are one compilation."""

    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, Any], ...]
    attributes: tuple[tuple[str, str], ...]
    warps: int


def variant_of(kernel: Any, launch: Launch, target: GPUTarget) -> Variant:
    """The variant of `kernel` that Triton would pick for this launch on this GPU."""
    options, signature, constants, attributes = _bind(kernel, launch, target)
    names = kernel.arg_names
    return Variant(
        tuple(signature.items()),
        tuple((names[path[0]], value) for path, value in constants.items()),
        tuple((names[path[0]], str(value)) for path, value in attributes.items()),
        options.num_warps,
    )


def compile_launch(kernel: Any, launch: Launch, target: GPUTarget) -> Any:
    """`triton.compile` for the variant of a launch, offline."""
    options, signature, constants, attributes = _bind(kernel, launch, target)
    source = ASTSource(kernel, signature, constants, attributes)
    return triton.compile(source, target=target, options=options.__dict__)


def _bind(kernel: Any, launch: Launch, target: GPUTarget) -> Any:
    backend = make_backend(target)
    bind = create_function_from_signature(kernel.signature, kernel.params, backend)
    bound, kinds, options = bind(*launch.args, **launch.kwargs)
    return kernel._pack_args(backend, launch.kwargs, bound, kinds, options)


def load(path: Path, name: str) -> ModuleType:
    """Import one file as a module of its own."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mutated(into: Path, *changes: tuple[str, str]) -> Path:
    """A copy of our kernel's module with each (old, new) replaced, once each."""
    text = MODULE.read_text(encoding="utf-8")
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in {MODULE.name}")
        text = text.replace(old, new)
    path = into / MODULE.name
    path.write_text(text, encoding="utf-8")
    return path


def stock_kernel(release: Path, into: Path) -> Any:
    """The kernel that `release` moves rows with, cut out at run time into `into`.

    Raises:
        LookupError: the release has no such kernel where one was in 0.5.15 to 0.5.23.
    """
    for file in (release / name for name in _STOCK_FILES):
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name == STOCK:
                first = min(mark.lineno for mark in node.decorator_list)
                body = text.splitlines()[first - 1 : node.end_lineno]
                head = ["import triton", "import triton.language as tl", ""]
                path = into / "stock.py"
                path.write_text("\n".join([*head, *body, ""]), encoding="utf-8")
                return getattr(load(path, "stock"), STOCK)
    raise LookupError(f"{release} has no {STOCK}")


def stock_cap(row_bytes: int) -> int:
    """The most pairs that SGLang 0.5.15 to 0.5.23 moves in one launch."""
    return 128 if row_bytes >= 8192 else 256


def stock_launch(
    table: Any, strides: Any, slots: Sequence[Any], row_bytes: int
) -> Launch:
    """The launch those releases make for these slots, at most `stock_cap` of them.

    The tile sizes are those of `_init_kv_copy_and_warmup` in `memory_pool.py`.
    """
    tgt, src = slots
    pairs = tgt.numel()
    if pairs > stock_cap(row_bytes):
        raise ValueError(f"stock moves {pairs} pairs in several launches")
    tile = 512 if row_bytes >= 8192 else 256 if row_bytes >= 4096 else 128
    return Launch(
        (table.numel(), triton.cdiv(row_bytes, tile)),
        (table, strides, tgt, src, pairs, triton.next_power_of_2(pairs)),
        {
            "BYTES_PER_TILE": tile,
            "num_warps": 8 if tile == 512 else 4,
            "num_stages": 2,
        },
    )


class Operations(TorchDispatchMode):
    """Lists every torch operation: allocations, copies and host reads among them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))
