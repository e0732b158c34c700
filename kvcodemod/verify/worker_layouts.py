"""Find a built wrapper's KV buffers, and say where in them each slot's bytes are.

Nothing here looks at how a tree moves rows. A buffer is any tensor of a sub-pool with
an axis as long as the pool has slots, or a page axis and an in-page axis. Everything is
addressed as bytes of whole storages, so what lies between rows is seen too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

MAPPING = "full_to_hisparse_device_index_mapping"
"""The attribute by which a HiSparse pool says that its slots are translated ones."""


class LayoutError(Exception):
    """A sub-pool whose rows cannot be located: the proof cannot judge it."""


@dataclass(frozen=True)
class View:
    """One layer of one buffer: which bytes of which storage belong to which slot."""

    name: str
    """`Wrapper.sub_pool.buffer[layer]`."""
    pool: str
    storage: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    page_size: int
    """0 when the first axis is the slot; else the first two are page and offset."""
    slots: int
    mapping: Any = None

    def at(self, base: Any) -> Any:
        """This view of `base`, the bytes of its storage or a copy of them."""
        return torch.as_strided(base, self.sizes, self.strides, self.offset)

    def index(self, slots: Any) -> tuple[Any, ...]:
        """`slots` as an index into the first axes of the view."""
        if self.page_size:
            return slots // self.page_size, slots % self.page_size
        return (slots,)

    def rows(self, base: Any, slots: Any | None = None) -> Any:
        """A copy of the rows of `slots` (of all slots when None), `[slot, bytes]`."""
        if slots is None:
            slots = torch.arange(self.slots, device=base.device)
        width = math.prod(self.sizes[2:] if self.page_size else self.sizes[1:])
        return self.at(base)[self.index(slots)].reshape(len(slots), width)

    def put(self, base: Any, slots: Any, rows: Any) -> None:
        """Write `rows`, as `rows()` gave them, at `slots`."""
        view = self.at(base)
        shape = view.shape[2:] if self.page_size else view.shape[1:]
        view[self.index(slots)] = rows.reshape(len(slots), *shape)

    def translate(self, slots: Any) -> Any:
        """Logical slots as this pool numbers them."""
        slots = slots.long()
        return slots if self.mapping is None else self.mapping[slots].long()


@dataclass(frozen=True)
class Memory:
    """Every KV buffer of one wrapper, and the storages behind them."""

    views: tuple[View, ...]
    storages: dict[int, Any]
    """Live bytes by data pointer."""
    pools: tuple[str, ...]


def base_class(cls: type) -> type:
    """The class that says what a KV pool is: `KVCache`, wherever it stands."""
    named = [c for c in cls.__mro__ if c.__name__ == "KVCache"]
    plain = [c for c in cls.__mro__ if c.__module__.split(".")[0] == "sglang"]
    return (named or plain[-1:] or [cls])[0]


def sub_pools(wrapper: Any) -> dict[str, Any]:
    """The pools that a wrapper owns, by attribute; itself when it owns none."""
    kind = base_class(type(wrapper))
    found: dict[str, Any] = {}
    # a pool that stands in a list too goes by its own attribute
    held = vars(wrapper).items()
    for name, value in sorted(
        held, key=lambda kv: (not isinstance(kv[1], kind), kv[0])
    ):
        for label, item in _items(name, value):
            if isinstance(item, kind) and all(item is not p for p in found.values()):
                found[label] = item
    return found or {"": wrapper}


def survey(wrapper: Any) -> Memory:
    """Locate every KV buffer of a built wrapper.

    Raises:
        LayoutError: a sub-pool holds KV whose rows cannot be told apart.
    """
    views: list[View] = []
    storages: dict[int, Any] = {}
    pools = sub_pools(wrapper)
    for attribute, pool in pools.items():
        prefix = ".".join(n for n in (type(wrapper).__name__, attribute) if n)
        of_pool = list(_pool_views(prefix, attribute, pool, storages))
        _check_complete(prefix, pool, of_pool, storages)
        views += of_pool
    used = {view.storage for view in views}
    return Memory(
        tuple(views), {k: storages[k] for k in storages if k in used}, tuple(pools)
    )


def _items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        yield from ((f"{name}[{i}]", item) for i, item in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"{name}[{key!r}]", item) for key, item in value.items())
    else:
        yield name, value


_INTEGERS = ("bool", "int16", "int32", "int64", "uint16", "uint32", "uint64")
_NOT_KV = tuple(getattr(torch, n) for n in _INTEGERS if hasattr(torch, n))
"""Tables of pointers, strides and slots; KV is floating point or bytes."""


def _pool_views(
    prefix: str, attribute: str, pool: Any, storages: dict[int, Any]
) -> Iterator[View]:
    size, page = int(pool.size), int(pool.page_size)
    seen: set[tuple[int, int, int]] = set()
    # Public, short names first: an alias of the same bytes is then the one left out.
    for name, value in sorted(
        vars(pool).items(), key=lambda kv: (kv[0][:1] == "_", len(kv[0]), kv[0])
    ):
        for label, tensor in _items(name, value):
            if not isinstance(tensor, torch.Tensor) or tensor.dtype in _NOT_KV:
                continue
            if tensor.dim() < 2 or tensor.numel() == 0:
                continue
            key = tensor.untyped_storage().data_ptr()
            for layer, part in _layers(tensor, size, page, pool, f"{prefix}.{label}"):
                sizes, strides, offset, paged = part
                span = (key, offset, math.prod(sizes))
                if span in seen:
                    continue
                seen.add(span)
                storages.setdefault(key, _bytes_of(tensor))
                yield View(
                    name=f"{prefix}.{label}{layer}",
                    pool=attribute,
                    storage=key,
                    sizes=sizes,
                    strides=strides,
                    offset=offset,
                    page_size=paged,
                    slots=size + page,
                    mapping=getattr(pool, MAPPING, None),
                )


_Part = tuple[tuple[int, ...], tuple[int, ...], int, int]


def _layers(
    tensor: Any, size: int, page: int, pool: Any, name: str
) -> Iterator[tuple[str, _Part]]:
    """Each layer held by a tensor, as byte geometry with the slot axes first."""
    shape = tuple(tensor.shape)
    axes = _slot_axes(shape, size, page, name)
    if axes is not None:
        yield "", _geometry(tensor, axes, page)
        return
    layers = getattr(pool, "layer_num", None)
    if len(shape) < 3 or shape[0] != layers:
        return
    for i in range(shape[0]):
        axes = _slot_axes(shape[1:], size, page, name)
        if axes is not None:
            yield f"[{i}]", _geometry(tensor[i], axes, page)


def _slot_axes(
    shape: tuple[int, ...], size: int, page: int, name: str
) -> tuple[int, ...] | None:
    """The axes that number slots: `(0,)`, or the page axis and the in-page axis."""
    slots = size + page
    if shape[0] == slots:
        return (0,)
    if shape[0] != -(-slots // page):
        return None
    inside = [axis for axis in range(1, len(shape)) if shape[axis] == page]
    if len(inside) > 1:
        raise LayoutError(f"{name}: shape {shape} has two axes of page size {page}")
    return (0, inside[0]) if inside else None


def _geometry(tensor: Any, axes: tuple[int, ...], page: int) -> _Part:
    width = tensor.element_size()
    order = [*axes, *(a for a in range(tensor.dim()) if a not in axes)]
    sizes = tuple(tensor.shape[a] for a in order)
    strides = tuple(tensor.stride(a) * width for a in order)
    offset = tensor.storage_offset() * width
    return (*sizes, width), (*strides, 1), offset, page if len(axes) == 2 else 0


def _bytes_of(tensor: Any) -> Any:
    empty = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return empty.set_(tensor.untyped_storage())


def _check_complete(
    prefix: str, pool: Any, views: list[View], storages: dict[int, Any]
) -> None:
    """Compare with what the pool says it allocated, so that no buffer is overlooked."""
    found = sum(storages[key].numel() for key in {view.storage for view in views})
    said = pool.get_kv_size_bytes()
    total = sum(said) if isinstance(said, (tuple, list)) else int(said)
    if found < total:
        raise LayoutError(
            f"{prefix}: the pool says it holds {total} bytes of KV, "
            f"but only {found} are in tensors whose rows can be located"
        )
