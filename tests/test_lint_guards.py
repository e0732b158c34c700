"""Guards are evidence: a finding that something keeps from happening is a warning."""

# ruff: noqa: E501  (snippets of other code, one line each)

from __future__ import annotations

from pathlib import Path

import pytest
from lint_trees import POOLS, files, find

from kvcodemod.findings import Finding

CALL = "pool.move_kv_cache(r, r)"
HEAD = "from sglang.srt.mem_cache.pools import Odd, Plain\ndef go(token_to_kv_pool, r):\n    pool = token_to_kv_pool\n"
LACKS = POOLS.replace(
    '        def move_kv_cache(self, tgt_loc, src_loc): raise NotImplementedError("odd")\n',
    "",
)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (f"    if not isinstance(pool, Odd):\n        {CALL}", "type test"),
        (f"    if isinstance(pool, Odd):\n        return\n    {CALL}", "type test"),
        (
            f"    odd = isinstance(pool, Odd)\n    if not odd:\n        {CALL}",
            "type test",
        ),
        (f"    assert not isinstance(pool, (Odd,))\n    {CALL}", "type test"),
        (f"    if type(pool) is Odd: return\n    {CALL}", "type test"),
        (f"    r and not isinstance(pool, Odd) and {CALL}", "type test"),
        (
            f"    try:\n        {CALL}\n    except NotImplementedError:\n        pass",
            "handled",
        ),
        (f"    try:\n        {CALL}\n    except Exception:\n        pass", "handled"),
    ],
)
def test_guarded(body: str, kind: str, tmp_path: Path) -> None:
    (found,) = find(tmp_path, files(worker=HEAD + body))
    assert found.severity == "warning"
    assert kind in found.guards[0].note
    assert found.guards[0].path.endswith("worker.py")


@pytest.mark.parametrize(
    "body",
    [
        f"    {CALL}",
        f"    if not isinstance(pool, Plain):\n        {CALL}",
        f"    if isinstance(pool, Odd):\n        {CALL}",
        f"    if isinstance(pool, Odd):\n        pass\n    {CALL}",
        f"    if isinstance(r, Odd):\n        return\n    {CALL}",
        f"    try:\n        {CALL}\n    except ValueError:\n        pass",
        f"    try:\n        {CALL}\n    except NotImplementedError:\n        raise",
        f"    if hasattr(pool, 'move_kv_cache'):\n        {CALL}",
    ],
)
def test_no_guard(body: str, tmp_path: Path) -> None:
    (found,) = find(tmp_path, files(worker=HEAD + body))
    assert found.severity == "error"
    assert not found.guards


def test_a_positive_type_test_is_about_its_own_classes(tmp_path: Path) -> None:
    body = f"    if isinstance(pool, Plain):\n        {CALL}"
    assert not find(tmp_path, files(worker=HEAD + body))


@pytest.mark.parametrize(
    "body",
    [
        f"    if hasattr(pool, 'move_kv_cache'):\n        {CALL}",
        "    move = getattr(pool, 'move_kv_cache', None)\n    if move is not None:\n        move(r, r)",
        f"    if not hasattr(pool, 'move_kv_cache'): return\n    {CALL}",
        f"    try:\n        {CALL}\n    except AttributeError:\n        pass",
    ],
)
def test_guarded_against_a_missing_method(body: str, tmp_path: Path) -> None:
    (found,) = find(tmp_path, files(pools=LACKS, worker=HEAD + body))
    assert (found.rule, found.severity) == ("KVC002", "warning")
    assert found.guards


def test_a_guard_on_the_way_counts(tmp_path: Path) -> None:
    worker = """
        def go(token_to_kv_pool, r):
            try:
                move(token_to_kv_pool, r)
            except NotImplementedError:
                pass
        def move(thing, r):
            thing.move_kv_cache(r, r)
        """
    (found,) = find(tmp_path, files(worker=worker))
    assert found.severity == "warning"


def test_one_way_without_a_guard_is_enough(tmp_path: Path) -> None:
    worker = """
        def go(token_to_kv_pool, r):
            try:
                move(token_to_kv_pool, r)
            except NotImplementedError:
                pass
        def other(runner, r):
            first(runner, r)
        def first(runner, r):
            move(runner.token_to_kv_pool, r)
        def move(thing, r):
            thing.move_kv_cache(r, r)
        """
    (found,) = find(tmp_path, files(worker=worker))
    assert found.severity == "error"
    assert found.trace[0].symbol == "other"


def test_a_guard_in_the_caller_follows_the_value(tmp_path: Path) -> None:
    worker = """
        from sglang.srt.mem_cache.pools import Odd
        def go(runner, r):
            pool = runner.token_to_kv_pool
            if not isinstance(pool, Odd):
                move(pool, r)
        def move(thing, r):
            thing.move_kv_cache(r, r)
        """
    (found,) = find(tmp_path, files(worker=worker))
    assert found.severity == "warning"
    assert "type test" in found.guards[0].note


REFUSED = """
    from sglang.srt.mem_cache.pools import Odd, Plain
    class Builder:
        def build(self, config):
            if config.enable_split_memory:
                return Odd()
            return Plain()
"""


