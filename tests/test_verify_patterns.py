"""The proof's slot patterns and configurations: what they cover and assume."""

from __future__ import annotations

import itertools
import random

import pytest

from kvcodemod.verify.worker_matrix import (
    PACKED_BASE,
    PLAIN_BASE,
    Config,
    configs,
    writer_configs,
)
from kvcodemod.verify.worker_patterns import Pattern, patterns

USABLE = list(range(1, 528))


def made(**options: object) -> list[Pattern]:
    return patterns(USABLE, 527, random.Random(0), **options)  # type: ignore[arg-type]


def moved(pattern: Pattern, chunk: int) -> dict[int, int]:
    """What each slot holds after moving `chunk` pairs at a time."""
    held = {slot: slot for slot in range(528)}
    pairs = list(zip(pattern.target, pattern.source, strict=True))
    for start in range(0, len(pairs), chunk):
        part = pairs[start : start + chunk]
        read = [held[source] for _, source in part]
        for (target, _), value in zip(part, read, strict=True):
            held[target] = value
    del held[0]
    return held


@pytest.mark.parametrize("cap", [128, 256])
def test_by_default_the_stock_move_is_right_past_its_cap(cap: int) -> None:
    for pattern in made():
        assert moved(pattern, cap) == moved(pattern, 10_000), pattern.name
    assert any(len(pattern.target) > 256 for pattern in made())


def test_long_permutations_are_longer_than_any_cap_of_the_stock_move() -> None:
    usual = {pattern.name for pattern in made()}
    extra = [p for p in made(long_permutations=True) if p.name not in usual]
    assert len(extra) >= 3
    assert all(len(pattern.target) > 256 for pattern in extra)
    assert any(moved(pattern, 256) != moved(pattern, 10_000) for pattern in extra)


def test_a_move_row_by_row_is_told_from_gather_then_scatter() -> None:
    told = {p.name for p in made() if moved(p, 1) != moved(p, 10_000)}
    assert {"chained backwards", "shifted up by 1", "swapped", "permuted"} <= told


def test_accepted_drafts_compact_inside_their_own_window() -> None:
    windows = [p for p in made() if p.name.startswith("accepted drafts")]
    assert len(windows) >= 3
    for pattern in windows:
        pairs = zip(pattern.target, pattern.source, strict=True)
        real = [(t, s) for t, s in pairs if t or s]
        padding = len(pattern.target) - len(real)
        assert padding > 1, "no padding"
        assert pattern.target[-padding:] == pattern.source[-padding:] == (0,) * padding
        targets = [t for t, _ in real]
        assert len(set(targets)) == len(targets)
        overwritten: set[int] = set()
        for target, source in real:
            assert source not in overwritten
            overwritten.add(target)


def test_only_slot_zero_is_written_twice() -> None:
    for pattern in made(absent=(600, 601, 602, 603, 604, 605), rows=300):
        written = [t for t in pattern.target if t]
        assert len(written) == len(set(written)), pattern.name
        assert len(pattern.target) == len(pattern.source)


def test_what_the_issue_asks_for_is_there() -> None:
    names = " / ".join(pattern.name for pattern in made())
    for word in ("empty", "disjoint", "chained", "up by", "down by", "swapped"):
        assert word in names
    for word in ("permuted", "slot 0", "accepted drafts", "int32"):
        assert word in names
    bits = {pattern.bits for pattern in made()}
    assert bits == {32, 64}
    assert any(not pattern.target for pattern in made())


def test_the_same_every_time() -> None:
    assert made() == made()
    assert configs("plain", PLAIN_BASE, True) == configs("plain", PLAIN_BASE, True)


def of(name: str) -> list[Config]:
    return configs(name, PACKED_BASE if name == "packed" else PLAIN_BASE, True)


def test_the_matrix_has_what_the_issue_asks_for() -> None:
    plain = of("plain")
    dtypes = {"bfloat16", "float16", "float32", "float8_e4m3fn", "float8_e5m2"}
    assert {config.dtype for config in plain} == dtypes
    assert {config.page_size for config in plain} == {1, 2, 4, 8, 16, 32, 64, 128}
    assert any(config.index_dtype not in (None, config.dtype) for config in plain)
    assert {"d", "v", "k", "dvk"} <= {
        "".join(sorted(set(c.split), key="dvk".index)) for c in plain
    }
    assert {tuple(config.env) for config in plain} == {
        (),
        ("SGLANG_USE_HND_KVCACHE",),
        ("SGLANG_NATIVE_MOVE_KV_CACHE",),
    }
    assert any(config.before for config in plain)
    hisparse = [config for config in plain if config.hisparse]
    assert {"d" in config.split for config in hisparse} == {True, False}
    assert any(config.head_num * config.head_dim % 2 for config in plain)
    assert any(tuple(config.env) == ("ASCEND_USE_FIA",) for config in of("paged"))
    assert all(config.page_size == 128 for config in of("packed"))
    assert not any(config.hisparse for config in configs("plain", PLAIN_BASE, False))


@pytest.mark.parametrize("kind", ["plain", "paged"])
def test_every_two_values_meet(kind: str) -> None:
    fields = ("dtype", "head_dim", "page_size", "split", "before")
    pages = {2, 8, 32} if kind == "plain" else set()
    rows = [
        c
        for c in of(kind)
        if c.page_size not in pages and not c.hisparse and not c.brief
    ]
    for first, second in itertools.combinations(fields, 2):
        one = {getattr(c, first) for c in rows}
        two = {getattr(c, second) for c in rows}
        met = {(getattr(c, first), getattr(c, second)) for c in rows}
        assert met == set(itertools.product(one, two)), (first, second)


@pytest.mark.parametrize("kind", ["plain", "paged", "packed"])
def test_every_case_has_a_name_of_its_own(kind: str) -> None:
    names = [config.name for config in of(kind)]
    repeated = {name for name in names if names.count(name) > 1}
    assert not repeated


def test_layer_ids_are_those_of_the_whole_model() -> None:
    layers = Config(before="kvd", split="dk", after="v").layers()
    assert layers == {
        "dense_layer_ids": [2, 3],
        "sparse_layer_ids": [0, 1, 4, 5],
        "disable_value_sparse_layer_ids": [0, 4],
        "start_layer": 3,
        "end_layer": 5,
    }


def test_the_writers_are_asked_once_for_each_layout() -> None:
    assert len(writer_configs("plain", PLAIN_BASE, True)) == 4
    assert not writer_configs("paged", PLAIN_BASE, True)
    assert all(
        c in ("d", "v", "k")
        for w in writer_configs("plain", PLAIN_BASE, True)
        for c in w.split
    )
