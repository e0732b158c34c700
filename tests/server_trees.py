"""Small trees with options, start-up, algorithms and workers, to search for servers in.

Each is one tree with holes: what start-up does, how a class is built, what the workers
do. A hole that is not filled is as harmless as it can be.
"""

from __future__ import annotations

from textwrap import dedent, indent

_ARGS = """\
import dataclasses
from typing import Literal, Optional

{imports}

@dataclasses.dataclass
class ServerArgs:
    model_path: str
    device: Optional[str] = None
    speculative_algorithm: Optional[str] = None
    speculative_eagle_topk: int = 1
    page_size: int = 1
    pp_size: int = 1
    enable_split: bool = False
    enable_other: bool = False
    kv_layout: Literal["plain", "split", "wide"] = "plain"

    def __post_init__(self):
{resolve}

    def check_server_args(self):
{check}

{methods}
"""
_ALGORITHMS = """\
from enum import Enum, auto

class SpeculativeAlgorithm(Enum):
    EAGLE = auto()
    NGRAM = auto()
    NONE = auto()

    def is_eagle(self):
        return self == SpeculativeAlgorithm.EAGLE

    def create_worker(self, server_args):
        if self == SpeculativeAlgorithm.EAGLE:
            from sglang.srt.speculative.eagle_worker import EagleWorker

            return EagleWorker
        if self == SpeculativeAlgorithm.NGRAM:
            from sglang.srt.speculative.ngram_worker import NgramWorker

            return NgramWorker
        raise ValueError("no algorithm, no worker")
"""
_EAGLE = """\
from sglang.srt.speculative.moves import keep_accepted

class EagleWorker:
    def __init__(self, server_args, token_to_kv_pool_allocator):
        self.server_args = server_args
        self.topk = server_args.speculative_eagle_topk
        self.token_to_kv_pool_allocator = token_to_kv_pool_allocator

    def forward_batch(self, batch, accepted):
{eagle}
"""
_NGRAM = """\
from sglang.srt.speculative.moves import keep_accepted

class NgramWorker:
    def __init__(self, server_args, token_to_kv_pool_allocator):
        self.server_args = server_args
        self.token_to_kv_pool_allocator = token_to_kv_pool_allocator

    def forward_batch(self, batch, accepted):
{ngram}
"""
_MOVES = """\
def keep_accepted(token_to_kv_pool_allocator, accepted):
    token_to_kv_pool_allocator.get_kvcache().move_kv_cache(accepted.to, accepted.at)
"""
_POOLS = """\
import abc
{pool_imports}

class KVCache(abc.ABC):
    @abc.abstractmethod
    def get_key_buffer(self, layer_id): ...

class PlainPool(KVCache):
    def get_key_buffer(self, layer_id):
        return self.keys[layer_id]

    def move_kv_cache(self, tgt_loc, src_loc):
        self.keys[tgt_loc] = self.keys[src_loc]

class SplitPool(KVCache):
    def get_key_buffer(self, layer_id):
        return self.parts[layer_id]

    def move_kv_cache(self, tgt_loc, src_loc):
{move}
"""
_BUILD = """\
from sglang.srt.mem_cache.pools import PlainPool, SplitPool
{build_imports}

class PoolBuilder:
    def __init__(self, server_args, model_config):
        self.server_args = server_args
        self.model_config = model_config

    def build_pool(self):
{build}
"""

_PLAIN = {
    "imports": "",
    "resolve": "pass",
    "check": "pass",
    "methods": "",
    "eagle": "keep_accepted(self.token_to_kv_pool_allocator, accepted)",
    "ngram": "return None",
    "pool_imports": "",
    "move": "raise NotImplementedError('the parts cannot move')",
    "build_imports": "",
    "build": "return SplitPool() if self.server_args.enable_split else PlainPool()",
}
_DEPTH = {
    "methods": 4,
    "resolve": 8,
    "check": 8,
    "eagle": 8,
    "ngram": 8,
    "move": 8,
    "build": 8,
}


def server_tree(**holes: str) -> dict[str, str]:
    """File below `sglang/` -> text; `holes` says what differs from the plain tree."""
    filled = {**_PLAIN, **{name: dedent(text) for name, text in holes.items()}}
    said = {
        name: indent(text, " " * _DEPTH.get(name, 0)) for name, text in filled.items()
    }
    files = {
        "srt/server_args.py": _ARGS,
        "srt/speculative/spec_info.py": _ALGORITHMS,
        "srt/speculative/eagle_worker.py": _EAGLE,
        "srt/speculative/ngram_worker.py": _NGRAM,
        "srt/speculative/moves.py": _MOVES,
        "srt/mem_cache/pools.py": _POOLS,
        "srt/mem_cache/build.py": _BUILD,
    }
    for path, text in files.items():
        for name, value in said.items():
            text = text.replace(f"{{{name}}}", value)
        files[path] = text
    return files
