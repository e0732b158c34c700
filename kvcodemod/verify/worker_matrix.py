"""Configurations to build pools with: an all-pairs selection, the same every time."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

SIZE = 512
"""Slots of a pool besides its padding page: enough for more pairs than any cap."""

BFLOAT16, FLOAT16, FLOAT32 = "bfloat16", "float16", "float32"
E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"

HND = {"SGLANG_USE_HND_KVCACHE": "1"}
NATIVE = {"SGLANG_NATIVE_MOVE_KV_CACHE": "1"}
FIA = {"ASCEND_USE_FIA": "1"}

SPLITS = ("dvk", "dd", "vv", "kk", "dv", "dk", "vk")
"""One letter a layer: dense, K+V index, K-only index."""


@dataclass(frozen=True)
class Config:
    """One way to build a wrapper, as plain data."""

    dtype: str = BFLOAT16
    index_dtype: str | None = None
    """None: the wrapper's own default, the main dtype."""
    head_num: int = 3
    head_dim: int = 24
    idx_head_dim: int = 40
    page_size: int = 1
    size: int = SIZE
    before: str = ""
    """Layers of earlier pipeline stages."""
    split: str = "dvk"
    after: str = ""
    hisparse: bool = False
    brief: bool = False
    """Only the patterns that meet the stock move's caps."""
    half: int | None = None
    """0 or 1: only every other pattern, so that many configurations stay cheap."""
    env: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What is particular about it, in words."""
        index = self.index_dtype or self.dtype
        layers = {"d": "dense", "v": "K+V", "k": "K-only"}
        parts = [
            self.dtype if index == self.dtype else f"{self.dtype}, index {index}",
            f"{self.head_num}x{self.head_dim}+{self.idx_head_dim}",
            f"page {self.page_size}",
            "/".join(layers[c] for c in self.split),
        ]
        words = {**HND, **NATIVE, **FIA}
        parts += [f"{k}={v}" for k, v in self.env.items() if k in words]
        if self.size != SIZE:
            parts.append(f"{self.size} slots")
        if self.before or self.after:
            parts.append(f"stage from layer {len(self.before)}")
        if self.hisparse:
            parts.append("HiSparse")
        return ", ".join(parts)

    def layers(self) -> dict[str, Any]:
        """Layer ids of the whole model, and this stage's bounds."""
        kinds = self.before + self.split + self.after
        return {
            "dense_layer_ids": [i for i, c in enumerate(kinds) if c == "d"],
            "sparse_layer_ids": [i for i, c in enumerate(kinds) if c != "d"],
            "disable_value_sparse_layer_ids": [
                i for i, c in enumerate(kinds) if c == "k"
            ],
            "start_layer": len(self.before),
            "end_layer": len(self.before) + len(self.split),
        }


_DTYPES = (BFLOAT16, FLOAT16, FLOAT32, E4M3, E5M2)
_INDEX = (None, BFLOAT16, E4M3, FLOAT32)
_EVEN: dict[str, Any] = {"head_num": 3, "head_dim": 24, "idx_head_dim": 40}
_ODD: dict[str, Any] = {"head_num": 3, "head_dim": 5, "idx_head_dim": 7}
_STAGES: tuple[dict[str, str], ...] = ({}, {"before": "kvd", "after": "dkv"})
_WIDE: dict[str, Any] = {"head_num": 3, "head_dim": 1400}

_PLAIN: dict[str, tuple[Any, ...]] = {
    "dtype": _DTYPES,
    "index_dtype": _INDEX,
    "dims": (_EVEN, _ODD),
    "page_size": (1, 4, 16, 64, 128),
    "env": ({}, HND, NATIVE),
    "split": SPLITS,
    "stage": _STAGES,
}

_PAGED: dict[str, tuple[Any, ...]] = {
    "dtype": (BFLOAT16, FLOAT16, E4M3),
    "index_dtype": (None, BFLOAT16, E4M3),
    "dims": (_EVEN, _ODD),
    "page_size": (1, 8, 16, 128),
    "env": ({}, FIA),
    "split": SPLITS,
    "stage": _STAGES,
}

