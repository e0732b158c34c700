"""Random start-ups, builders and workers: lint agrees with the trial of all servers."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from lint_trees import find
from server_trees import server_tree
from trees import tree_of

from kvcodemod.config import DEFAULT_NAMES
from kvcodemod.facts.configurations.settings import Settings
from kvcodemod.facts.configurations.startup import Follower
from kvcodemod.facts.configurations.values import const
from kvcodemod.facts.configurations.world import World
from kvcodemod.facts.syntax.modules import Modules

SEEDS = range(150)
_DOMAINS = {
    "speculative_algorithm": ("EAGLE", "NGRAM"),
    "enable_split": (False, True),
    "enable_other": (False, True),
    "kv_layout": ("plain", "split", "wide"),
    "speculative_eagle_topk": (1, 2),
}
SERVERS = [
    dict(zip(_DOMAINS, values, strict=True))
    for values in itertools.product(*_DOMAINS.values())
]
"""Every server there is: numbers above one are all the same to these trees."""


@dataclass(frozen=True)
class Case:
    """A tree, and its parts as Python that can be run: conditions on `args`."""

    files: dict[str, str]
    built: str
    called: str


def _condition(rng: random.Random, start_up: bool = True, depth: int = 0) -> str:
    if depth < 2 and rng.random() < 0.5:
        parts = [_condition(rng, start_up, depth + 1) for _ in range(2)]
        return f"({rng.choice((' and ', ' or ')).join(parts)})"
    if depth < 3 and rng.random() < 0.2:
        return f"not {_condition(rng, start_up, 3)}"
    simple = [
        "{self}.enable_split",
        "{self}.enable_other",
        "{self}.kv_layout == 'split'",
        "{self}.kv_layout != 'plain'",
        "{self}.kv_layout in ('plain', 'wide')",
        "{self}.kv_layout not in ('split',)",
    ]
    if start_up:
        simple += [
            "{self}.speculative_eagle_topk > 1",
            "{self}.speculative_eagle_topk <= 1",
            "{self}.speculative_algorithm == 'EAGLE'",
            "{self}.speculative_algorithm not in (None, 'EAGLE')",
        ]
    return rng.choice(simple)


def _statement(rng: random.Random) -> str:
    test = _condition(rng).format(self="self")
    done = rng.choice(
        (
            "raise ValueError('refused')",
            "assert not self.enable_other",
            "self.enable_split = False",
            "self.kv_layout = 'wide'",
            "self.speculative_eagle_topk = 1",
            "return",
        )
    )
    if done == "return" or rng.random() < 0.7:
        return f"if {test}:\n    {done}"
    return f"assert not ({test})"


def case_of(seed: int) -> Case:
    rng = random.Random(seed)
    built = _condition(rng, start_up=False)
    called = rng.choice(("True", "{self}.speculative_eagle_topk > 1"))
    count = rng.randint(1, 4)
    files = server_tree(
        resolve="\n".join(_statement(rng) for _ in range(count)),
        check=_statement(rng),
        build=f"if {built.format(self='self.server_args')}:\n"
        "    return SplitPool()\nreturn PlainPool()",
        eagle=f"if {called.format(self='self.server_args')}:\n"
        "    keep_accepted(self.token_to_kv_pool_allocator, accepted)",
    )
    return Case(files, built, called)


def _accepted(files: dict[str, str], server: dict[str, object]) -> object | None:
    """The options after start-up, which is run; None where it refuses."""
    made: dict[str, type] = {}
    exec(files["srt/server_args.py"], made)
    try:
        args = made["ServerArgs"](model_path="m", **server)
        args.check_server_args()
    except (ValueError, AssertionError):
        return None
    return args


def _reaches(case: Case, server: dict[str, object]) -> bool:
    args = _accepted(case.files, server)
    if args is None or server["speculative_algorithm"] != "EAGLE":
        return False
    names = {"args": args}
    return all(
        bool(eval(t.format(self="args"), names)) for t in (case.built, case.called)
    )


def test_the_cases_have_both_answers() -> None:
    answers = [
        any(_reaches(case, server) for server in SERVERS)
        for case in map(case_of, SEEDS)
    ]
    assert 20 < sum(answers) < len(SEEDS) - 20


@pytest.mark.parametrize("seed", SEEDS)
def test_a_finding_stands_where_some_server_gets_there(
    tmp_path: Path, seed: int
) -> None:
    case = case_of(seed)
    reaching = [server for server in SERVERS if _reaches(case, server)]
    found = [
        f
        for f in find(tmp_path, case.files, "KVC001")
        if f.symbol == "SplitPool.move_kv_cache"
    ]
    assert len(found) == bool(reaching)
    if found and found[0].severity == "error":
        assert _said(found[0].configuration) in reaching


def test_nearly_every_finding_names_its_server(tmp_path: Path) -> None:
    found = [
        finding.severity
        for seed in SEEDS[:60]
        for finding in find(tmp_path / str(seed), case_of(seed).files, "KVC001")
    ]
    assert found.count("error") >= 0.9 * len(found) > 20


def _said(configuration: object) -> dict[str, object]:
    """A witness as a server: its options, and the defaults of all others."""
    said = dict(getattr(configuration, "options", ()))
    return {
        "speculative_algorithm": said["--speculative-algorithm"],
        "enable_split": "--enable-split" in said,
        "enable_other": "--enable-other" in said,
        "kv_layout": said.get("--kv-layout", "plain"),
        "speculative_eagle_topk": int(said.get("--speculative-eagle-topk", "1")),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_start_up_is_followed_to_where_it_comes_out(tmp_path: Path, seed: int) -> None:
    case = case_of(seed)
    modules = Modules(tree_of(tmp_path, case.files))
    settings = Settings(modules, DEFAULT_NAMES)
    for server in SERVERS:
        chosen = tuple((name, const(value)) for name, value in server.items())
        world = World(chosen=chosen, free=False)
        started = Follower(modules, settings, DEFAULT_NAMES, world).start()
        args = _accepted(case.files, server)
        assert started.understood
        assert (started.refused is None) == (args is not None)
        if args is not None:
            after = {**server, **{n: v.only for n, v in started.options}}
            assert {
                name: getattr(value, "value", value)
                for name, value in after.items()
                if name in server
            } == {name: getattr(args, name) for name in server}
