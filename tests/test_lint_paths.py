"""How a path is followed: receivers, wrappers, helpers, overrides, the chain itself."""

# ruff: noqa: E501  (snippets of other code, one line each)

from __future__ import annotations

from pathlib import Path

import pytest
from lint_trees import POOLS, brief, files, find

ODD = [("KVC001", "error", "Odd.move_kv_cache")]


@pytest.mark.parametrize(
    "body",
    [
        "def go(batch, r):\n    batch.token_to_kv_pool_allocator.get_kvcache().move_kv_cache(r, r)",
        "def go(token_to_kv_pool, r):\n    token_to_kv_pool.move_kv_cache(r, r)",
        "def go(runner, r):\n    runner.token_to_kv_pool.move_kv_cache(r, r)",
        "def go(runner, r):\n    pool = runner.token_to_kv_pool\n    pool.move_kv_cache(r, r)",
        "def go(allocator, r):\n    allocator._kvcache.move_kv_cache(r, r)",
        (
            "from sglang.srt.mem_cache.pools import KVCache\n"
            "def go(x: KVCache, r):\n    x.move_kv_cache(r, r)"
        ),
        (
            "from typing import TYPE_CHECKING, Optional\n"
            "if TYPE_CHECKING:\n    from sglang.srt.mem_cache.pools import KVCache as Base\n"
            "def go(x: 'Optional[Base]', r):\n    x.move_kv_cache(r, r)"
        ),
        "def go(token_to_kv_pool, r):\n    m = token_to_kv_pool.move_kv_cache\n    m(r, r)",
        (
            "def low(thing, r):\n    thing.move_kv_cache(r, r)\n"
            "def go(token_to_kv_pool, r):\n    low(token_to_kv_pool, r)"
        ),
        (
            "class W:\n    def __init__(self, token_to_kv_pool):\n"
            "        self.store = token_to_kv_pool\n"
            "    def go(self, r):\n        self.store.move_kv_cache(r, r)"
        ),
        (
            "class W:\n    def go(self, r):\n        self.pool().move_kv_cache(r, r)\n"
            "    def pool(self):\n        return self.runner.token_to_kv_pool"
        ),
        (
            "def go(token_to_kv_pool, r):\n    def inner():\n"
            "        token_to_kv_pool.move_kv_cache(r, r)\n    inner()"
        ),
    ],
)
def test_receivers(body: str, tmp_path: Path) -> None:
    assert brief(find(tmp_path, files(worker=body))) == ODD


@pytest.mark.parametrize(
    "body",
    [
        "def go(thing, r):\n    thing.move_kv_cache(r, r)",
        "def go(token_to_kv_pool, r):\n    token_to_kv_pool.get_key_buffer(0)",
        (
            "from sglang.srt.mem_cache.pools import Plain\n"
            "def go(x: Plain, r):\n    x.move_kv_cache(r, r)"
        ),
    ],
)
def test_calls_that_say_nothing(body: str, tmp_path: Path) -> None:
    assert not find(tmp_path, files(worker=body))


def test_a_path_starts_in_the_entry_folder_only(tmp_path: Path) -> None:
    tree = files(worker="def go(): pass")
    tree["srt/managers/other.py"] = (
        "def go(token_to_kv_pool, r):\n    token_to_kv_pool.move_kv_cache(r, r)\n"
    )
    assert not find(tmp_path, tree)


GLUE = """
    from sglang.srt.speculative.commit import commit_rows
    class PipelineMixin:
        def _commit_relayed(self, outputs):
            rows = outputs["spec_rows"]
            self._commit(rows)
        def _commit(self, rows):
            "For spec_algorithm only."
            commit_rows(self.token_to_kv_pool_allocator, rows)
        def _plain(self, rows):
            self.token_to_kv_pool_allocator.get_kvcache().move_kv_cache(rows, rows)
"""


def test_a_path_starts_in_glue_that_speaks_of_it(tmp_path: Path) -> None:
    tree = files(worker="x = 1\n")
    tree["srt/speculative/commit.py"] = (
        "def commit_rows(allocator, r):\n    allocator.get_kvcache().move_kv_cache(r, r)\n"
    )
    tree["srt/managers/scheduler_pp_mixin.py"] = GLUE
    (found,) = find(tmp_path, tree)
    assert [
        (step.path.rpartition("/")[2], step.symbol) for step in found.trace[:3]
    ] == [
        ("scheduler_pp_mixin.py", "PipelineMixin._commit_relayed"),
        ("scheduler_pp_mixin.py", "PipelineMixin._commit_relayed"),
        ("scheduler_pp_mixin.py", "PipelineMixin._commit"),
    ]


