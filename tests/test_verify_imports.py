"""The worker before any pool is built: channel, path, and imports that fail.

A stand-in for torch keeps these fast; the worker needs little of it before its cases.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kvcodemod.verify.outcome import Problem
from kvcodemod.verify.run import run_proof
from kvcodemod.verify.subject import Wrapper

WRAPPER = Wrapper("sglang.pools", "Pool", "sglang/pools.py", 7)


def stand_ins(folder: Path) -> Path:
    """A folder with a torch and a triton that can be imported and do nothing."""
    home = folder / "extra"
    (home / "triton-9.9.dist-info").mkdir(parents=True)
    meta = "Metadata-Version: 2.1\nName: triton\nVersion: 9.9\n"
    (home / "triton-9.9.dist-info" / "METADATA").write_text(meta)
    (home / "torch.py").write_text(
        "import types\n__version__ = '0'\n"
        "cuda = types.SimpleNamespace(is_available=lambda: False)\n"
    )
    return home


def problem_of(tmp_path: Path, pools: str, **more: str) -> Problem:
    tree = tmp_path / "tree" / "sglang"
    tree.mkdir(parents=True)
    (tree / "__init__.py").write_text("")
    (tree / "pools.py").write_text(pools)
    extra = stand_ins(tmp_path)
    for name, text in more.items():
        (extra / f"{name}.py").write_text(text)
    report = run_proof(tree, [WRAPPER], extra_path=[extra], timeout=60)
    assert report.status == "unchecked"
    assert report.problem is not None
    assert "Traceback" not in report.problem.message
    return report.problem


def test_a_missing_dependency_is_named_with_the_line_that_wants_it(
    tmp_path: Path,
) -> None:
    problem = problem_of(tmp_path, "x = 1\nimport no_such_thing.inner\n")
    assert problem.kind == "missing-dependency"
    assert "no_such_thing" in problem.message
    assert "pools.py:2" in problem.message
    assert problem.hint.endswith("pip install 'no-such-thing'")


def test_the_requirement_that_the_release_states_is_the_advice(tmp_path: Path) -> None:
    meta = tmp_path / "tree" / "sglang-0.5.99.dist-info"
    meta.mkdir(parents=True)
    (meta / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.99\n"
        "Requires-Dist: pillow>=3 ; extra == 'x'\nRequires-Dist: No_Such==1.2\n"
    )
    problem = problem_of(tmp_path, "import no_such\n")
    assert problem.hint.endswith("pip install 'No_Such==1.2'")


@pytest.mark.parametrize(
    ("module", "wanted"),
    [("zmq_none", "zmq-none"), ("sgl_kernel", "sglang-kernel")],
)
def test_names_to_install_are_those_of_the_index(
    tmp_path: Path, module: str, wanted: str
) -> None:
    problem = problem_of(tmp_path, f"import {module}\n")
    assert problem.hint.endswith(f"pip install '{wanted}'")


def test_a_name_that_an_installed_package_lacks(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "from other import gone\n", other="x = 1\n")
    assert problem.kind == "unsuitable-dependency"
    assert "gone" in problem.message
    assert "other" in problem.hint


def test_a_syntax_error_names_file_and_line(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "x = 1\nclass Pool(:\n")
    assert problem.kind == "import-error"
    assert "pools.py:2" in problem.message


def test_an_error_of_the_tree_itself(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "\n\nraise ValueError('odd tree')\n")
    assert problem.kind == "import-error"
    assert "pools.py:3" in problem.message
    assert "odd tree" in problem.message


def test_a_module_of_the_tree_that_is_missing(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "import sglang.gone\n")
    assert problem.kind == "import-error"
    assert "sglang.gone" in problem.message


def test_a_tree_that_exits_on_import(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "import sys; sys.exit('go away')\n")
    assert problem.kind == "import-error"
    assert "go away" in problem.message


def test_a_class_that_is_not_there_after_import(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "Pool = 3\n")
    assert problem.kind == "import-error"
    assert "no class Pool" in problem.message


def test_a_tree_that_kills_its_process(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "import os; os.abort()\n")
    assert problem.kind == "crash"
    assert "SIGABRT" in problem.message
    assert "importing sglang.pools" in problem.message


def test_what_the_tree_prints_stays_off_the_channel(tmp_path: Path) -> None:
    noise = (
        "import os, sys\n"
        'print(\'{"event": "done"}\', flush=True)\n'
        'os.write(1, b\'{"event": "done"}\\n\')\n'
        "os.system('echo noise')\n"
        'sys.__stdout__.write(\'{"event": "done"}\\n\'); sys.__stdout__.flush()\n'
        "import no_such_thing\n"
    )
    problem = problem_of(tmp_path, noise)
    assert problem.kind == "missing-dependency"


def test_another_sglang_ahead_on_the_path(tmp_path: Path) -> None:
    tree = tmp_path / "tree" / "sglang"
    tree.mkdir(parents=True)
    (tree / "__init__.py").write_text(
        f"__path__ = [{str(tmp_path / 'other')!r}]\n",
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pools.py").write_text("class Pool: pass\n")
    report = run_proof(tree, [WRAPPER], extra_path=[stand_ins(tmp_path)])
    assert report.problem is not None
    assert report.problem.kind == "wrong-package"


def test_a_python_without_triton(tmp_path: Path) -> None:
    pytest.importorskip("venv")
    import shutil
    import sys

    bare = tmp_path / "bare"
    import venv

    venv.create(bare, with_pip=False, symlinks=True)
    extra = stand_ins(tmp_path)
    shutil.rmtree(extra / "triton-9.9.dist-info")
    python = bare / "bin" / "python"
    report = run_proof(tmp_path, [WRAPPER], python=str(python), extra_path=[extra])
    assert report.problem is not None
    assert report.problem.kind == "missing-dependency"
    assert "pip install 'triton'" in report.problem.hint
    (extra / "torch.py").unlink()
    report = run_proof(tmp_path, [WRAPPER], python=str(python), extra_path=[extra])
    assert report.problem is not None
    assert report.problem.kind == "missing-dependency"
    assert "pip install 'torch'" in report.problem.hint
    assert sys.version_info >= (3, 10)


def test_the_tree_gets_no_bytecode(tmp_path: Path) -> None:
    problem_of(tmp_path, "import no_such_thing\n")
    assert not list((tmp_path / "tree").rglob("__pycache__"))
