"""Build the target's pools: which arguments a class takes, and plausible values."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterator
from typing import Any

import torch

from .worker_layouts import MAPPING, LayoutError, Memory, sub_pools, survey
from .worker_matrix import FIA, HND, NATIVE, PACKED_BASE, PLAIN_BASE, Config

COPY_FLAG = "enable_kv_cache_copy"
HISPARSE_FLAG = "enable_hisparse"
RATIO = "host_to_device_ratio"


def accepts(cls: type, name: str) -> bool:
    """Whether `cls(name=...)` reaches a constructor that names this parameter."""
    for base in cls.__mro__:
        init = base.__dict__.get("__init__")
        if init is None:
            continue
        parameters = inspect.signature(init).parameters.values()
        if any(p.name == name for p in parameters):
            return True
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return False
    return False


def default_of(cls: type, name: str) -> Any:
    """The default of a parameter, or `inspect.Parameter.empty`."""
    for base in cls.__mro__:
        init = base.__dict__.get("__init__")
        if init is not None and name in inspect.signature(init).parameters:
            return inspect.signature(init).parameters[name].default
    return inspect.Parameter.empty


def unknown_parameters(cls: type) -> list[str]:
    """Parameters without a default that the proof has no value for."""
    known = arguments(PLAIN_BASE, "cpu")
    return [
        p.name
        for p in inspect.signature(cls).parameters.values()
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and p.name not in known
    ]


def positional_names(cls: type) -> list[str]:
    """Names of the constructor's parameters in order, as far as they can be known."""
    for base in cls.__mro__:
        init = base.__dict__.get("__init__")
        if init is None:
            continue
        parameters = list(inspect.signature(init).parameters.values())[1:]
        named = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        if named or not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            return named
    return []


def arguments(config: Config, device: str) -> dict[str, Any]:
    """A value for every parameter that wrappers of this family have had so far."""
    return {
        "size": config.size,
        "page_size": config.page_size,
        "dtype": getattr(torch, config.dtype),
        "index_dtype": getattr(torch, config.index_dtype or config.dtype),
        "head_num": config.head_num,
        "head_dim": config.head_dim,
        "idx_head_dim": config.idx_head_dim,
        "device": device,
        "enable_memory_saver": False,
        HISPARSE_FLAG: config.hisparse,
        RATIO: 2,
        COPY_FLAG: True,
        **config.layers(),
    }


REQUIRED = (
    "size",
    "page_size",
    "dtype",
    "head_num",
    "head_dim",
    "idx_head_dim",
    "dense_layer_ids",
    "sparse_layer_ids",
    "disable_value_sparse_layer_ids",
    "device",
    "start_layer",
    "end_layer",
)
"""What every wrapper of the family has taken since 0.5.15."""


def build(
    cls: type, config: Config, device: str, *, copy_flag: bool | None = True
) -> Any:
    """Build a wrapper as the configuration says, with the flag where it is a parameter.

    Args:
        cls: the wrapper class.
        config: what to build.
        device: where.
        copy_flag: value for `enable_kv_cache_copy`; None leaves it out.
    """
    values = arguments(config, device)
    chosen = {name: values[name] for name in REQUIRED}
    if config.index_dtype is not None:
        chosen["index_dtype"] = values["index_dtype"]
    if config.hisparse:
        chosen |= {HISPARSE_FLAG: True, RATIO: values[RATIO]}
    if copy_flag is not None and accepts(cls, COPY_FLAG):
        chosen[COPY_FLAG] = copy_flag
    with environment(config.env):
        return cls(**chosen)


@contextlib.contextmanager
def environment(extra: dict[str, str]) -> Iterator[None]:
    """Set the layout switches for a while; the others are off."""
    # The tree's own check of slot ranges: better an error than memory overwritten.
    checked = {"SGLANG_ENABLE_ASYNC_ASSERT": "1", **extra}
    names = (*HND, *NATIVE, *FIA, *checked)
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ.update(checked)
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)


def register_mapping(wrapper: Any, memory: Memory, seed: int) -> Memory:
    """Give a HiSparse wrapper a random mapping, and read the layout again.

    Logical slots outnumber device slots: those without a row go to device slot 0, and
    the last logical slot has one.
    """
    logical = max(view.slots for view in memory.views)
    mapped = {name for name, p in sub_pools(wrapper).items() if hasattr(p, MAPPING)}
    rows = min(view.slots for view in memory.views if view.pool in mapped)
    generator = torch.Generator().manual_seed(seed + 77)
    present = torch.randperm(logical - 2, generator=generator)[: rows - 2] + 1
    present = torch.cat([torch.tensor([logical - 1]), present])
    mapping = torch.zeros(logical, dtype=torch.int64)
    mapping[present] = torch.randperm(rows - 1, generator=generator) + 1
    wrapper.register_mapping(mapping.to(wrapper.device))
    return survey(wrapper)


def kind_of(cls: type, device: str) -> tuple[str, Config]:
    """How a wrapper's sub-pools are laid out, found by building one.

    Returns:
        `plain`, `paged` (NPU), `packed` (NVFP4), or `broken` when the constructor
        raises whatever it is given; and the configuration to build it with.
    """
    try:
        wrapper = build(cls, PLAIN_BASE, device)
    except ValueError:
        try:
            build(cls, PACKED_BASE, device)
        except Exception:
            return "broken", PACKED_BASE
        return "packed", PACKED_BASE
    except Exception:
        return "broken", PLAIN_BASE
    try:
        views = survey(wrapper).views
    except LayoutError:
        return "plain", PLAIN_BASE
    return ("paged" if any(view.page_size for view in views) else "plain"), PLAIN_BASE
