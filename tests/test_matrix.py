"""`matrix` on small trees: verdicts, the real order of classes, roles, formats."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from trees import tree_of, write_tree

from kvcodemod.cli import main
from kvcodemod.matrix import Matrix, build_matrix

BASE = """
    import abc
    class KVCache(abc.ABC):
        @abc.abstractmethod
        def get(self):
            raise NotImplementedError()
        def copy(self):
            raise NotImplementedError("no copy")
"""


def _matrix(folder: Path, pools: str, more: dict[str, str] | None = None) -> Matrix:
    files = {"srt/mem_cache/base.py": BASE, "srt/mem_cache/pools.py": pools}
    return build_matrix(tree_of(folder, {**files, **(more or {})}))


def _cell(matrix: Matrix, cls: str, method: str) -> tuple[str, str | None]:
    row = next(r for r in matrix.rows if r.qualname.endswith(f".{cls}"))
    cell = row.methods[method]
    owner = cell.defined_in and cell.defined_in.rpartition(".")[2]
    return cell.verdict, owner


def test_every_verdict(tmp_path: Path) -> None:
    found = _matrix(
        tmp_path,
        '''
        from .base import KVCache
        class A(KVCache):
            def plain(self): return 1
            def first(self):
                """Words."""
                raise NotImplementedError
            def every(self, x):
                if x: raise NotImplementedError("a")
                else: raise NotImplementedError("b")
            def some(self, x):
                if x: raise NotImplementedError("a")
                return x
            def dots(self): ...
            def words(self):
                """Only words."""
            def other(self): raise ValueError("NotImplementedError")
            def inner(self):
                def later(): raise NotImplementedError
                return later
            def bare(self): return
            @property
            def shape(self): return 1
            @staticmethod
            def fixed(): return 1
            def __len__(self): return 0
        class B(A):
            some = A.plain
        ''',
    )
    assert set(found.methods) == {
        "get", "copy", "plain", "first", "every", "some", "dots", "words", "other",
        "inner", "bare",
    }  # fmt: skip
    assert [_cell(found, "A", m)[0] for m in ("plain", "first", "every", "some")] == [
        "ok", "raises", "raises", "raises-conditionally",
    ]  # fmt: skip
    assert [_cell(found, "A", m)[0] for m in ("dots", "words", "other", "inner")] == [
        "noop", "noop", "ok", "ok",
    ]  # fmt: skip
    assert _cell(found, "A", "bare")[0] == "ok"
    assert _cell(found, "A", "copy") == ("raises", "KVCache")
    assert _cell(found, "KVCache", "plain") == ("missing", None)


def test_the_real_order_decides(tmp_path: Path) -> None:
    found = _matrix(
        tmp_path,
        """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .mixins import Mixin
        from .again import Root as Kept
        from .mixins import Mixin
        class Left(Kept):
            pass
        class Right(Kept):
            def copy(self): return 1
        class Both(Left, Right): pass
        class Mixed(Mixin, Kept): pass
        """,
        {
            "srt/mem_cache/again.py": "from .base import KVCache as Root\n",
            "srt/mem_cache/mixins.py": "class Mixin:\n    def copy(self): return 2\n",
        },
    )
    assert _cell(found, "Both", "copy") == ("ok", "Right")
    assert _cell(found, "Mixed", "copy") == ("ok", "Mixin")
    assert _cell(found, "Left", "copy") == ("raises", "KVCache")
    both = next(r for r in found.rows if r.qualname.endswith("Both"))
    assert [n.rpartition(".")[2] for n in both.order] == [
        "Both", "Left", "Right", "KVCache", "ABC",
    ]  # fmt: skip


def test_last_definition_in_the_body_counts(tmp_path: Path) -> None:
    found = _matrix(
        tmp_path,
        """
        from .base import KVCache
        npu = False
        class A(KVCache):
            def twice(self): raise NotImplementedError
            def twice(self): return 1
            if npu:
                def either(self): raise NotImplementedError
            else:
                def either(self): return 1
            def refuse(self): raise NotImplementedError
            again = refuse
        """,
    )
    assert _cell(found, "A", "twice")[0] == "ok"
    assert _cell(found, "A", "either")[0] == "raises"
    assert "again" in found.methods
    assert _cell(found, "A", "again")[0] == "raises"


def test_roles(tmp_path: Path) -> None:
    found = _matrix(
        tmp_path,
        """
        from .base import KVCache
        class Inner(KVCache):
            def get(self): return 1
        class Passed(KVCache):
            def get(self): return 1
        class Given(KVCache):
            def get(self): return 1
        class Outer(KVCache):
            def __init__(self, given, cls=Passed):
                self.a = Inner()
                self.b = cls()
                self.c = given
            def get(self): return 1
        class Middle(KVCache): pass
        class Held(Middle):
            def get(self): return 1
        class Nobody(KVCache):
            def get(self): return 1
        """,
        {
            "srt/build.py": """
            from sglang.srt.mem_cache.pools import Given, Held, Inner, Outer
            KINDS = (Inner, Held)
            def build(kind, x: Inner):
                inner = Given()
                if isinstance(x, Inner): return Outer(given=inner)
                same = kind == Inner or type(x) in (Passed, Inner)
                return Held
            """,
            "test/use.py": "from ..srt.mem_cache.pools import Passed\nP = Passed()\n",
        },
    )
    assert {r.qualname.rpartition(".")[2]: r.role for r in found.rows} == {
        "KVCache": "abstract",
        "Middle": "abstract",
        "Inner": "sub-pool",
        "Passed": "sub-pool",
        "Given": "sub-pool",
        "Outer": "pool",
        "Held": "pool",
        "Nobody": "pool",
    }


def test_formats_and_codes(tmp_path: Path) -> None:
    files = {
        "srt/mem_cache/base.py": BASE,
        "srt/mem_cache/pools.py": """
            from .base import KVCache
            class A(KVCache):
                def get(self): return 1
            """,
    }
    folder = str(write_tree(tmp_path, files))
    run = CliRunner().invoke
    done = run(main, ["matrix", folder, "--output-format", "json", "--method", "copy"])
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert data["schema_version"] == 1
    entry = data["classes"]["sglang.srt.mem_cache.pools.A"]
    home = "sglang.srt.mem_cache"
    assert entry == {
        "path": "sglang/srt/mem_cache/pools.py",
        "line": 3,
        "mro": [f"{home}.pools.A", f"{home}.base.KVCache", "abc.ABC"],
        "role": "pool",
        "methods": {
            "copy": {
                "verdict": "raises",
                "defined_in": "sglang.srt.mem_cache.base.KVCache",
                "path": "sglang/srt/mem_cache/base.py",
                "line": 7,
            }
        },
    }  # fmt: skip
    text = run(main, ["matrix", folder, "--method", "copy"])
    assert "RAISES KVCache:7" in text.stdout
    table = run(main, ["matrix", folder, "--output-format", "markdown"])
    assert table.stdout.startswith(
        "| class | role | `copy` | `get` |\n|---|---|---|---|\n"
    )
    (tmp_path / "sglang/srt/mem_cache/pools.py").write_text(
        "class A(KVCache):\n  x = ("
    )
    broken = run(main, ["matrix", folder])
    assert broken.exit_code == 3
    assert "pools.py:2" in broken.stderr
    assert run(main, ["matrix", str(tmp_path / "nowhere")]).exit_code == 2
    empty = write_tree(tmp_path / "empty", {})
    assert run(main, ["matrix", str(empty)]).exit_code == 2
