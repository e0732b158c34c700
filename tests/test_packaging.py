"""Wheel, sdist and plugins, installed and run in clean environments."""

from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from apply_trees import FIXTURES
from gate_trees import small
from installs import ROOT, environment, project, sh
from needs import need

from kvcodemod import __version__

need("build")
pytestmark = pytest.mark.slow

RUN_TIME = {"click", "libcst", "rich"}
"""What pyproject.toml names; everything else in the environment comes with these."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist of the project, and a wheel that was built from the sdist."""
    source = project(tmp_path_factory.mktemp("source"))
    out = tmp_path_factory.mktemp("dist")
    sh(f"python -m build --outdir {out} {source}", source)
    return out


@pytest.fixture(scope="module")
def bin_dir(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment that holds the wheel and its run-time dependencies."""
    found = environment(tmp_path_factory.mktemp("clean"))
    sh(f"{found}/python -m pip install -q {_wheel(dist)}", found)
    return found


def _wheel(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def test_the_wheel_holds_the_package_and_nothing_else(dist: Path) -> None:
    names = zipfile.ZipFile(_wheel(dist)).namelist()
    info = f"kvcodemod-{__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"kvcodemod", info}
    wanted = {
        f"kvcodemod/{path.relative_to(ROOT / 'kvcodemod').as_posix()}"
        for path in (ROOT / "kvcodemod").rglob("*.py")
    }
    wanted |= {f"kvcodemod/rules/{path.name}" for path in (ROOT / "rules").glob("*.py")}
    wanted |= {"kvcodemod/py.typed", "kvcodemod/kvcodemod.schema.json"}
    assert wanted - set(names) == set()
    assert f"{info}/licenses/LICENSE" in names


def test_the_sdist_has_no_bytes_of_the_cache(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert f"kvcodemod-{__version__}/rules/unsupported_pool_method.py" in names
    assert not [name for name in names if "__pycache__" in name or ".demo" in name]


def test_it_runs_with_the_run_time_dependencies_only(
    bin_dir: Path, tmp_path: Path
) -> None:
    listed = json.loads(sh(f"{bin_dir}/python -m pip list --format json", tmp_path))
    names = {item["name"] for item in listed}
    assert names >= RUN_TIME | {"kvcodemod"}
    assert not names & {"torch", "numpy", "triton", "pytest", "ruff", "mypy"}
    small(tmp_path / "small")
    shutil.copytree(FIXTURES / "direct" / "sglang", tmp_path / "wide" / "sglang")
    tool = f"{bin_dir}/kvcodemod"
    assert sh(f"{tool} --version", tmp_path).strip().endswith(__version__)
    assert "KVC001" in sh(f"{tool} rules", tmp_path)
    assert "What it does" in sh(f"{tool} explain KVC004", tmp_path)
    assert "$schema" in sh(f"{tool} config --schema", tmp_path)
    assert "found 2 errors" in sh(f"{tool} lint small --no-cache", tmp_path, 1)
    assert "SplitPool" in sh(f"{tool} matrix small", tmp_path)
    assert "changed" in sh(f"{tool} apply wide", tmp_path)
    assert "nothing" in sh(f"{tool} apply wide", tmp_path)
    assert "found 2" in sh(f"{bin_dir}/python -m kvcodemod lint small", tmp_path, 1)


def test_verify_without_torch_says_what_is_missing(
    bin_dir: Path, tmp_path: Path
) -> None:
    shutil.copytree(FIXTURES / "direct" / "sglang", tmp_path / "sglang")
    out = sh(f"{bin_dir}/kvcodemod verify .", tmp_path, 3)
    assert "torch" in out
    assert "Traceback" not in out


@pytest.mark.parametrize("how", ["wheel", "editable"])
def test_no_package_named_rules_lands_beside_others(
    bin_dir: Path, tmp_path: Path, how: str
) -> None:
    found = bin_dir
    if how == "editable":
        found = environment(tmp_path / "env")
        copy = project(tmp_path / "copy")
        sh(f"{found}/python -m pip install -q -e {copy}", tmp_path)
        assert "KVC001" in sh(f"{found}/kvcodemod rules", tmp_path)
    out = sh(f"{found}/python -c 'import rules'", tmp_path, 1)
    assert "No module named 'rules'" in out
    sh(f"{found}/python -c 'import kvcodemod.rules'", tmp_path)


def test_the_sdist_installs(dist: Path, tmp_path: Path) -> None:
    found = environment(tmp_path / "env")
    (sdist,) = dist.glob("*.tar.gz")
    sh(f"{found}/python -m pip install -q {sdist}", tmp_path)
    assert "KVC001" in sh(f"{found}/kvcodemod rules", tmp_path)


PLUGIN = """\
from kvcodemod.findings import Finding
from kvcodemod.lint.rule import Rule


def check(reach):
    for name in sorted(reach.program.pools):
        cls = reach.program.table.classes[name]
        yield Finding(
            rule="KVX001", name="every-pool", severity="warning", confidence="low",
            message=f"{cls.name} is a pool", path=cls.path, line=cls.line, column=1,
            symbol=cls.name, affected=(name,), trace=(), key=name,
        )


def breaks(reach):
    raise ValueError("half way")


def gives_words(reach):
    return ["a word"]


def rule(code, name, check):
    return Rule(
        code=code, name=name, severity="warning", summary="Every pool.", what="w",
        why="y", mend="m", limits="l", fails=(), passes=(), check=check,
    )


RULE = rule("KVX001", "every-pool", check)
BREAKS = rule("KVX002", "breaks-off", breaks)
WORDS = rule("KVX006", "gives-words", gives_words)
"""


def _plugin(folder: Path, **points: str) -> Path:
    folder.mkdir()
    (folder / "kvx_rules.py").write_text(PLUGIN)
    lines = "\n".join(f'{name} = "{value}"' for name, value in points.items())
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\n'
        'build-backend = "setuptools.build_meta"\n'
        '[project]\nname = "kvx-rules"\nversion = "1"\n'
        f'[project.entry-points."kvcodemod.rules"]\n{lines}\n'
        '[tool.setuptools]\npy-modules = ["kvx_rules"]\n'
    )
    return folder


def test_rules_of_another_package(dist: Path, tmp_path: Path) -> None:
    """One that works, one that cannot be imported, one that is no rule, one taken."""
    found = environment(tmp_path / "env")
    plugin = _plugin(
        tmp_path / "plugin",
        KVX001="kvx_rules:RULE",
        KVX003="kvx_gone:RULE",
        KVX004="kvx_rules:PLUGIN",
        KVX005="kvx_rules:check",
    )
    sh(f"{found}/python -m pip install -q {_wheel(dist)} {plugin}", tmp_path)
    tool = f"{found}/kvcodemod"
    small(tmp_path / "small")
    listed = sh(f"{tool} rules", tmp_path)
    assert "KVX001  warning  every-pool" in listed
    assert "Every pool." in sh(f"{tool} explain every-pool", tmp_path)
    out = sh(f"{tool} lint small --no-cache --output-format concise", tmp_path, 1)
    assert "warning[KVX001] SplitPool is a pool" in out
    assert "error[KVC001]" in out  # the others still run
    for name in (
        "KVX003 (kvx_gone:RULE): ModuleNotFoundError",
        "KVX004 (kvx_rules:PLUGIN): AttributeError",
        "KVX005 (kvx_rules:check): not a kvcodemod.lint.rule.Rule",
    ):
        assert name in listed
        assert name in out
    assert "Traceback" not in out
    chosen = sh(f"{tool} lint small --select KVX001 --no-cache", tmp_path)
    assert "KVC001" not in chosen
    assert "| class SplitPool(PlainPool):" in chosen  # full text without a chain
    (tmp_path / "small/pyproject.toml").write_text(
        '[tool.kvcodemod]\nignore = ["every-pool", "KVC"]\n'
    )
    assert "KVX001]" not in sh(f"{tool} lint small --no-cache", tmp_path)


def test_a_rule_that_breaks_off_is_named_and_the_others_are_shown(
    dist: Path, tmp_path: Path
) -> None:
    found = environment(tmp_path / "env")
    plugin = _plugin(
        tmp_path / "plugin", KVX002="kvx_rules:BREAKS", W="kvx_rules:WORDS"
    )
    sh(f"{found}/python -m pip install -q {_wheel(dist)} {plugin}", tmp_path)
    small(tmp_path / "small")
    out = sh(f"{found}/kvcodemod lint small --no-cache", tmp_path, 3)
    assert "KVX002: ValueError: half way" in out
    assert "KVX006: TypeError: it gave str, not a Finding" in out
    assert "found 2 errors" in out
    assert "Traceback" not in out
