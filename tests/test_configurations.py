"""Servers as evidence: each kind of fact in both directions, on small trees.

With the fact no server gets to the failing method and there is no finding; with the
fact weakened by one step there is an error, and the server that it names is accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from lint_trees import find, run
from server_trees import server_tree

from kvcodemod.findings import Excluded, Finding


@dataclass(frozen=True)
class Pair:
    """The same tree with a fact and with the fact weakened.

    Attributes:
        fact, weak: the holes of the tree that are filled so.
        place: a part of the text of the fact that excludes.
        server: the command line, platform and model with the fact weakened.
    """

    fact: dict[str, str]
    weak: dict[str, str]
    place: str
    server: tuple[str, str, str | None]


def _pair(
    place: str,
    server: str,
    fact: dict[str, str],
    weak: dict[str, str],
    platform: str = "cuda",
    model: str | None = None,
    **both: str,
) -> Pair:
    return Pair({**both, **fact}, {**both, **weak}, place, (server, platform, model))


EAGLE = "--speculative-algorithm EAGLE"
SPLIT = f"{EAGLE} --enable-split"
_REFUSED = "raise ValueError('the parts cannot move')"

PAIRS = {
    "a refusal of the option that builds": _pair(
        "the parts cannot move",
        SPLIT,
        {"resolve": f"if self.enable_split:\n    {_REFUSED}"},
        {"resolve": f"if self.enable_split and self.enable_other:\n    {_REFUSED}"},
    ),
    "a refusal with the algorithm": _pair(
        "the parts cannot move",
        SPLIT,
        {
            "resolve": "if self.enable_split and self.speculative_algorithm:\n"
            f"    {_REFUSED}"
        },
        {
            "resolve": "if self.enable_split and self.speculative_algorithm == 'NGRAM':"
            f"\n    {_REFUSED}"
        },
    ),
    "an assertion": _pair(
        "assert not self.enable_split",
        SPLIT,
        {"resolve": "assert not self.enable_split"},
        {"resolve": "assert not self.enable_split or not self.enable_other"},
    ),
    "an assertion nested in a condition": _pair(
        "assert self.speculative_algorithm is None",
        SPLIT,
        {
            "resolve": "if self.enable_split:\n"
            "    assert self.speculative_algorithm is None"
        },
        {
            "resolve": "if self.enable_split:\n"
            "    assert self.speculative_algorithm in (None, 'EAGLE')"
        },
    ),
    "the end of the program": _pair(
        "exit",
        SPLIT,
        {"resolve": "if self.enable_split:\n    sys.exit(1)"},
        {"resolve": "if self.enable_split:\n    print('slow')"},
        imports="import sys",
    ),
    "a refusal in the second method": _pair(
        "the parts cannot move",
        SPLIT,
        {"check": f"if self.enable_split:\n    {_REFUSED}"},
        {"check": f"if self.enable_split and self.page_size > 1:\n    {_REFUSED}"},
    ),
    "a refusal in a helper": _pair(
        "the parts cannot move",
        SPLIT,
        {
            "methods": "def _refuse(self):\n    if self.enable_split:\n"
            f"        {_REFUSED}"
        },
        {
            "methods": "def _refuse(self):\n    if self.page_size > 1:\n"
            f"        {_REFUSED}"
        },
        resolve="self._refuse()",
    ),
    "a refusal behind a predicate": _pair(
        "the parts cannot move",
        SPLIT,
        {"methods": "def _split(self):\n    return self.enable_split"},
        {
            "methods": "def _split(self):\n"
            "    return self.enable_split and self.pp_size > 1"
        },
        resolve=f"if self._split():\n    {_REFUSED}",
    ),
    "a refusal by a local name": _pair(
        "the parts cannot move",
        SPLIT,
        {"resolve": f"split = self.enable_split\nif split:\n    {_REFUSED}"},
        {"resolve": f"split = self.enable_other\nif split:\n    {_REFUSED}"},
    ),
    "a refusal of a list of names": _pair(
        "the parts cannot move",
        SPLIT,
        {
            "resolve": "bad = ('EAGLE', 'NGRAM')\n"
            "if self.enable_split and self.speculative_algorithm in bad:"
            f"\n    {_REFUSED}"
        },
        {
            "resolve": "bad = ('NGRAM',)\n"
            "if self.enable_split and self.speculative_algorithm in bad:"
            f"\n    {_REFUSED}"
        },
    ),
    "a negated membership": _pair(
        "the parts cannot move",
        SPLIT,
        {
            "resolve": "if self.enable_split and self.speculative_algorithm not in "
            f"('NGRAM', None):\n    {_REFUSED}"
        },
        {
            "resolve": "if self.enable_split and self.speculative_algorithm not in "
            f"('EAGLE', None):\n    {_REFUSED}"
        },
    ),
    "a switch that is turned off": _pair(
        "enable_split",
        SPLIT,
        {"resolve": "self.enable_split = False"},
        {"resolve": "if self.enable_other:\n    self.enable_split = False"},
    ),
    "a switch that is turned off with the algorithm": _pair(
        "enable_split",
        SPLIT,
        {"resolve": "if self.speculative_algorithm:\n    self.enable_split = False"},
        {
            "resolve": "if self.speculative_algorithm == 'NGRAM':\n"
            "    self.enable_split = False"
        },
    ),
    "an algorithm that is turned off": _pair(
        "speculative_algorithm",
        SPLIT,
        {"resolve": "if self.enable_split:\n    self.speculative_algorithm = None"},
        {"resolve": "if self.enable_other:\n    self.speculative_algorithm = None"},
    ),
    "an early return before the refusal": _pair(
        "the parts cannot move",
        SPLIT,
        {"resolve": f"if not self.enable_split:\n    return\n{_REFUSED}"},
        {
            "resolve": "if not self.enable_split or not self.enable_other:\n"
            f"    return\n{_REFUSED}"
        },
    ),
    "a choice instead of a switch": _pair(
        "the parts cannot move",
        f"{EAGLE} --kv-layout split",
        {"resolve": f"if self.kv_layout == 'split':\n    {_REFUSED}"},
        {"resolve": f"if self.kv_layout == 'wide':\n    {_REFUSED}"},
        build="return SplitPool() if self.server_args.kv_layout == 'split' else "
        "PlainPool()",
    ),
    "an option that the call needs": _pair(
        "topk",
        f"{SPLIT} --speculative-eagle-topk 2",
        {
            "eagle": "if self.topk <= 1:\n    return\n"
            "keep_accepted(self.token_to_kv_pool_allocator, accepted)",
            "resolve": "if self.enable_split:\n    self.speculative_eagle_topk = 1",
        },
        {
            "eagle": "if self.topk <= 1:\n    return\n"
            "keep_accepted(self.token_to_kv_pool_allocator, accepted)",
            "resolve": "if self.enable_other:\n    self.speculative_eagle_topk = 1",
        },
    ),
    "an assertion on what the call needs": _pair(
        "assert self.speculative_eagle_topk == 1",
        f"{SPLIT} --speculative-eagle-topk 2",
        {
            "resolve": "if self.enable_split:\n"
            "    assert self.speculative_eagle_topk == 1"
        },
        {
            "resolve": "if self.enable_other:\n"
            "    assert self.speculative_eagle_topk == 1"
        },
        eagle="if self.topk > 1:\n"
        "    keep_accepted(self.token_to_kv_pool_allocator, accepted)",
    ),
    "a number that the call needs": _pair(
        "the parts cannot move",
        f"{SPLIT} --pp-size 2",
        {"resolve": f"if self.enable_split and self.pp_size > 1:\n    {_REFUSED}"},
        {"resolve": f"if self.enable_other and self.pp_size > 1:\n    {_REFUSED}"},
        eagle="if self.server_args.pp_size > 1:\n"
        "    keep_accepted(self.token_to_kv_pool_allocator, accepted)",
    ),
    "a worker that never calls it": _pair(
        "runs leads to",
        "--speculative-algorithm NGRAM --enable-split",
        {"eagle": "return None", "ngram": "return None", "resolve": "pass"},
        {
            "eagle": "return None",
            "ngram": "keep_accepted(self.token_to_kv_pool_allocator, accepted)",
        },
    ),
    "a refusal of the model": _pair(
        "the parts cannot move",
        EAGLE,
        {
            "resolve": "if 'SplitForCausalLM' in self.hf_config().architectures:\n"
            f"    if self.speculative_algorithm:\n        {_REFUSED}"
        },
        {
            "resolve": "if 'PlainForCausalLM' in self.hf_config().architectures:\n"
            f"    if self.speculative_algorithm:\n        {_REFUSED}"
        },
        model="SplitForCausalLM",
        build="if self.model_config.hf_config.architectures[0] == 'SplitForCausalLM':\n"
        "    return SplitPool()\nreturn PlainPool()",
    ),
    "a refusal on the platform": _pair(
        "the parts cannot move",
        EAGLE,
        {"resolve": f"if is_npu() and self.speculative_algorithm:\n    {_REFUSED}"},
        {"resolve": f"if is_hip() and self.speculative_algorithm:\n    {_REFUSED}"},
        platform="npu",
        imports="from sglang.srt.utils import is_hip, is_npu",
        build_imports="from sglang.srt.utils import is_npu",
        build="return SplitPool() if is_npu() else PlainPool()",
    ),
    "a refusal of the device": _pair(
        "the parts cannot move",
        EAGLE,
        {
            "resolve": "if self.speculative_algorithm and self.device not in "
            f"('cuda', 'cpu'):\n    {_REFUSED}"
        },
        {
            "resolve": "if self.speculative_algorithm and self.device not in "
            f"('cuda', 'npu'):\n    {_REFUSED}"
        },
        platform="npu",
        build_imports="from sglang.srt.utils import is_npu",
        build="return SplitPool() if is_npu() else PlainPool()",
    ),
    "a platform on which the method returns early": _pair(
        "",
        EAGLE,
        {"move": "if is_npu():\n    return\nraise NotImplementedError"},
        {"move": "if is_hip():\n    return\nraise NotImplementedError"},
        platform="npu",
        pool_imports="from sglang.srt.utils import is_hip, is_npu",
        build_imports="from sglang.srt.utils import is_npu",
        build="return SplitPool() if is_npu() else PlainPool()",
    ),
}


def _split(findings: tuple[Finding, ...]) -> list[Finding]:
    return [f for f in findings if f.symbol == "SplitPool.move_kv_cache"]


def _excluded(folder: Path, holes: dict[str, str]) -> tuple[Excluded, ...]:
    result = run(folder, server_tree(**holes), "KVC001")
    assert not result.broken
    assert not result.failed
    assert _split(result.findings) == []
    return result.excluded


@pytest.mark.parametrize("name", PAIRS)
def test_with_the_fact_no_server_gets_there(tmp_path: Path, name: str) -> None:
    pair = PAIRS[name]
    if not pair.place:  # nothing is asked about it any more
        assert _split(find(tmp_path, server_tree(**pair.fact), "KVC001")) == []
        return
    excluded = _excluded(tmp_path, pair.fact)
    assert [item.symbol for item in excluded] == ["SplitPool.move_kv_cache"]
    assert any(pair.place in fact.text for fact in excluded[0].facts)


@pytest.mark.parametrize("name", PAIRS)
def test_with_the_fact_weakened_a_server_does(tmp_path: Path, name: str) -> None:
    pair = PAIRS[name]
    found = _split(find(tmp_path, server_tree(**pair.weak), "KVC001"))
    assert [(f.severity, f.affected) for f in found] == [
        ("error", ("sglang.srt.mem_cache.pools.SplitPool",))
    ]
    said = found[0].configuration
    assert said is not None
    assert (said.command_line, said.platform, said.architecture) == pair.server
    assert said.assumes == ()