def test_no_path_starts_in_glue_that_does_not(tmp_path: Path) -> None:
    tree = files(worker="x = 1\n")
    tree["srt/managers/scheduler_pp_mixin.py"] = GLUE
    assert not find(tmp_path, tree)


def test_through_a_helper_and_back(tmp_path: Path) -> None:
    tree = files(
        worker="""
        from sglang.srt.mem_cache.moving import keep
        class Worker:
            def verify(self, batch, r):
                self.commit(batch, r)
            def commit(self, batch, r):
                keep(batch, r)
        """
    )
    tree["srt/mem_cache/moving.py"] = """
        def keep(batch, r):
            batch.token_to_kv_pool_allocator.get_kvcache().move_kv_cache(r, r)
        """
    (found,) = find(tmp_path, tree)
    places = [(step.path.rpartition("/")[2], step.symbol) for step in found.trace]
    assert places == [
        ("worker.py", "Worker.verify"),
        ("worker.py", "Worker.verify"),
        ("worker.py", "Worker.commit"),
        ("moving.py", "keep"),
        ("pools.py", "Odd.move_kv_cache"),
    ]
    assert [step.line for step in found.trace] == [4, 5, 7, 3, 11]


def test_the_shortest_chain_is_shown(tmp_path: Path) -> None:
    found = find(
        tmp_path,
        files(
            worker="""
            def long(token_to_kv_pool, r): middle(token_to_kv_pool, r)
            def middle(token_to_kv_pool, r): last(token_to_kv_pool, r)
            def short(token_to_kv_pool, r): last(token_to_kv_pool, r)
            def last(token_to_kv_pool, r): token_to_kv_pool.move_kv_cache(r, r)
            """
        ),
    )
    assert [step.symbol for step in found[0].trace][:2] == ["short", "short"]


def test_one_finding_for_a_place_and_all_its_classes(tmp_path: Path) -> None:
    pools = POOLS + "    class Odder(Odd): pass\n    class Fine(Odd):\n"
    pools += "        def move_kv_cache(self, tgt_loc, src_loc): return 1\n"
    build = """
        from sglang.srt.mem_cache.pools import Fine, Odd, Odder
        def build(config): return {1: Odd, 2: Odder, 3: Fine}[config]()
        """
    (found,) = find(tmp_path, files(pools=pools, build=build))
    assert [name.rpartition(".")[2] for name in found.affected] == ["Odd", "Odder"]


WRAPPED = """
    class KVCache: pass
    class Inner(KVCache):
        def move_kv_cache(self, tgt_loc, src_loc): {inner}
    class Outer(KVCache):
        def __init__(self): self.inner = Inner()
        def move_kv_cache(self, tgt_loc, src_loc): {outer}
"""
WRAPPER_BUILT = "from .pools import Outer\ndef build(): return Outer()\n"


def _wrapped(inner: str, outer: str) -> dict[str, str]:
    pools = WRAPPED.replace("{inner}", inner).replace("{outer}", outer)
    return files(pools=pools, build=WRAPPER_BUILT)


def test_a_sub_pool_that_no_path_touches_is_no_finding(tmp_path: Path) -> None:
    assert not find(tmp_path, _wrapped("raise NotImplementedError", "return 1"))


def test_delegation_is_followed_into_what_the_wrapper_holds(tmp_path: Path) -> None:
    tree = _wrapped(
        "raise NotImplementedError", "self.inner.move_kv_cache(tgt_loc, src_loc)"
    )
    (found,) = find(tmp_path, tree)
    assert found.symbol == "Inner.move_kv_cache"
    assert [s.symbol for s in found.trace][-2:] == [
        "Outer.move_kv_cache",
        "Inner.move_kv_cache",
    ]


def test_what_a_wrapper_holds_by_parameter_and_subclass(tmp_path: Path) -> None:
    pools = """
        class KVCache: pass
        class Good(KVCache):
            def move_kv_cache(self, a, b): return 1
        class Bad(KVCache):
            def move_kv_cache(self, a, b): raise NotImplementedError
        class Outer(KVCache):
            def __init__(self, part_class=Good, other=None):
                self.part = part_class() if part_class else None
            def move_kv_cache(self, a, b): self.part.move_kv_cache(a, b)
        class Special(Outer):
            def __init__(self): super().__init__(part_class=Bad)
        """
    only_outer = "from .pools import Outer\ndef build(): return Outer()\n"
    alone = pools.partition("class Special")[0]
    good = alone.replace("class Bad(KVCache)", "class Bad")
    assert not find(tmp_path / "a", files(pools=good, build=only_outer))
    both = "from .pools import Outer, Special\ndef build(x): return Special() if x else Outer()\n"
    (found,) = find(tmp_path / "b", files(pools=pools, build=both))
    assert found.symbol == "Bad.move_kv_cache"
    given = "from .pools import Bad, Outer\ndef build(): return Outer(part_class=Bad)\n"
    (found,) = find(tmp_path / "c", files(pools=alone, build=given))
    assert found.symbol == "Bad.move_kv_cache"


