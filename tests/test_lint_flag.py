"""KVC004: the flag is followed from construction sites to where it is needed."""

# ruff: noqa: E501  (snippets of other code, one line each)

from __future__ import annotations

from pathlib import Path

import pytest
from lint_trees import WORKER, find

POOLS = """
    class KVCache: pass
    class Plain(KVCache):
        def __init__(self, size, enable_kv_cache_copy=False):
            self.plan = None
            if enable_kv_cache_copy:
                self._plan(size)
        def _plan(self, size): self.plan = size
        def move_kv_cache(self, a, b): self._move(a, b)
        def _move(self, a, b):
            assert self.plan is not None
    class Free(KVCache):
        def __init__(self, size): self.rows = size
        def move_kv_cache(self, a, b): self.rows[a] = self.rows[b]
    class Native(Plain):
        def _move(self, a, b): self.rows[a] = self.rows[b]
    class Wrapper(KVCache):
        def __init__(self, size{parameters}):
            {build}
        def move_kv_cache(self, a, b): {move}
"""


def _tree(
    build: str,
    site: str = "Wrapper(8)",
    parameters: str = "",
    move: str = "self.inner.move_kv_cache(a, b)",
) -> dict[str, str]:
    pools = POOLS.replace("{parameters}", parameters)
    pools = pools.replace("{build}", build).replace("{move}", move)
    return {
        "srt/mem_cache/pools.py": pools,
        "srt/mem_cache/build.py": f"""
            from .pools import Free, Native, Plain, Wrapper
            class Builder:
                def build(self, config):
                    if config.plain: return Plain(8, enable_kv_cache_copy=config.spec)
                    return {site}
            """,
        "srt/speculative/worker.py": WORKER,
    }


WITH = ", enable_kv_cache_copy=False"
PASS_ON = "self.inner = Plain(size, enable_kv_cache_copy=enable_kv_cache_copy)"


@pytest.mark.parametrize(
    ("tree", "symbol"),
    [
        (_tree("self.inner = Plain(size)"), "Wrapper.__init__"),
        (_tree("self.inner = Plain(size, enable_kv_cache_copy=False)"), "Wrapper.__init__"),
        (_tree("made = Plain\n            self.inner = made(size)"), "Wrapper.__init__"),
        (_tree("self.inner = Plain(size) if size else None"), "Wrapper.__init__"),
        (_tree(PASS_ON, parameters=WITH), "Builder.build"),
        (_tree("self.inner = Plain(size, **kw)", parameters=", **kw"), "Builder.build"),
        (
            _tree("all = {'x': 1, **kw}\n            self.inner = Plain(size, **all)",
                  parameters=", **kw"),
            "Builder.build",
        ),
        (
            _tree("self.inner = kind(size)", parameters=", kind=Plain"),
            "Wrapper.__init__",
        ),
        (
            _tree("self.inner = kind(size)", "Wrapper(8, Plain)", ", kind=Free"),
            "Wrapper.__init__",
        ),
    ],
)  # fmt: skip
def test_lacking(tree: dict[str, str], symbol: str, tmp_path: Path) -> None:
    (found,) = find(tmp_path, tree, "KVC004")
    assert found.symbol == symbol
    assert found.severity == "error"
    assert [n.rpartition(".")[2] for n in found.affected] == ["Wrapper"]
    assert found.trace[0].path.startswith("sglang/srt/speculative/")
    assert (found.trace[-1].path, found.trace[-1].line) == (found.path, found.line)


@pytest.mark.parametrize(
    "tree",
    [
        _tree("self.inner = Plain(size, enable_kv_cache_copy=True)"),
        _tree(PASS_ON, "Wrapper(8, enable_kv_cache_copy=config.spec)", WITH),
        _tree(PASS_ON, "Wrapper(8, config.spec)", WITH),
        _tree("self.inner = Plain(size, **kw)",
              "Wrapper(8, enable_kv_cache_copy=config.spec)", ", **kw"),
        _tree("self.inner = Plain(size, **kw)",
              "Wrapper(8, **{'enable_kv_cache_copy': config.spec})", ", **kw"),
        _tree("self.inner = Free(size)"),
        _tree("self.inner = Native(size)"),
        _tree("self.inner = kind(size)", "Wrapper(8, Free)", ", kind=Plain"),
        _tree("self.inner = Plain(size)", move="return None"),
    ],
)  # fmt: skip
def test_not_lacking(tree: dict[str, str], tmp_path: Path) -> None:
    assert not find(tmp_path, tree, "KVC004")


def test_one_finding_for_a_place(tmp_path: Path) -> None:
    build = "self.inner = Plain(size, **kw)\n            self.other = Plain(size, **kw)"
    move = "self.inner.move_kv_cache(a, b); self.other.move_kv_cache(a, b)"
    (found,) = find(tmp_path, _tree(build, parameters=", **kw", move=move), "KVC004")
    assert "`inner`, `other`" in found.message


def test_each_site_counts_for_itself(tmp_path: Path) -> None:
    tree = _tree(PASS_ON, "Wrapper(8, config.spec)", WITH)
    tree["srt/mem_cache/other.py"] = (
        "from .pools import Wrapper\ndef build(): return Wrapper(8)\n"
    )
    (found,) = find(tmp_path, tree, "KVC004")
    assert found.path.endswith("other.py")
