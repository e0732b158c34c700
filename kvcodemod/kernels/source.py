"""The text that `apply` injects: the top-level functions of `move_kv_rows.py`.

Read from the file with `ast`, never imported: kvcodemod itself needs neither torch nor
triton.
"""

from __future__ import annotations

import ast
from pathlib import Path

MODULE = Path(__file__).with_name("move_kv_rows.py")
"""The one source of truth: a module that is tested as it stands and injected from."""


def injected_source(module: Path = MODULE) -> str:
    """The functions of `module` in file order, as written, two blank lines between.

    Decorators and the comments that stand directly above a function go with it. The
    text ends with one newline.
    """
    lines = module.read_text(encoding="utf-8").splitlines()
    texts = []
    for function in _functions(module):
        first = min(
            [function.lineno, *(mark.lineno for mark in function.decorator_list)]
        )
        while first > 1 and lines[first - 2].startswith("#"):
            first -= 1
        texts.append("\n".join(lines[first - 1 : function.end_lineno]))
    return "\n\n\n".join(texts) + "\n"


def injected_names(module: Path = MODULE) -> list[str]:
    """The names of those functions, in the same order."""
    return [function.name for function in _functions(module)]


def _functions(module: Path) -> list[ast.FunctionDef]:
    tree = ast.parse(module.read_text(encoding="utf-8"), filename=str(module))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]
