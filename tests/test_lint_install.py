"""However it is installed, the rules come along, and as no package named `rules`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lint_trees import files
from needs import need
from trees import write_tree

need("setuptools")
ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def _run(*command: str, **more: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        command, capture_output=True, text=True, env={**env, **more}, cwd="/"
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files under version control, as a build sees them."""
    folder = tmp_path_factory.mktemp("source")
    names = _run("git", "-C", str(ROOT), "ls-files", "-z").split("\0")
    for name in filter(None, names):
        if name.startswith(("kvcodemod/", "rules/")) or "/" not in name:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    return folder


def _wheel(source: Path, into: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    _run(*pip, "--no-build-isolation", "--wheel-dir", str(into), str(source))
    (wheel,) = into.glob("*.whl")
    return wheel


def _check(python_path: Path, tree: Path) -> None:
    """The rules run, and each stands in the package."""
    code = "from kvcodemod.cli import main; main()"
    arguments = ["lint", str(tree), "--no-cache", "--output-format", "json"]
    out = _run(
        sys.executable, "-S", "-c", f"{_SITE}; {code}", *arguments,
        KV_TARGET=str(python_path),
    )  # fmt: skip
    assert [f["rule"] for f in json.loads(out)["findings"]] == ["KVC001"]
    where = "import kvcodemod.rules as r; print(r.__file__)"
    out = _run(
        sys.executable, "-S", "-c", f"{_SITE}; {where}", KV_TARGET=str(python_path)
    )
    assert Path(out.strip()).is_relative_to(python_path)


_OTHERS = [path for path in sys.path if path.endswith("site-packages")]
_SITE = (
    "import os, sys; sys.path.insert(0, os.environ['KV_TARGET']); "
    f"sys.path.extend({_OTHERS!r})"
)
"""No `site`, so that the editable installation of a developer is not found first."""


def test_wheel(source: Path, tmp_path: Path) -> None:
    wheel = _wheel(source, tmp_path / "wheels")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"kvcodemod", wheel.name.partition("-py3")[0] + ".dist-info"}
    assert "kvcodemod/rules/unsupported_pool_method.py" in names
    _check(tmp_path / "site", write_tree(tmp_path / "tree", files()))


def test_sdist(source: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys; os.chdir(sys.argv[1]); from setuptools import build_meta; "
        "print(build_meta.build_sdist(sys.argv[2]))"
    )
    (tmp_path / "out").mkdir()
    out = _run(sys.executable, "-c", code, str(source), str(tmp_path / "out"))
    archive = tmp_path / "out" / out.strip().splitlines()[-1]
    wheel = _wheel(archive, tmp_path / "wheels")
    with zipfile.ZipFile(wheel) as opened:
        assert "kvcodemod/rules/missing_pool_method.py" in opened.namelist()
        opened.extractall(tmp_path / "site")
    _check(tmp_path / "site", write_tree(tmp_path / "tree", files()))


def test_editable(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    pip += ["--no-build-isolation", "--target", str(target), "--editable", str(source)]
    _run(*pip)
    names = {path.name for path in target.iterdir()}
    assert "rules" not in names
    code = (
        "import site, os; site.addsitedir(os.environ['KV_TARGET']); "
        "import kvcodemod.rules as r; from kvcodemod.lint.registry import load_rules; "
        "print(r.__file__); print(*load_rules().rules)"
    )
    out = _run(sys.executable, "-S", "-c", f"{_SITE}; {code}", KV_TARGET=str(target))
    place, codes = out.splitlines()
    assert Path(place) == source / "rules" / "__init__.py"
    assert {"KVC001", "KVC002", "KVC003", "KVC004"} <= set(codes.split())
