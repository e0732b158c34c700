"""What options rule out: classes that a server with them never holds."""

# ruff: noqa: E501  (snippets of other code, one line each)

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from lint_trees import brief, files, find

from kvcodemod.facts.conditions.options import contradict, options_of


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("a.page_size == 1", "b.page_size > 1", True),
        ("a.page_size == 1", "b.page_size != 1", True),
        ("a.page_size == 1", "b.page_size >= 1", False),
        ("a.page_size < 2", "b.page_size > 1", True),
        ("a.page_size < 3", "b.page_size > 1", False),
        ("a.is_on", "not b.is_on", True),
        ("a.is_on", "b.other_on", False),
        ("a.is_on or a.more", "not b.is_on", False),
        ("a.is_on and a.more", "not b.is_on", True),
        ("a.my_rank is None", "b.my_rank", True),
        ("a.my_rank is None", "b.my_rank is not None", True),
        ("a.my_rank is not None", "b.my_rank == 2", False),
        ("a.the_kind == 'x'", "b.the_kind == 'y'", True),
        ("a.the_kind == 'x'", "b.the_kind != 'y'", False),
        ("a.ndim == 1", "b.ndim == 2", False),
        ("a.ndim == 1", "a.ndim == 2", True),
        ("a.is_it()", "not b.is_it()", True),
        ("a.is_it(1)", "not b.is_it(1)", False),
        ("True == x", "x == False", False),
    ],
)
def test_contradictions(one: str, other: str, result: bool) -> None:
    first, second = (
        options_of(ast.parse(t, mode="eval").body)[0] for t in (one, other)
    )
    assert contradict(first, second) is result
    assert contradict(second, first) is result


ALLOCATORS = """
    class BaseTokenToKVPoolAllocator:
        def __init__(self, size, page_size):
            self.page_size = page_size
        def take_pages(self, n): raise NotImplementedError
    class One(BaseTokenToKVPoolAllocator):
        def __init__(self, size):
            super().__init__(size, 1)
    class Many(BaseTokenToKVPoolAllocator):
        def take_pages(self, n): return n
"""
BUILD = """
    from .mem_cache.allocators import Many, One
    def build(config):
        return One(8) if config.page_size == 1 else Many(8, config.page_size)
"""


def _tree(
    worker: str, allocators: str = ALLOCATORS, build: str = BUILD
) -> dict[str, str]:
    return {
        "srt/mem_cache/pools.py": "class KVCache: pass\n",
        "srt/mem_cache/allocators.py": allocators,
        "srt/build.py": build,
        "srt/speculative/worker.py": worker,
    }


def test_a_class_that_the_option_rules_out(tmp_path: Path) -> None:
    asks = """
        def go(batch):
            allocator = batch.token_to_kv_pool_allocator
            if batch.page_size == 1:
                return
            allocator.take_pages(2)
        """
    assert not find(tmp_path / "a", _tree(asks))
    blind = "def go(token_to_kv_pool_allocator):\n    token_to_kv_pool_allocator.take_pages(2)\n"
    found = find(tmp_path / "b", _tree(blind))
    assert brief(found) == [
        ("KVC001", "error", "BaseTokenToKVPoolAllocator.take_pages")
    ]
    assert found[0].affected[0].endswith("One")


def test_the_option_may_stand_further_up(tmp_path: Path) -> None:
    worker = """
        def go(batch):
            if batch.page_size > 1:
                take(batch.token_to_kv_pool_allocator)
        def take(thing):
            thing.take_pages(2)
        """
    assert not find(tmp_path, _tree(worker))


def test_a_call_for_classes_that_an_option_brings(tmp_path: Path) -> None:
    """All that have the method are built under one option: the caller runs with it."""
    pools = """
        class KVCache: pass
        class Plain(KVCache): pass
        class Sparse(KVCache):
            def to_device(self, n): return n
        """
    build = """
        from .pools import Plain, Sparse
        def build(config):
            if config.enable_sparse: return Sparse()
            return Plain()
        """
    worker = "def go(token_to_kv_pool):\n    token_to_kv_pool.to_device(1)\n"
    assert not find(tmp_path / "a", files(pools=pools, build=build, worker=worker))
    either = build.replace("return Plain()", "return Sparse() if config.x else Plain()")
    found = find(tmp_path / "b", files(pools=pools, build=either, worker=worker))
    assert brief(found) == [("KVC002", "error", "Plain.to_device")]


def test_the_draft_model_never_has_a_target_only_pool(tmp_path: Path) -> None:
    build = """
        from .pools import Odd, Plain
        class Builder:
            def build(self):
                if self.odd and not self.is_draft_worker: return Odd()
                return Plain()
        """
    draft = "class W:\n    def go(self, r):\n        self.draft_runner.token_to_kv_pool.move_kv_cache(r, r)\n"
    target = draft.replace("draft_runner", "target_runner")
    assert not find(tmp_path / "a", files(build=build, worker=draft))
    assert find(tmp_path / "b", files(build=build, worker=target))
    passed = """
        class W:
            def go(self, r): move(self.draft_runner.token_to_kv_pool, r)
        def move(thing, r): thing.move_kv_cache(r, r)
        """
    assert not find(tmp_path / "c", files(build=build, worker=passed))