def test_super_reaches_the_next_class(tmp_path: Path) -> None:
    pools = POOLS + (
        "    class Child(Odd):\n"
        "        def move_kv_cache(self, tgt_loc, src_loc):\n"
        "            super().move_kv_cache(tgt_loc, src_loc)\n"
    )
    build = "from .pools import Child, Plain\ndef build(x): return Child() if x else Plain()\n"
    (found,) = find(tmp_path, files(pools=pools, build=build))
    assert found.symbol == "Odd.move_kv_cache"
    assert found.affected[0].endswith("Child")


def test_missing_stands_at_the_topmost_class_that_lacks_it(tmp_path: Path) -> None:
    pools = """
        class KVCache: pass
        class Plain(KVCache):
            def move_kv_cache(self, a, b): return 1
        class Other(KVCache): pass
        class Left(Other): pass
        class Right(Other): pass
        """
    build = """
        from .pools import Left, Plain, Right
        def build(n): return {0: Plain, 1: Left, 2: Right}[n]()
        """
    (found,) = find(tmp_path, files(pools=pools, build=build))
    assert (found.rule, found.symbol) == ("KVC002", "Other.move_kv_cache")
    assert [n.rpartition(".")[2] for n in found.affected] == ["Left", "Right"]


@pytest.mark.parametrize(
    "extra",
    [
        "def __getattr__(self, name): return self.x",
        "def __init__(self): self.move_kv_cache = self.other",
        "move_kv_cache = Plain.move_kv_cache",
    ],
)
def test_not_missing_when_the_class_may_have_it(extra: str, tmp_path: Path) -> None:
    pools = POOLS.replace('raise NotImplementedError("odd")', "return 1")
    pools += f"    class Other(KVCache):\n        {extra}\n"
    build = "from .pools import Other, Plain\ndef build(x): return Other() if x else Plain()\n"
    assert not find(tmp_path, files(pools=pools, build=build))


def test_an_unknown_base_may_bring_it(tmp_path: Path) -> None:
    pools = POOLS.replace('raise NotImplementedError("odd")', "return 1")
    pools += "    from torch import nn\n    class Other(nn.Module, KVCache): pass\n"
    build = "from .pools import Other, Plain\ndef build(x): return Other() if x else Plain()\n"
    assert not find(tmp_path, files(pools=pools, build=build))


@pytest.mark.parametrize(
    ("parameters", "call", "fits"),
    [
        ("self, a, b", "(r, r)", True),
        ("self, a", "(r, r)", False),
        ("self, a, b, c", "(r, r)", False),
        ("self, a, b, c=1", "(r, r)", True),
        ("self, *args", "(r, r)", True),
        ("self, a, *, b", "(r, b=r)", True),
        ("self, a, *, b", "(r, r)", False),
        ("self, a, b", "(r, c=r)", False),
        ("self, a, **kw", "(r, c=r)", True),
        ("self, a, b", "(r, a=r)", False),
        ("self, a", "(r, a=r)", False),
        ("self, a, b", "(*r)", True),
        ("self, a, b", "(r, **r)", True),
    ],
)
def test_signatures(parameters: str, call: str, fits: bool, tmp_path: Path) -> None:
    pools = f"""
        class KVCache: pass
        class Plain(KVCache):
            def move_kv_cache(self, *a, **k): return 1
        class Odd(KVCache):
            def move_kv_cache({parameters}): return 1
        """
    worker = f"def go(token_to_kv_pool, r):\n    token_to_kv_pool.move_kv_cache{call}\n"
    found = find(tmp_path, files(pools=pools, worker=worker))
    assert brief(found) == ([] if fits else [("KVC003", "error", "Odd.move_kv_cache")])


def test_raised_on_some_paths_is_a_warning_with_the_condition(tmp_path: Path) -> None:
    pools = POOLS.replace(
        'raise NotImplementedError("odd")',
        "\n            if self.split: raise NotImplementedError\n            return 1",
    )
    (found,) = find(tmp_path, files(pools=pools))
    assert found.severity == "warning"
    assert "if self.split" in found.message


def test_a_condition_that_the_call_rules_out(tmp_path: Path) -> None:
    pools = POOLS.replace(
        "move_kv_cache(self, tgt_loc, src_loc): raise NotImplementedError",
        "move_kv_cache(self, tgt_loc, src_loc, row_mask=None):\n"
        "            if row_mask is not None: raise NotImplementedError",
    )
    assert not find(tmp_path / "a", files(pools=pools))
    worker = (
        "def go(token_to_kv_pool, r):\n    token_to_kv_pool.move_kv_cache(r, r, r)\n"
    )
    found = find(tmp_path / "b", files(pools=pools, worker=worker))
    assert "KVC001" in [f.rule for f in found]