_PACKED: dict[str, tuple[Any, ...]] = {
    "dtype": (BFLOAT16,),
    "dims": tuple(
        {"head_num": n, "head_dim": 128, "idx_head_dim": 128} for n in (1, 2, 4)
    ),
    "page_size": (128,),
    "split": ("k", "kk", "kkk"),
    "stage": ({}, {"before": "kk", "after": "k"}),
}

PACKED_BASE = Config(
    head_num=2, head_dim=128, idx_head_dim=128, page_size=128, split="kk"
)
"""NVFP4 pools take nothing else (0.5.23 minimax_m3_nvfp4_pool.py)."""

PLAIN_BASE = Config(page_size=16)


def configs(kind: str, base: Config, hisparse: bool) -> list[Config]:
    """The configurations for a kind of wrapper.

    Args:
        kind: how the wrapper's sub-pools are laid out, as `kind_of` says.
        base: the configuration it was first built with.
        hisparse: whether the wrapper can be built with `enable_hisparse=True`.
    """
    if kind == "broken":
        return [base]
    if kind == "packed":
        return [base, *_all_pairs(_PACKED)]
    if kind == "paged":
        return [base, *_all_pairs(_PAGED)]
    found = [base, *_all_pairs(_PLAIN)]
    found += [Config(page_size=p, index_dtype=E4M3) for p in (2, 8, 32)]
    # The stock move's largest tile, with its lower cap, and the middle one.
    found += [
        Config(**_WIDE, split="k", brief=True),
        Config(head_dim=700, split="v", brief=True),
        # More pairs than a kernel may be compiled for.
        Config(size=8192, split="k", brief=True),
    ]
    if hisparse:
        found += [
            Config(hisparse=True),
            Config(hisparse=True, page_size=16, split="vk", env=HND),
            Config(hisparse=True, page_size=64, split="kk", dtype=E4M3, **_ODD),
            Config(hisparse=True, page_size=4, split="dk", env=NATIVE),
            Config(hisparse=True, page_size=16, split="dvk", index_dtype=E5M2, **_ODD),
            Config(hisparse=True, split="ddkv", before="dkv", after="kd"),
            Config(hisparse=True, page_size=128, split="ddvvkk", dtype=FLOAT32),
        ]
    return found


def writer_configs(kind: str, base: Config, hisparse: bool) -> list[Config]:
    """One configuration for each layout that a tree can write without its hardware."""
    if kind != "plain":
        return []
    found = [base, Config(page_size=16, env=HND), Config(before="kvd", after="dk")]
    if hisparse:
        found += [Config(page_size=16, hisparse=True)]
    return found


def _all_pairs(factors: dict[str, tuple[Any, ...]]) -> list[Config]:
    """Few rows in which every two values of every two factors meet at least once."""
    names = list(factors)
    wanted = {
        (f, i, g, j)
        for f, g in itertools.combinations(names, 2)
        for i in range(len(factors[f]))
        for j in range(len(factors[g]))
    }
    rng = random.Random(20)
    rows: list[Config] = []
    while wanted:
        best: dict[str, int] = {}
        gain: set[tuple[str, int, str, int]] = set()
        for _ in range(60):
            f, i, g, j = rng.choice(sorted(wanted))
            row = {name: rng.randrange(len(factors[name])) for name in names}
            row |= {f: i, g: j}
            meets = {
                (a, row[a], b, row[b]) for a, b in itertools.combinations(names, 2)
            }
            if len(meets & wanted) > len(gain):
                best, gain = row, meets & wanted
        wanted -= gain
        row = {name: factors[name][i] for name, i in best.items()}
        rows.append(_config({**row, "half": len(rows) % 2}))
    return rows


def _config(row: dict[str, Any]) -> Config:
    row |= row.pop("dims", {}) | row.pop("stage", {})
    if row.get("index_dtype") == row["dtype"]:
        row["index_dtype"] = None
    return Config(**row)
