"""The post-condition: whatever the editor gets wrong is noticed before it is there."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from apply_trees import BUILD, KEYS, LAYERED, ROWS, shape

from kvcodemod.rewrite import apply as end_to_end
from kvcodemod.rewrite.apply import Rewrite, prepare
from kvcodemod.rewrite.check import check_texts, check_tree
from kvcodemod.rewrite.edits import Plan
from kvcodemod.rewrite.options import Options
from kvcodemod.rewrite.refusal import RefusedError
from kvcodemod.tree.locate import find_package
from kvcodemod.tree.source import SourceTree

CHIP = "srt/hardware/chip_pools.py"
MEMORY = "srt/mem_cache/memory.py"
MAPPED = "srt/mem_cache/mapped.py"


def rewritten(folder: Path, name: str, options: Options) -> tuple[SourceTree, Rewrite]:
    tree = SourceTree(find_package(shape(name, folder)))
    return tree, prepare(tree, options)


def texts(files: dict[str, bytes]) -> dict[str, str]:
    return {path: data.decode() for path, data in files.items()}


def check(tree: SourceTree, after: dict[str, str], rewrite: Rewrite) -> None:
    files = {path: text.encode() for path, text in after.items()}
    check_texts(tree, tree.with_files(files), rewrite.plan)


FLAGGED = "enable_kv_cache_copy"
SET_UP = """\
        self._kv_row_move = None
        if enable_kv_cache_copy:
            self._kv_row_move = plan_kv_row_move(self.k_buffer)
