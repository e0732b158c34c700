"""`matrix` against the running classes of real releases, class by class."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from proof_env import extra_path
from releases import pristine

from kvcodemod.matrix import build_matrix
from kvcodemod.tree.locate import find_package
from kvcodemod.tree.source import SourceTree

ORACLE = Path(__file__).with_name("matrix_oracle.py")


@pytest.mark.release
@pytest.mark.proof
@pytest.mark.parametrize("version", ["0.5.17", "0.5.20", "0.5.23"])
def test_agrees_with_the_running_classes(version: str) -> None:
    home = pristine(version)
    matrix = build_matrix(SourceTree(find_package(home)))
    wanted = {row.qualname: list(row.methods) for row in matrix.rows}
    path = os.pathsep.join(map(str, [*extra_path(version), home]))
    env = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, str(ORACLE)],
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.stdout, done.stderr[-3000:]
    said = json.loads(done.stdout)
    names = {row.qualname for row in matrix.rows}
    assert set(said["below"]) <= names
    assert not [name for name in names if "error" in said["classes"][name]]
    differences = []
    for row in matrix.rows:
        running = said["classes"][row.qualname]
        if running["mro"] != list(row.order):
            differences.append((row.qualname, running["mro"], row.order))
        for method, cell in row.methods.items():
            other = running["methods"][method]
            first, last = other.get("lines", (None, None))
            same = (
                cell.verdict == _by_contract(other)
                and cell.defined_in == other.get("defined_in")
                and (cell.line is None or first <= cell.line <= last)
            )
            if not same:
                differences.append((row.qualname, method, cell, other))
    assert not differences


def _by_contract(cell: dict[str, object]) -> object:
    """Compiled code cannot tell a bare `return`, which is no no-op by the contract."""
    if cell["verdict"] != "noop":
        return cell["verdict"]
    first, last = cell["lines"]
    lines = Path(str(cell["file"])).read_text().splitlines()[first - 1 : last]
    indent = len(lines[0]) - len(lines[0].lstrip())
    function = ast.parse("\n".join(line[indent:] for line in lines)).body[0]
    assert isinstance(function, ast.FunctionDef)
    return "ok" if isinstance(function.body[-1], ast.Return) else "noop"
