"""`apply` on the three shapes of the wrapper, renamed and in other folders."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from apply_trees import (
    BUILD,
    FLAGS,
    KEYS,
    LAYERED,
    MEMORY,
    ROWS,
    SHAPES,
    apply,
    edit,
    golden,
    shape,
    snapshot,
    without_kernel,
)

WRAPPER = {"direct": LAYERED, "params": LAYERED, "mapped": MEMORY}
SUB_POOLS = {
    "direct": {"main_pool", "index_kv_pool", "index_k_pool"},
    "params": {"main_pool", "index_kv_pool", "index_k_pool"},
    "mapped": {"main_pool", "dense_pool", "index_kv_pool", "index_k_pool"},
}
FLAG = "enable_kv_cache_copy"


def find(path: Path, *names: str) -> ast.AST:
    """A definition by its qualified name; there must be one only."""
    node: ast.AST = ast.parse(path.read_bytes())
    for name in names:
        (node,) = (n for n in ast.iter_child_nodes(node) if _called(n) == name)
    return node


def _called(node: ast.AST) -> str:
    return str(getattr(node, "name", ""))


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("name", SHAPES)
def test_the_patch_is_the_expected_one(tmp_path: Path, name: str, flag: str) -> None:
    """Written anew by `python tests/apply_trees.py`; read the difference before."""
    done = apply("--diff", "--copy-flag", flag, shape(name, tmp_path))
    assert (done.code, done.err) == (
        0,
        "kvcodemod: 1 composite pool to rewrite: LayeredPool\n",
    )
    assert without_kernel(done.out) == golden(name, flag).read_text()


@pytest.mark.parametrize("kernel", ["pools", "all"])
@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_second_apply_changes_nothing(
    tmp_path: Path, name: str, flag: str, kernel: str
) -> None:
    package = shape(name, tmp_path)
    untouched = snapshot(package)
    arguments = ("--copy-flag", flag, "--kernel", kernel, package)
    assert apply("--check", *arguments).code == 1
    assert apply("--diff", *arguments).out
    assert snapshot(package) == untouched
    assert apply(*arguments).code == 0
    rewritten = snapshot(package)
    assert rewritten != untouched
    assert set(rewritten) == set(untouched)  # and no temporary file is left
    again = apply(*arguments)
    assert again.code == 0
    assert "is implemented; there is nothing to do" in again.out
    assert apply("--check", *arguments).code == 0
    assert not apply("--diff", *arguments).out
    assert snapshot(package) == rewritten


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("name", SHAPES)
def test_every_sub_pool_is_built_with_the_flag_and_moved(
    tmp_path: Path, name: str, flag: str
) -> None:
    package = shape(name, tmp_path)
    assert apply("--copy-flag", flag, package).code == 0
    path = package / WRAPPER[name]
    built: dict[str, list[str]] = {}
    for node in ast.walk(find(path, "LayeredPool", "__init__")):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        for call in ast.walk(node.value):
            if isinstance(call, ast.Call):
                given = [k.value for k in call.keywords if k.arg == FLAG]
                where = ast.unparse(target).removeprefix("self.")
                built.setdefault(where, []).extend(map(ast.unparse, given))
    assert set(built) == SUB_POOLS[name]
    value = "True" if flag == "always" else FLAG
    assert {v for values in built.values() for v in values} == {value}
    assert all(built.values())
    move = find(path, "LayeredPool", "move_kv_cache")
    named = [n.attr for n in ast.walk(move) if isinstance(n, ast.Attribute)]
    assert set(named) - {"move_kv_cache", "Tensor"} == SUB_POOLS[name]
    assert named.count("move_kv_cache") == 1


@pytest.mark.parametrize("name", SHAPES)
def test_spec_only_passes_what_the_siblings_pass(tmp_path: Path, name: str) -> None:
    package = shape(name, tmp_path)
    assert apply("--copy-flag", "spec-only", package).code == 0
    text = (package / BUILD).read_text()
    given = [line.split(f"{FLAG}=")[1] for line in text.splitlines() if FLAG in line]
    owner = "self." if name == "params" else ""
    assert len(given) == 2  # the sibling's, and now the wrapper's
    for value in given:
        assert value.startswith(f"({owner}options.speculative is not None)")
    init = find(package / WRAPPER[name], "LayeredPool", "__init__")
    assert isinstance(init, ast.FunctionDef)
    assert FLAG in [a.arg for a in [*init.args.args, *init.args.kwonlyargs]]


def test_the_kernel_goes_where_others_import_from(tmp_path: Path) -> None:
    package = shape("params", tmp_path)
    assert apply(package).code == 0
    homes = [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        if "def move_kv_rows(" in path.read_text()
    ]
    assert homes == [KEYS]
    text = (package / "srt/hardware/chip_pools.py").read_text()
    assert "pool.keys import KeyPool, move_kv_rows, plan_kv_row_move\n" in text
    head = (package / KEYS).read_text().split("\n\n\n")[0].splitlines()
    assert head[-5:-1] == [
        "import torch",
        "import triton",
        "import triton.language as tl",
        "",
    ]


def test_what_only_type_checkers_import_closes_no_circle(tmp_path: Path) -> None:
    """keys.py sees the other module's pools in annotations only."""
    package = shape("params", tmp_path)
    edit(
        package / KEYS,
        (
            "import torch\n",
            "from typing import TYPE_CHECKING\n\nimport torch\n",
        ),
        (
            "\n\nclass KeyPool",
            "\nif TYPE_CHECKING:\n"
            "    from sglang.srt.hardware.chip_pools import ChipKeyPool\n"
            "\n\nclass KeyPool",
        ),
    )
    assert apply(package).code == 0
    assert "import move_kv_rows" not in (package / KEYS).read_text()
    assert "def move_kv_rows(" in (package / KEYS).read_text()