"""
MOVE = "        move_kv_rows(self._kv_row_move, tgt_loc, src_loc)\n"

MUTATIONS: dict[str, tuple[str, str, str, str, str]] = {
    # name: (shape, file, old text, new text, what is said)
    "a line more": ("direct", KEYS, "\nclass Key", "\nX = 1\nclass Key", "X = 1"),
    "a line less": (
        "direct",
        LAYERED,
        "        return 0  # nobody asks\n",
        "        pass\n",
        "an unplanned line would change: pass",
    ),
    "a comment lost": ("direct", LAYERED, "  # nobody asks", "", "return 0"),
    "a comment changed": (
        "mapped",
        MEMORY,
        "# The index of",
        "# An index of",
        "an unplanned line would change: # An index of",
    ),
    "a comment lost in what is edited": (
        "direct",
        LAYERED,
        "        # Everything is kept by the sub-pools.\n",
        "",
        "something in LayeredPool.__init__ is lost, perhaps a comment",
    ),
    "a comment lost behind an argument": (
        "direct",
        LAYERED,
        "layers=key_layers,  # no values",
        "layers=key_layers,",
        "something in LayeredPool.__init__ is lost, perhaps a comment",
    ),
    "a comment lost in an import": (
        "direct",
        KEYS,
        "import torch  # all of it\n",
        "import torch\n",
        "an unplanned line would change",
    ),
    "quotes changed in what is edited": (
        "direct",
        LAYERED,
        '["main"]',
        "['main']",
        "something in LayeredPool.__init__ is lost",
    ),
    "blank lines more": (
        "direct",
        KEYS,
        "\n\n    def set_kv",
        "\n\n\n    def set_kv",
        "unplanned line",
    ),
    "blank lines less": (
        "direct",
        LAYERED,
        "\n\n    def bytes",
        "\n    def bytes",
        "unplanned line",
    ),
    "blanks at the end of a line": ("direct", LAYERED, "asks\n", "asks \n", "return 0"),
    "a line moved": (
        "direct",
        LAYERED,
        "from . import keys\nfrom .base import KVCache\n",
        "from .base import KVCache\nfrom . import keys\n",
        "an unplanned line would change",
    ),
    "an unplanned function": (
        "direct",
        KEYS,
        "\n\nclass KeyPool",
        "\n\ndef helper():\n    pass\n\n\nclass KeyPool",
        "unplanned definition helper",
    ),
    "an unplanned class": (
        "direct",
        KEYS,
        "\n\nclass KeyPool",
        "\n\nclass Helper:\n    pass\n\n\nclass KeyPool",
        "unplanned definition Helper",
    ),
    "an unplanned method": (
        "direct",
        KEYS,
        "    def move_kv_cache",
        "    def extra(self):\n        pass\n\n    def move_kv_cache",
        "unplanned definition KeyPool.extra",
    ),
    "a method lost": (
        "direct",
        LAYERED,
        "\n    def bytes_used(self):\n        return 0  # nobody asks\n",
        "",
        "the definition of LayeredPool.bytes_used is missing",
    ),
    "a planned method missing": (
        "direct",
        KEYS,
        "\n    def move_kv_cache(self, tgt_loc: torch.Tensor, src_loc: torch.Tensor):\n"
        + MOVE,
        "",
        "the definition of KeyPool.move_kv_cache is missing",
    ),
    "a planned method that does something else": (
        "direct",
        KEYS,
        MOVE,
        MOVE.replace("tgt_loc, src_loc", "src_loc, tgt_loc"),
        "KeyPool.move_kv_cache is not what was planned",
    ),
    "the kernel changed": (
        "direct",
        KEYS,
        "    tl.debug_barrier()",
        "    pass",
        "_move_kv_rows_kernel is not what was planned",
    ),
    "a translation left out": (
        "mapped",
        MAPPED,
        "self.to_device_slots(tgt_loc)",
        "tgt_loc",
        "MappedRowPool.move_kv_cache is not what was planned",
    ),
    "the set-up missing": (
        "direct",
        KEYS,
        SET_UP,
        "",
        "KeyPool.__init__: the statements of set-up-move are missing",
    ),
    "the set-up of other buffers": (
        "direct",
        KEYS,
        SET_UP,
        SET_UP.replace("k_buffer", "v_buffer"),
        "KeyPool.__init__: the statements of set-up-move are missing",
    ),
    "a parameter missing": (
        "direct",
        KEYS,
        ", enable_kv_cache_copy: bool = False",
        "",
        "KeyPool.__init__: the parameter enable_kv_cache_copy is missing",
    ),
    "a parameter that is on": (
        "direct",
        KEYS,
        "enable_kv_cache_copy: bool = False",
        "enable_kv_cache_copy: bool = True",
        "KeyPool.__init__: the parameter enable_kv_cache_copy is missing",
    ),
    "an argument missing in one of two calls": (
        "direct",
        LAYERED,
        "layers, device, enable_kv_cache_copy=enable_kv_cache_copy",
        "layers, device",
        "LayeredPool.__init__: the argument enable_kv_cache_copy is missing",
    ),
    "an argument with another value": (
        "direct",
        BUILD,
        "device=options.device, enable_kv_cache_copy=(options.speculative is not None)",
        "device=options.device, enable_kv_cache_copy=(options.speculative is None)",
        "build_layered: the argument enable_kv_cache_copy is missing",
    ),
    "an argument more": (
        "direct",
        LAYERED,
        "size=size,\n",
        "size=size,\n                extra=1,\n",
        "LayeredPool.__init__: more than was planned is changed",
    ),
    "a flag not handed on": (
        "mapped",
        MAPPED,
        ", enable_kv_cache_copy=enable_kv_cache_copy",
        "",
        "MappedRowPool.__init__: the argument enable_kv_cache_copy is missing",
    ),
    "a sub-pool left out of the move": (
        "direct",
        LAYERED,
        "self.index_kv_pool, self.index_k_pool)",
        "self.index_kv_pool)",
        "LayeredPool.move_kv_cache: its body is not what was planned",
    ),
    "the docstring of the move lost": (
        "direct",
        LAYERED,
        '        """Move accepted rows to where they belong."""\n',
        "",
        "LayeredPool.move_kv_cache: its body is not what was planned",
    ),
    "the signature of the move changed": (
        "direct",
        LAYERED,
        "def move_kv_cache(self, tgt_loc: torch.Tensor, src",
        "def move_kv_cache(self, tgt_loc, src",
        "LayeredPool.move_kv_cache: more than was planned is changed",
    ),
    "an import missing": ("direct", KEYS, "import triton\n", "", "import of triton is"),
    "an import lost": (
        "direct",
        KEYS,
        "from . import base\n",
        "",
        "the import of sglang.srt.mem_cache.pool is not as planned",
    ),
    "an import more": (
        "direct",
        KEYS,
        "import triton\n",
        "import triton\nimport tempfile\n",
        "the import of tempfile is not as planned",
    ),
    "an import under another name": (
        "direct",
        KEYS,
        "import triton.language as tl",
        "import triton.language as lang",
        "the import of triton.language is not as planned",
    ),
    "a name more from a module": (
        "params",
        CHIP,
        "import KeyPool, move",
        "import KeyPool, base, move",
        "the import of sglang.srt.mem_cache.pool.keys is not as planned",
    ),
    "no syntax": ("direct", KEYS, "class KeyPool", "class KeyPool KeyPool", "parse"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mistake_of_the_editor_is_noticed(tmp_path: Path, name: str) -> None:
    fixture, file, old, new, said = MUTATIONS[name]
    path = f"sglang/{file}"
    package = shape(fixture, tmp_path)
    if name == "a comment lost in an import":
        text = (package / file).read_text()
        (package / file).write_text(text.replace("torch\n", "torch  # all of it\n", 1))
    if name == "quotes changed in what is edited":
        text = (package / file).read_text()
        line = "        # Everything"
        more = f'        self.names = ["main"]\n{line}'
        (package / file).write_text(text.replace(line, more))
    tree = SourceTree(find_package(package))
    rewrite = prepare(tree, Options(copy_flag="spec-only"))
    after = texts(rewrite.new)
    check(tree, after, rewrite)
    assert old in after[path]
    after[path] = after[path].replace(old, new)
    with pytest.raises(RefusedError) as caught:
        check(tree, after, rewrite)
    assert str(caught.value).startswith(path)
    assert said in caught.value.reason


@pytest.mark.parametrize("name", ["direct", "params", "mapped"])
def test_every_edit_that_is_not_made_is_noticed(tmp_path: Path, name: str) -> None:
    """Each planned edit is left out in turn."""
    tree, rewrite = rewritten(tmp_path, name, Options(copy_flag="spec-only"))
    before, after = texts(rewrite.old), texts(rewrite.new)
    callees = [getattr(edit, "callee", None) for edit in rewrite.plan.edits]
    tried = 0
    for at, left_out in enumerate(rewrite.plan.edits):
        if callees.count(callees[at]) > 1 and callees[at]:
            continue  # one edit passes the flag in all calls of a callee
        rest = [edit for edit in rewrite.plan.edits if edit is not left_out]
        same_file = [edit for edit in rest if edit.path == left_out.path]
        old = before[left_out.path]
        text = end_to_end.edit_text(left_out.path, old, same_file)
        with pytest.raises(RefusedError):
            check(tree, {**after, left_out.path: text}, rewrite)
        tried += 1
    assert tried >= 10


def test_a_file_with_no_edit_left_is_noticed(tmp_path: Path) -> None:
    tree, rewrite = rewritten(tmp_path, "direct", Options())
    with pytest.raises(RefusedError, match="missing"):
        check(tree, texts(rewrite.old), rewrite)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (LAYERED, "self.index_kv_pool, self.index_k_pool)", "None)", "leaves out"),
        (LAYERED, ", enable_kv_cache_copy=True)", ")", "is built without"),
        (LAYERED, "        sub_pools = (", "        return\n        sub_pools = (", ""),
        (KEYS, ", enable_kv_cache_copy: bool = False", "", "does not accept"),
        (KEYS, "plan_kv_row_move(self.k_buffer)", "None", "never plans its moves"),
        (
            ROWS,
            "        assert self.copy_ready",
            "        raise NotImplementedError\n        assert self.copy_ready",
            "no move of its own that works",
        ),
    ],
)
def test_the_whole_tree_is_looked_at_again(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    tree, rewrite = rewritten(tmp_path, "direct", Options())
    check_tree(tree.with_files(rewrite.new), rewrite.plan, Options())
    files = dict(rewrite.new)
    path = f"sglang/{file}"
    text = files.get(path, tree.data(path)).decode()
    assert old in text
    files[path] = text.replace(old, new).encode()
    if not said:  # code behind a return still names every sub-pool: not this check's
        check_tree(tree.with_files(files), rewrite.plan, Options())
        return
    with pytest.raises(RefusedError, match=f"after the rewrite: .*{said}"):
        check_tree(tree.with_files(files), rewrite.plan, Options())


def test_a_plan_that_forgets_something_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carried out to the letter, but the wrapper would still lack something."""
    tree = SourceTree(find_package(shape("direct", tmp_path)))
    real = end_to_end.make_plan

    def forgetful(tree: SourceTree, options: Options) -> Plan:
        plan = real(tree, options)
        kept = [e for e in plan.edits if getattr(e, "callee", "") != "keys.KeyPool"]
        return dataclasses.replace(plan, edits=tuple(kept))

    monkeypatch.setattr(end_to_end, "make_plan", forgetful)
    with pytest.raises(RefusedError, match="after the rewrite: `index_k_pool` is"):
        prepare(tree, Options())


def test_nothing_is_written_where_the_check_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apply_trees import apply, snapshot

    package = shape("direct", tmp_path)
    before = snapshot(package)
    real = end_to_end.edit_text

    def careless(path: str, text: str, *rest: Any) -> str:
        return real(path, text, *rest).replace("nobody asks", "nobody cares")

    monkeypatch.setattr(end_to_end, "edit_text", careless)
    done = apply(package)
    assert done.code == 3
    assert "an unplanned line would change: return 0  # nobody cares" in done.err
    assert snapshot(package) == before


def test_a_planned_edit_without_a_place_is_refused(tmp_path: Path) -> None:
    _, rewrite = rewritten(tmp_path, "direct", Options(copy_flag="spec-only"))
    before = texts(rewrite.old)
    for edit in rewrite.plan.edits:
        elsewhere = dataclasses.replace(edit, symbol="Nowhere.at_all")
        if edit.kind == "extend-import":
            continue  # its symbol is a module
        with pytest.raises(RefusedError, match="found no place for it in Nowhere"):
            end_to_end.edit_text(edit.path, before[edit.path], [elsewhere])
