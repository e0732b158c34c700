"""What cannot be moved correctly is refused: exit code 3, a place, no change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from apply_trees import KEYS, LAYERED, apply, edit, shape, snapshot
from apply_variants import HIDDEN, SITES, UNMOVABLE, Variant

FLAGGED = "enable_kv_cache_copy=True"


def refused(package: Path, at: str, reason: str, *arguments: str) -> None:
    """Dry and in earnest: both say where and why, and the tree stays as it is."""
    before = snapshot(package)
    for dry in (("--check",), ("--diff",), ()):
        done = apply(*arguments, *dry, package)
        assert done.code == 3, done.out
        assert not done.out
        place = re.match(r"kvcodemod: (sglang/\S+?):(?:(\d+):)? ", done.err)
        assert place, done.err
        assert place[1] == f"sglang/{at}", done.err
        lines = (package / at).read_bytes().decode().split("\n")
        assert 0 < int(place[2] or 0) <= len(lines), done.err
        assert reason in done.err
        assert done.err.endswith("\nnothing was changed\n")
        assert snapshot(package) == before


@pytest.mark.parametrize("kernel", ["pools", "all"])
@pytest.mark.parametrize("variant", [*HIDDEN, *UNMOVABLE, *SITES], ids=lambda v: v.name)
def test_refused(tmp_path: Path, variant: Variant, kernel: str) -> None:
    package = shape(variant.shape, tmp_path)
    for path, old, new in variant.changes:
        edit(package / path, (old, new))
    flags = ("--copy-flag", variant.flag, "--kernel", kernel)
    refused(package, variant.at, variant.reason, *flags)


def test_some_sub_pools_already_get_the_flag(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    edit(package / LAYERED, ("head_dim=8)", f"head_dim=8, {FLAGGED})"))
    refused(package, LAYERED, "half-edited: some sub-pools of LayeredPool already get")


def test_all_sub_pools_already_get_the_flag(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    edit(
        package / LAYERED,
        ("head_dim=8)", f"head_dim=8, {FLAGGED})"),
        ("layers, device)\n", f"layers, device, {FLAGGED})\n"),
        ("device=device,\n            )", f"device=device, {FLAGGED}\n            )"),
    )
    refused(package, LAYERED, "half-edited: all sub-pools of LayeredPool already get")


def test_the_wrapper_already_takes_the_flag(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    edit(
        package / LAYERED,
        (
            "key_layers: int = 1,\n",
            "key_layers: int = 1,\n        enable_kv_cache_copy: bool = False,\n",
        ),
    )
    refused(package, LAYERED, "half-edited: LayeredPool already takes")


def test_the_kernel_is_there_already(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    text = (package / KEYS).read_text()
    (package / KEYS).write_text(text + "\n\ndef plan_kv_row_move(buffers):\n    ...\n")
    refused(package, KEYS, "half-edited: has a `plan_kv_row_move`")


def test_a_name_of_the_kernel_means_something_else(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    edit(package / KEYS, ("import torch\n", "import torch\nimport toml as tl\n"))
    refused(package, KEYS, "`tl` is not triton.language")


REWRITTEN = {
    "a sub-pool left out of the move": (
        LAYERED,
        (LAYERED, "self.index_kv_pool, self.index_k_pool)", "self.index_kv_pool)"),
        "move_kv_cache leaves out the sub-pool `index_k_pool`",
    ),
    "a sub-pool without the flag": (
        LAYERED,
        (LAYERED, f"layers, device, {FLAGGED}", "layers, device"),
        "`main_pool` is built without enable_kv_cache_copy",
    ),
    "the parameter removed": (
        KEYS,
        (KEYS, ", enable_kv_cache_copy: bool = False):", "):"),
        "KeyPool does not accept enable_kv_cache_copy",
    ),
    "the move of a sub-pool removed": (
        LAYERED,
        (
            KEYS,
            "\n    def move_kv_cache(self, tgt_loc: torch.Tensor, "
            "src_loc: torch.Tensor):\n"
            "        move_kv_rows(self._kv_row_move, tgt_loc, src_loc)\n",
            "",
        ),
        "KeyPool has no move of its own that works",
    ),
    "the set-up of a sub-pool's move removed": (
        KEYS,
        (
            KEYS,
            "            self._kv_row_move = plan_kv_row_move(self.k_buffer)\n",
            "            pass\n",
        ),
        "KeyPool never plans its moves",
    ),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_rewritten_tree_that_was_edited_by_halves(tmp_path: Path, name: str) -> None:
    at, (path, old, new), reason = REWRITTEN[name]
    package = shape("direct", tmp_path)
    assert apply(package).code == 0
    text = (package / LAYERED).read_text()
    if "        sub_pools = (\n" in text:  # one line a sub-pool
        text = re.sub(
            r"\(\n\s+(self\.\w+,)\n\s+(self\.\w+,)\n\s+(self\.\w+),\n\s+\)",
            r"(\1 \2 \3)",
            text,
        )
        (package / LAYERED).write_text(text)
    edit(package / path, (old, new))
    refused(package, at, f"half-edited: {reason}")


def test_a_wrapper_written_by_hand_is_taken_as_it_is(tmp_path: Path) -> None:
    """Another move that works, in other words: nothing to do, and nothing to say."""
    package = shape("direct", tmp_path)
    text = (package / LAYERED).read_text()
    at = text.index("        # Not yet: the sub-pools want a flag.")
    end = text.index("\n    def bytes_used")
    move = (
        "        self.main_pool.move_kv_cache(tgt_loc, src_loc)\n"
        "        for pool in filter(None, (self.index_kv_pool, self.index_k_pool)):\n"
        "            pool.move_kv_cache(tgt_loc, src_loc)\n"
    )
    (package / LAYERED).write_text(text[:at] + move + text[end:])
    before = snapshot(package)
    done = apply(package)
    assert done.code == 0
    assert "nothing to do" in done.out
    assert snapshot(package) == before
