"""The cases of one wrapper: as its call sites build it, and over the whole matrix."""

from __future__ import annotations

import dataclasses
import inspect
import random
import re
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from . import worker_build as building
from .worker_compare import Difference, MoveRaised, check_move, fill
from .worker_layouts import LayoutError, Memory, sub_pools, survey
from .worker_matrix import Config, configs, writer_configs
from .worker_patterns import Pattern, patterns
from .worker_writers import check_writers

ENOUGH = 3
"""Patterns that may fail in one case before the rest of it is left out."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One thing to prove: a way to build a wrapper, and every move in it."""

    wrapper: str
    name: str
    body: Callable[[], dict[str, Any]]

    def run(self) -> dict[str, Any]:
        """The case's event; an exception of the target is a failure of the case."""
        return {"wrapper": self.wrapper, "name": self.name, **self.body()}


def plan(
    wrapper: dict[str, Any], cls: Any, device: str, request: dict[str, Any]
) -> list[Case]:
    """All cases of one wrapper class."""
    foreign = building.unknown_parameters(cls)
    if foreign:
        reason = f"the proof knows no value for its parameters: {', '.join(foreign)}"
        text = f"{wrapper['place']}: {reason}"
        different = Difference(f"{cls.__name__}.__init__", "", reason, text)
        result = _result([("", different)], "unchecked")
        return [Case(cls.__name__, "can be built", partial(dict, result))]
    kind, base = building.kind_of(cls, device)
    if kind == "paged":
        device = "cpu"  # NPU pools: there is no NPU here, and no GPU has their layout.
    prover = Prover(cls, device, request)
    hisparse = kind == "plain" and building.accepts(cls, building.HISPARSE_FLAG)
    cases = [
        Case(cls.__name__, name, partial(prover.as_called, call, b))
        for call in wrapper["calls"]
        for name, b in _as_called(call, base, hisparse)
    ]
    if building.accepts(cls, building.COPY_FLAG):
        for flag in (False, None):
            text = "without" if flag is None else "with a false"
            cases.append(
                Case(
                    cls.__name__,
                    f"builds {text} {building.COPY_FLAG}",
                    partial(prover.builds_with, base, flag),
                )
            )
    cases += [
        Case(
            cls.__name__, f"writes: {c.name}", partial(prover.writes_where_expected, c)
        )
        for c in writer_configs(kind, base, hisparse)
    ]
    cases += [
        Case(cls.__name__, config.name, partial(prover.moves_in, config))
        for config in configs(kind, base, hisparse)
    ]
    return cases


def _as_called(
    call: dict[str, Any], base: Config, hisparse: bool
) -> Iterator[tuple[str, Config]]:
    yield f"as built at {call['place']}", base
    if hisparse and building.HISPARSE_FLAG in call["keywords"]:
        config = Config(page_size=16, hisparse=True)
        yield f"as built at {call['place']}, HiSparse", config


