"""The text that is injected: small, self-contained, clean, and read without torch."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
from pathlib import Path

from needs import need

from kvcodemod.kernels.source import MODULE, injected_names, injected_source

HEAD = """\
from __future__ import annotations

import torch
import triton
import triton.language as tl


"""
"""What the top of SGLang's `memory_pool.py` has in every release, 0.5.15 to 0.5.23."""


def ruff(*arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def foreign_names(text: str) -> set[str]:
    """Names that the text reads but nothing in it, in HEAD or in builtins binds."""
    tree = ast.parse(HEAD + text)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    bound |= {*dir(builtins), "torch", "triton", "tl"}
    return {node.id for node in names} - bound


def test_the_names_are_the_ones_the_rewriter_calls() -> None:
    assert injected_names() == [
        "_move_kv_rows_kernel",
        "plan_kv_row_move",
        "move_kv_rows",
    ]


def test_the_module_holds_imports_and_functions_only() -> None:
    kinds = [type(node) for node in ast.parse(MODULE.read_text("utf-8")).body]
    assert kinds[0] is ast.Expr  # the docstring
    assert set(kinds[1:]) == {ast.ImportFrom, ast.Import, ast.FunctionDef}


def test_every_function_is_there_as_written() -> None:
    text, whole = injected_source(), MODULE.read_text("utf-8")
    parts = text.rstrip("\n").split("\n\n\n")
    assert len(parts) == len(injected_names())
    assert all(part in whole for part in parts)
    # The decorator, and the comment above it, belong to the kernel.
    assert parts[0].startswith("# ")
    assert "\n@triton.jit(" in parts[0]
    assert text.endswith("\n")
    assert whole.endswith(text)


def test_it_is_small() -> None:
    assert len(injected_source().splitlines()) <= 86  # each is a line of the diff


def test_it_needs_nothing_but_torch_and_triton() -> None:
    assert foreign_names(injected_source()) == set()
    assert foreign_names("def f():\n    return math.gcd(1, 2)\n") == {"math"}


def test_public_functions_say_what_they_take_and_raise() -> None:
    for node in ast.parse(injected_source()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            doc = ast.get_docstring(node) or ""
            assert "Raises" in doc, node.name
            assert "[" in doc, node.name  # a shape


def test_sglangs_linters_accept_it() -> None:
    need("ruff")
    text = HEAD + injected_source()
    checked = ruff("check", "--select", "E,F,I,UP,B", text=text)
    assert checked.returncode == 0, checked.stdout
    formatted = ruff("format", "--line-length", "88", text=text)
    assert formatted.stdout == text
    assert ruff("check", "--select", "F", text=text + "x = undefined\n").returncode == 1


def test_it_is_read_without_torch_or_triton() -> None:
    code = (
        "import sys; sys.modules.update(torch=None, triton=None)\n"
        "from kvcodemod.kernels.source import injected_source\n"
        "print(len(injected_source()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(injected_source())


def test_comments_and_decorators_of_any_module_go_along(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "X = 1\n\n# why\n@mark\ndef f():\n    pass\n\n\nasync_ = 2\n# last\n"
    )
    assert injected_source(path) == "# why\n@mark\ndef f():\n    pass\n"
    assert injected_names(path) == ["f"]