@pytest.mark.parametrize(
    ("check", "guarded"),
    [
        ("assert cfg.speculative_algorithm is None", True),
        ("if cfg.speculative_algorithm is not None: raise ValueError", True),
        ("assert cfg.speculative_algorithm in (None, 'OTHER')", True),
        ("assert cfg.speculative_algorithm in (None, 'WORKER')", False),
        ("if cfg.speculative_algorithm == 'WORKER': raise ValueError", True),
        ("if cfg.speculative_algorithm == 'OTHER': raise ValueError", False),
        ("assert cfg.speculative_eagle_topk in (None, 1)", True),
        ("if cfg.speculative_eagle_topk != 1: raise ValueError", True),
        ("assert cfg.page_size == 1", False),
        ("pass", False),
    ],
)
def test_refused_at_start_up(check: str, guarded: bool, tmp_path: Path) -> None:
    worker = """
        def verify_worker(batch, topk, r):
            if topk > 1:
                batch.token_to_kv_pool_allocator.get_kvcache().move_kv_cache(r, r)
        """
    tree = files(build=REFUSED, worker=worker)
    tree["srt/arg_groups/split_hook.py"] = (
        f"def check(cfg):\n    if not cfg.enable_split_memory:\n        return\n    {check}\n"
    )
    (found,) = find(tmp_path, tree)
    assert found.severity == ("warning" if guarded else "error")
    if guarded:
        assert found.guards[0].path.endswith("split_hook.py")


def test_a_refusal_under_another_option_is_no_guard(tmp_path: Path) -> None:
    tree = files(build=REFUSED)
    tree["srt/arg_groups/split_hook.py"] = (
        "def check(cfg):\n    if cfg.enable_other_memory:\n"
        "        assert cfg.speculative_algorithm is None\n"
    )
    (found,) = find(tmp_path, tree)
    assert found.severity == "error"


BY_MODEL = {
    "srt/configs/model_config.py": """
        def is_split(config):
            "By the name of its architecture."
            return config.architectures[0] in ("Split", "SplitHead")
        """,
    "srt/mem_cache/build.py": """
        from sglang.srt.configs.model_config import is_split
        from sglang.srt.mem_cache.pools import Odd, Plain
        class Builder:
            def configure(self):
                is_split_model = is_split(self.config)
                return self.build(is_split_model=is_split_model)
            def build(self, *, is_split_model):
                if is_split_model:
                    return Odd()
                return Plain()
        """,
    "srt/arg_groups/model_hook.py": """
        def adjust(cfg, arch):
            if arch == "Other":
                pass
            elif arch in ["Split"]:
                from sglang.srt.arg_groups.split_hook import check
                check(cfg, arch)
        """,
    "srt/arg_groups/split_hook.py": """
        def check(cfg, arch):
            if cfg.speculative_algorithm is not None:
                assert cfg.speculative_algorithm in ("OTHER", "EAGLE")
                if cfg.speculative_algorithm == "EAGLE":
                    assert cfg.speculative_eagle_topk == 1
        """,
}
TREES = """
    def {name}_verify(batch, topk, r):
        if topk > 1:
            batch.token_to_kv_pool_allocator.get_kvcache().move_kv_cache(r, r)
    """


def _by_model(tmp_path: Path, name: str, old: str = "", new: str = "") -> Finding:
    changed = {path: text.replace(old, new) for path, text in BY_MODEL.items()}
    assert (changed != BY_MODEL) == bool(old)
    tree = {**files(worker=TREES.format(name=name)), **changed}
    (found,) = find(tmp_path, tree)
    return found


@pytest.mark.parametrize(
    ("name", "line"), [("ngram", 3), ("eagle", 5), ("other", 0), ("eagle_other", 5)]
)
def test_refused_for_a_model(name: str, line: int, tmp_path: Path) -> None:
    found = _by_model(tmp_path, name)
    places = [(step.path.rpartition("/")[2], step.line) for step in found.guards]
    assert places == ([("split_hook.py", line + 1)] if line else [])
    assert found.severity == ("warning" if line else "error")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('elif arch in ["Split"]', 'elif arch in ["Split"] and cfg.other'),
        ('elif arch in ["Split"]', 'elif arch in ["Splitter"]'),
        ('elif arch in ["Split"]', "elif arch in OTHERS"),
        ('elif arch in ["Split"]', 'elif arch not in ["Split"]'),
        ('"SplitHead"', '"Divided"'),
        ('in ("Split", "SplitHead")', "in SPLIT"),
        ('in ("Split", "SplitHead")', 'in ("Split", "SplitHead") and config.new'),
        ("return config", "config = config.text\n            return config"),
        ("is_split_model = is_split(self.config)", "is_split_model = self.split"),
        ("if is_split_model:", "if not is_split_model:"),
        ("check(cfg, arch)\n        ", "later(check)\n        "),
    ],
)
def test_not_refused_for_the_model(old: str, new: str, tmp_path: Path) -> None:
    assert _by_model(tmp_path, "ngram", old, new).severity == "error"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('arch in ["Split"]', 'arch == "Split" or arch == "Third"'),
        (
            "check(cfg, arch)\n        ",
            "assert cfg.speculative_algorithm in (None, 'EAGLE')\n        ",
        ),
    ],
)
def test_refused_for_the_model_in_other_words(
    old: str, new: str, tmp_path: Path
) -> None:
    assert _by_model(tmp_path, "ngram", old, new).severity == "warning"