class Prover:
    """Builds one class over and over and judges its moves."""

    def __init__(self, cls: Any, device: str, request: dict[str, Any]) -> None:
        """Keep what all cases of the class share."""
        self.cls = cls
        self.device = device
        self.seed: int = request["seed"]
        self.long_permutations: bool = request["long_permutations"]
        self.whole = f"{cls.__name__}.move_kv_cache"

    def moves_in(self, config: Config) -> dict[str, Any]:
        """Build by the configuration and prove every pattern."""
        try:
            wrapper = building.build(self.cls, config, self.device)
        except Exception as error:
            return _result([("", self._not_built(error))])
        return self._judge(wrapper, config)

    def writes_where_expected(self, config: Config) -> dict[str, Any]:
        """Whether the tree's own writers agree with where the proof looks for rows."""
        try:
            wrapper = building.build(self.cls, config, self.device)
        except Exception as error:
            return _result([("", self._not_built(error))])
        try:
            memory = self._survey(wrapper, config)
        except LayoutError as error:
            return _unlocated(error)
        with building.environment(config.env):
            found, why = check_writers(wrapper, memory, config, self.seed)
        if found:
            return _result([("", difference) for difference in found], "unchecked")
        result = _result([])
        if why:
            name = f"{self.cls.__name__}, {config.name}"
            result["note"] = (
                f"rows not checked against the tree's writers: {name}: {why}"
            )
        return result

    def builds_with(self, config: Config, flag: bool | None) -> dict[str, Any]:
        """Servers without speculative decoding must start as before."""
        try:
            building.build(self.cls, config, self.device, copy_flag=flag)
        except Exception as error:
            return _result([("", self._not_built(error))])
        return _result([])

    def as_called(self, call: dict[str, Any], config: Config) -> dict[str, Any]:
        """Build with just the arguments of one call site, then prove the patterns."""
        names = building.positional_names(self.cls)[: call["positional"]]
        known = building.arguments(config, self.device)
        values: dict[str, Any] = {}
        for name in (*names, *call["keywords"]):
            value = known.get(name, inspect.Parameter.empty)
            if value is inspect.Parameter.empty:
                value = building.default_of(self.cls, name)
            if value is inspect.Parameter.empty:
                value = False if name.startswith(("enable_", "use_", "is_")) else None
            values[name] = value
        try:
            with building.environment(config.env):
                wrapper = self.cls(**values)
        except Exception as error:
            failure = self._not_built(error)
            text = f"built as at {call['place']}: {failure.detail}"
            return _result([("", dataclasses.replace(failure, detail=text))])
        return self._judge(wrapper, config)

    def _not_built(self, error: Exception) -> Difference:
        """A constructor that raised, naming the sub-pool class when that refused."""
        place = f"{self.cls.__name__}.__init__"
        inner = re.match(r"(\w+)\.__init__\(\)", str(error))
        if inner and inner[1] != self.cls.__name__:
            place = f"{place} > {inner[1]}.__init__"
        return _raised(error, place)

    def _judge(self, wrapper: Any, config: Config) -> dict[str, Any]:
        try:
            memory = self._survey(wrapper, config)
        except LayoutError as error:
            return _unlocated(error)
        failures: list[tuple[str, Difference]] = []
        moves = 0
        originals = fill(memory, self.seed)
        with building.environment(config.env):
            for pattern in self._patterns(memory, config):
                found, returned = self._move(wrapper, memory, originals, pattern)
                moves += returned
                failures += [(pattern.name, difference) for difference in found]
                enough = len({name for name, _ in failures}) >= ENOUGH
                hopeless = pattern.first or (found and found[0].place == self.whole)
                if enough or (found and hopeless):
                    break
        return _result(failures, moves=moves, pools=_pools(wrapper, memory))

    def _survey(self, wrapper: Any, config: Config) -> Memory:
        memory = survey(wrapper)
        if config.hisparse:
            memory = building.register_mapping(wrapper, memory, self.seed)
        return memory

    def _patterns(self, memory: Memory, config: Config) -> list[Pattern]:
        mapping = next((v.mapping for v in memory.views if v.mapping is not None), None)
        rows = min(view.slots for view in memory.views)
        if mapping is None:
            usable = list(range(1, rows))
            absent: tuple[int, ...] = ()
        else:
            table = mapping.tolist()
            usable = [slot for slot in range(1, len(table)) if table[slot]]
            absent = tuple(s for s in range(1, len(table)) if not table[s])
        found = patterns(
            usable,
            usable[-1],
            random.Random(self.seed),
            rows=rows,
            absent=absent,
            long_permutations=self.long_permutations,
            brief=config.brief,
        )
        return found if config.half is None else found[config.half :: 2]

    def _move(
        self, wrapper: Any, memory: Memory, originals: Any, pattern: Pattern
    ) -> tuple[list[Difference], bool]:
        """What one move did wrong, and whether it returned at all."""
        dtype = torch.int64 if pattern.bits == 64 else torch.int32
        target = torch.tensor(pattern.target, dtype=dtype, device=self.device)
        source = torch.tensor(pattern.source, dtype=dtype, device=self.device)
        try:
            move = wrapper.move_kv_cache
            return check_move(memory, originals, target, source, move), True
        except MoveRaised as error:
            failure = _raised(error.cause, self.whole)
            pool = _guilty(error.cause, wrapper)
            if pool:
                place = f"{self.cls.__name__}.{pool}"
                failure = dataclasses.replace(failure, place=place, pool=pool)
            return [failure], False


def _pools(wrapper: Any, memory: Memory) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "cls": type(pool).__name__,
            "buffers": sum(view.pool == name for view in memory.views),
        }
        for name, pool in sub_pools(wrapper).items()
    ]


def _unlocated(error: LayoutError) -> dict[str, Any]:
    place, _, detail = str(error).partition(": ")
    different = Difference(place, "", "its rows cannot be located", detail)
    return _result([("", different)], "unchecked")


def _guilty(error: BaseException, wrapper: Any) -> str:
    """The sub-pool in whose method an exception was raised."""
    pools = sub_pools(wrapper)
    names = ""
    frame = error.__traceback__
    while frame is not None:
        owner = frame.tb_frame.f_locals.get("self")
        names = next((n for n, p in pools.items() if p is owner and n), names)
        frame = frame.tb_next
    return names


def _raised(error: BaseException, place: str) -> Difference:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    text = f"{type(error).__name__}: {error}"
    return Difference(place, "", text, f"{text} ({where})")


def _result(
    failures: list[tuple[str, Difference]],
    status: str | None = None,
    *,
    moves: int = 0,
    pools: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    return {
        "status": status or ("failed" if failures else "passed"),
        "moves": moves,
        "pools": pools or [],
        "failures": [
            {"pattern": name, **dataclasses.asdict(difference)}
            for name, difference in failures
        ],
    }