def test_allocators_too(tmp_path: Path) -> None:
    pools = POOLS.replace('raise NotImplementedError("odd")', "return 1")
    tree = files(
        pools=pools,
        worker="""
        class Worker:
            def draft(self, batch):
                state = self.token_to_kv_pool_allocator.backup_state()
        """,
    )
    tree["srt/mem_cache/allocator.py"] = """
        class BaseTokenToKVPoolAllocator:
            def backup_state(self): return 1
        class Fine(BaseTokenToKVPoolAllocator): pass
        class Split(BaseTokenToKVPoolAllocator):
            def backup_state(self): raise NotImplementedError
        """
    tree["srt/build2.py"] = (
        "from .mem_cache.allocator import Fine, Split\n"
        "def build(x): return Split() if x else Fine()\n"
    )
    assert brief(find(tmp_path, tree)) == [("KVC001", "error", "Split.backup_state")]


def test_the_chain_leads_through_who_passes_the_class(tmp_path: Path) -> None:
    worker = """
        from sglang.srt.mem_cache.pools import Plain
        def first(x: Plain, r): low(x, r)
        def second(token_to_kv_pool, r): low(token_to_kv_pool, r)
        def low(thing, r): thing.move_kv_cache(r, r)
        """
    (found,) = find(tmp_path / "a", files(worker=worker))
    assert found.trace[0].symbol == "second"
    made = worker.replace("first(x: Plain, r): low(x, r)", "first(r): low(Plain(), r)")
    (found,) = find(tmp_path / "b", files(worker=made))
    assert found.trace[0].symbol == "second"


def test_an_overridden_builder_does_not_run(tmp_path: Path) -> None:
    pools = """
        class KVCache: pass
        class Good(KVCache):
            def move_kv_cache(self, a, b): return 1
        class Bad(KVCache):
            def move_kv_cache(self, a, b): raise NotImplementedError
        class Outer(KVCache):
            def __init__(self): self.make()
            def make(self): self.part = Bad()
            def move_kv_cache(self, a, b): self.part.move_kv_cache(a, b)
        class Mended(Outer):
            def make(self): self.part = Good()
        """
    build = "from .pools import Mended\ndef build(): return Mended()\n"
    assert not find(tmp_path / "a", files(pools=pools, build=build))
    again = pools.replace(
        "def make(self): self.part = Good()", "def make(self): super().make()"
    )
    assert find(tmp_path / "b", files(pools=again, build=build))


def test_a_branch_that_a_given_argument_rules_out(tmp_path: Path) -> None:
    pools = """
        class KVCache: pass
        class Good(KVCache):
            def move_kv_cache(self, a, b): return 1
        class Bad(KVCache):
            def move_kv_cache(self, a, b): raise NotImplementedError
        class Outer(KVCache):
            def __init__(self, the_part=None):
                if the_part is not None: self.part = the_part
                else: self.part = Bad()
            def move_kv_cache(self, a, b): self.part.move_kv_cache(a, b)
        """
    given = (
        "from .pools import Good, Outer\ndef build(): return Outer(the_part=Good())\n"
    )
    assert not find(tmp_path / "a", files(pools=pools, build=given))
    left = "from .pools import Outer\ndef build(): return Outer()\n"
    assert find(tmp_path / "b", files(pools=pools, build=left))


def test_missing_is_not_put_where_others_have_it(tmp_path: Path) -> None:
    pools = """
        class KVCache: pass
        class Plain(KVCache):
            def move_kv_cache(self, a, b): return 1
        class Other(KVCache): pass
        class Left(Other): pass
        class Right(Other):
            def move_kv_cache(self, a, b): return 1
        """
    build = """
        from .pools import Left, Plain, Right
        def build(n): return {0: Plain, 1: Left, 2: Right}[n]()
        """
    (found,) = find(tmp_path, files(pools=pools, build=build))
    assert found.symbol == "Left.move_kv_cache"


def test_the_way_that_is_not_guarded_decides(tmp_path: Path) -> None:
    worker = """
        def guarded(token_to_kv_pool, r):
            try:
                token_to_kv_pool.move_kv_cache(r, r)
            except NotImplementedError:
                pass
        def first(runner, r): second(runner, r)
        def second(runner, r): runner.token_to_kv_pool.move_kv_cache(r, r)
        """
    (found,) = find(tmp_path, files(worker=worker))
    assert found.severity == "error"
    assert found.trace[0].symbol == "first"
