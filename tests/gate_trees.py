"""A small SGLang-shaped tree with findings, and `kvcodemod lint` on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner
from trees import write_tree

from kvcodemod.cli import main

POOLS = "sglang/srt/mem_cache/pools.py"
RAISES = "    def move_kv_cache(self, tgt_loc, src_loc):"
"""The line of a finding in `POOLS`; it stands there twice, in two classes."""

_POOLS = '''\
import abc


class KVCache(abc.ABC):
    @abc.abstractmethod
    def get_key_buffer(self, layer_id): ...


class PlainPool(KVCache):
    def get_key_buffer(self, layer_id):
        return self.keys[layer_id]

    def move_kv_cache(self, tgt_loc, src_loc, more=None):
        self.keys[tgt_loc] = self.keys[src_loc]


class SplitPool(PlainPool):
    def move_kv_cache(self, tgt_loc, src_loc):
        raise NotImplementedError("the parts cannot move")


class ForkPool(PlainPool):
    def move_kv_cache(self, tgt_loc, src_loc):
        raise NotImplementedError("""neither, # kvcodemod: ignore[KVC001] -- no""")
'''
_BUILD = """\
from sglang.srt.mem_cache.pools import ForkPool, PlainPool, SplitPool


def build_pool(config):
    if config.fork:
        return ForkPool()
    return SplitPool() if config.split else PlainPool()
"""
_WORKER = """\
class VerifyWorker:
    def forward_batch(self, batch, accepted):
        keep_accepted(batch.token_to_kv_pool_allocator, accepted)


def keep_accepted(token_to_kv_pool_allocator, accepted):
    token_to_kv_pool_allocator.get_kvcache().move_kv_cache(accepted.to, accepted.at)
"""
FILES = {
    "srt/mem_cache/pools.py": _POOLS,
    "srt/mem_cache/build.py": _BUILD,
    "srt/speculative/verify_worker.py": _WORKER,
}


@dataclass(frozen=True)
class Ran:
    """What one run of the command came to."""

    code: int
    out: str
    err: str


def run(*arguments: str | Path, env: dict[str, str] | None = None) -> Ran:
    """The command in this process; no error may end in a traceback."""
    done = CliRunner().invoke(main, [str(a) for a in arguments], env=env)
    assert done.exception is None or isinstance(done.exception, SystemExit), (
        done.exception
    )
    return Ran(done.exit_code, done.stdout, done.stderr)


def lint(*arguments: str | Path, env: dict[str, str] | None = None) -> Ran:
    return run("lint", *arguments, "--no-cache", env=env)


def small(folder: Path) -> Path:
    """The tree; returns the folder that holds `sglang/`."""
    return write_tree(folder, FILES)


def edit(folder: Path, old: str, new: str, count: int = 1, path: str = POOLS) -> None:
    """Change a file of the tree; the old text must be there."""
    file = folder / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, count))


def concise(folder: Path, *arguments: str | Path) -> list[str]:
    """The findings as `RULE line`, in order."""
    done = lint(folder, "--output-format", "json", *arguments)
    return [f"{f['rule']} {f['line']}" for f in json.loads(done.out)["findings"]]
