"""The direction of imports is held by a contract, and the contract bites."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOL = Path(sys.executable).with_name("lint-imports")


def copy(folder: Path) -> Path:
    """The package and its settings, somewhere else."""
    shutil.copytree(
        ROOT / "kvcodemod",
        folder / "kvcodemod",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder / "kvcodemod"


def contracts(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TOOL, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False
    )


def plant(file: Path, line: str) -> None:
    """Put an import at the end, where nothing else on the file changes."""
    file.write_text(f"{file.read_text()}\n{line}\n")


def test_the_package_keeps_its_contracts(tmp_path: Path) -> None:
    copy(tmp_path)
    done = contracts(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        (
            "facts/syntax/memo.py",
            "import kvcodemod.facts.classes.table",
            "kvcodemod.facts.syntax.memo -> kvcodemod.facts.classes.table",
        ),
        (
            "facts/pools/builds.py",
            "import kvcodemod.facts.program.fields",
            "kvcodemod.facts.pools.builds -> kvcodemod.facts.program.fields",
        ),
        (
            "lint/rule.py",
            "import kvcodemod.report.sarif",
            "kvcodemod.lint.rule -> kvcodemod.report.sarif",
        ),
        (
            "tree/source.py",
            "import kvcodemod.config",
            "kvcodemod.tree.source -> kvcodemod.config",
        ),
    ],
    ids=["up in facts", "beside in facts", "up in rooms", "beside on the ground"],
)
def test_a_planted_import_breaks_them(
    tmp_path: Path, file: str, line: str, broken: str
) -> None:
    package = copy(tmp_path)
    target = broken.rpartition(" ")[2].replace(".", "/")
    assert (tmp_path / f"{target}.py").exists()
    plant(package / file, line)
    done = contracts(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert broken in done.stdout


def test_a_new_package_of_facts_needs_its_place(tmp_path: Path) -> None:
    package = copy(tmp_path)
    new = package / "facts" / "unplaced"
    new.mkdir()
    (new / "__init__.py").write_text('"""Nobody said where it stands."""\n')
    done = contracts(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "unplaced" in done.stdout