def test_what_ordinary_decoding_does_too_is_no_finding(tmp_path: Path) -> None:
    allocators = ALLOCATORS.replace("return n", "raise NotImplementedError")
    worker = """
        from sglang.srt.mem_cache.common import take
        def go(batch): take(batch, True)
        """
    tree = _tree(worker, allocators)
    tree["srt/mem_cache/common.py"] = """
        def take(batch, keep=False):
            batch.token_to_kv_pool_allocator.take_pages(1)
        def ordinary(batch):
            take(batch)
        """
    assert not find(tmp_path / "a", tree)
    tree["srt/mem_cache/common.py"] = """
        def take(batch, keep_state=False):
            if keep_state:
                batch.token_to_kv_pool_allocator.take_pages(1)
        def ordinary(batch):
            take(batch)
        """
    assert find(tmp_path / "b", tree)


def test_what_a_wrapper_holds_under_another_option(tmp_path: Path) -> None:
    allocators = (
        ALLOCATORS
        + """
    class Split(BaseTokenToKVPoolAllocator):
        def __init__(self, page_size):
            self.page_size = page_size
            if page_size == 1:
                self.inner = Single()
            else:
                self.inner = Many(8, page_size)
        def take_pages(self, n):
            {check}
            return self.inner.take_pages(n)
    class Single(BaseTokenToKVPoolAllocator): pass
    """
    )
    build = "from .mem_cache.allocators import Split\ndef build(c): return Split(c.page_size)\n"
    worker = "def go(token_to_kv_pool_allocator):\n    token_to_kv_pool_allocator.take_pages(2)\n"
    one = allocators.index("    class One(")
    allocators = allocators[:one] + allocators[allocators.index("    class Many(") :]
    checked = allocators.replace("{check}", "assert self.page_size > 1")
    assert not find(tmp_path / "a", _tree(worker, checked, build))
    blind = allocators.replace("{check}", "pass")
    (found,) = find(tmp_path / "b", _tree(worker, blind, build))
    assert found.affected[0].endswith("Single")


def test_the_class_that_a_field_holds_under_another_option(tmp_path: Path) -> None:
    """Narrow is built elsewhere too, so the option alone does not rule it out."""
    pools = """
        class KVCache: pass
        class Wide(KVCache):
            def store(self, k, v, scale=None): self.k = k
        class Narrow(KVCache):
            def store(self, k, v): self.k = k
        class Outer(KVCache):
            def __init__(self, is_narrow):
                self.is_narrow = is_narrow
                if is_narrow: self.part = Narrow()
                else: self.part = Wide()
            def store(self, k, v):
                if CHECK: self.part.store(k, v, 1.0)
        """
    build = """
        from .pools import Narrow, Outer, Wide
        def build(n, is_narrow): return {0: Wide, 1: Narrow}[n]() or Outer(is_narrow)
        """
    worker = "def go(token_to_kv_pool, r): token_to_kv_pool.store(r, r)\n"
    for check, some in (("not self.is_narrow", False), ("self.ready", True)):
        tree = files(pools=pools.replace("CHECK", check), build=build, worker=worker)
        assert bool(find(tmp_path / str(some), tree)) is some


PAGED = """
    from .pools import Odd, Plain
    class Builder:
        def build(self):
            paged_out = self._paged()
            return Odd() if paged_out else Plain()
        def _paged(self):
            paged_out = config.enable_paging
            if self.is_draft_worker and config.enable_sharing:
                paged_out = False
            return paged_out
"""


PAGED_HERE = """
    from .pools import Odd, Plain
    class Builder:
        def build(self):
            paged_out = config.enable_paging
            if self.is_draft_worker and config.enable_sharing:
                paged_out = False
            return Odd() if paged_out else Plain()
"""


@pytest.mark.parametrize("build", [PAGED, PAGED_HERE])
@pytest.mark.parametrize(
    ("check", "possible"),
    [
        ("assert cfg.enable_sharing", False),
        ("if not cfg.enable_sharing: raise ValueError", False),
        ("assert cfg.enable_other", True),
        ("pass", True),
    ],
)
def test_what_start_up_makes_of_options(
    check: str, possible: bool, build: str, tmp_path: Path
) -> None:
    """With paging there is sharing, and with sharing the draft's pool is not paged."""
    worker = "class W:\n    def go(self, r):\n        self.draft_runner.token_to_kv_pool.move_kv_cache(r, r)\n"
    tree = files(build=build, worker=worker)
    tree["srt/arg_groups/hook.py"] = (
        f"def check(cfg):\n    if not cfg.enable_paging:\n        return\n    {check}\n"
    )
    assert bool(find(tmp_path, tree)) is possible


@pytest.mark.parametrize(
    "other", ["paged_out = config.enable_more", "if config.more: paged_out = True"]
)
def test_a_local_that_is_true_for_another_reason(other: str, tmp_path: Path) -> None:
    worker = "class W:\n    def go(self, r):\n        self.draft_runner.token_to_kv_pool.move_kv_cache(r, r)\n"
    line = "            return Odd()"
    build = PAGED_HERE.replace(line, f"            {other}\n{line}")
    tree = files(build=build, worker=worker)
    tree["srt/arg_groups/hook.py"] = (
        "def check(cfg):\n    if not cfg.enable_paging:\n        return\n    assert cfg.enable_sharing\n"
    )
    assert find(tmp_path, tree)