def test_two_modules_that_do_not_know_each_other_get_a_kernel_each(
    tmp_path: Path,
) -> None:
    package = shape("params", tmp_path)
    chip = package / "srt/hardware/chip_pools.py"
    text = chip.read_text()
    text = text.replace("from sglang.srt.mem_cache.pool.keys import KeyPool\n", "")
    text = text.replace("class ChipKeyPool(KeyPool):", "class ChipKeyPool(RowPool):")
    text = text.replace("super(KeyPool, self)", "super(RowPool, self)")
    text = text.replace("            key_index_cls=ChipKeyPool,\n", "")
    chip.write_text(text)
    done = apply(package)
    assert done.code == 0, done.err
    for path in (package / KEYS, chip):
        assert path.read_text().count("def move_kv_rows(") == 1
        compile(path.read_bytes(), path, "exec")


def test_a_relative_import_is_extended_in_its_own_form(tmp_path: Path) -> None:
    package = shape("params", tmp_path)
    edit(
        package / "srt/hardware/chip_pools.py",
        ("from sglang.srt.mem_cache.pool.keys", "from ..mem_cache.pool.keys"),
    )
    assert apply(package).code == 0
    text = (package / "srt/hardware/chip_pools.py").read_text()
    line = "from ..mem_cache.pool.keys import KeyPool, move_kv_rows, plan_kv_row_move\n"
    assert line in text


def test_imports_stand_before_the_kernel_that_needs_them(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    path = package / KEYS
    path.write_text(path.read_text() + "\n\nimport torch.nn\n")
    assert apply(package).code == 0
    text = path.read_text()
    assert text.index("import triton\n") < text.index("@triton.jit")


def test_a_local_of_several_classes_gets_the_flag_on_each_way(tmp_path: Path) -> None:
    package = shape("direct", tmp_path)
    edit(
        package / LAYERED,
        (
            "        self.main_pool = Rows(size, page_size, layers, device)\n",
            "        if layers > 1:\n"
            "            main = Rows(size, page_size, layers, device)\n"
            "        else:\n"
            "            main = keys.KeyPool(size, page_size, layers, device)\n"
            "        self.main_pool = main\n",
        ),
    )
    assert apply(package).code == 0
    text = (package / LAYERED).read_text()
    for callee in ("main = Rows", "main = keys.KeyPool"):
        assert (
            f"{callee}(size, page_size, layers, device, enable_kv_cache_copy=True)"
            in text
        )


def test_a_form_feed_or_a_strange_line_end_hides_nothing(tmp_path: Path) -> None:
    """They end a line for `str.splitlines`, but not for Python."""
    for number, mark in enumerate(("\f", "\u2028", "\x85", "\x1c", "\v")):
        package = shape("direct", tmp_path / str(number))
        for path in (LAYERED, KEYS, ROWS, BUILD):
            text = (package / path).read_text()
            at = text.index('"""') + 3
            (package / path).write_bytes((text[:at] + mark * 90 + text[at:]).encode())
        done = apply("--copy-flag", "spec-only", package)
        assert done.code == 0, (mark, done.err)
        assert "1 composite pool to rewrite" in done.out
        assert "LayeredPool(size" in (package / BUILD).read_text()
        assert (package / BUILD).read_text().count(FLAG) == 2


def test_a_class_that_inherits_a_planning_constructor_needs_none(
    tmp_path: Path,
) -> None:
    package = shape("params", tmp_path)
    chip = package / "srt/hardware/chip_pools.py"
    text = chip.read_text()
    at = text.index("    def __init__(\n        self, size: int")
    end = text.index("        self.k_buffer = [\n            torch.zeros(\n", at)
    chip.write_text(f"{text[:at]}    def _make(self):\n{text[end:]}")
    done = apply(package)
    assert done.code == 0, done.err
    after = chip.read_text()
    assert "class ChipKeyPool(KeyPool):\n    def _make(self):\n" in after
    assert after.count("plan_kv_row_move(") == 1  # ChipRowPool's
    assert apply("--check", package).code == 0
