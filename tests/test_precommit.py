"""The hooks, for real: cloned, installed and run by pre-commit."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from apply_trees import FIXTURES
from gate_trees import POOLS, edit, run, small
from installs import ROOT, TAG, commit_all, project, sh
from needs import need
from releases import ALL, copy_of, pristine

yaml = need("yaml")
need("pre_commit")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("kvcodemod"))


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One store of pre-commit's own for all tests: the hooks are installed once."""
    return {"PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("store"))}


@pytest.fixture
def scratch(tmp_path: Path, hooks: Path) -> Path:
    """A repository that pins the hooks; its tree goes to `python/`."""
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: file://{hooks}\n  rev: {TAG}\n"
        "  hooks:\n  - id: kvcodemod-lint\n  - id: kvcodemod-apply\n"
    )
    return tmp_path


def test_the_manifest_is_valid() -> None:
    out = sh("python -m pre_commit validate-manifest .pre-commit-hooks.yaml", ROOT)
    assert out == ""
    hooks = {hook["id"]: hook for hook in _manifest()}
    assert set(hooks) == {"kvcodemod-lint", "kvcodemod-apply"}
    for hook in hooks.values():
        assert hook["pass_filenames"] is False
        assert hook["require_serial"] is True


@pytest.mark.slow
def test_lint_fails_then_is_fixed_then_passes(
    scratch: Path, env: dict[str, str]
) -> None:
    small(scratch / "python")
    commit_all(scratch)
    out = sh("pre-commit run kvcodemod-lint --all-files", scratch, 1, env)
    assert "kvcodemod lint" in out
    assert "Failed" in out
    assert "error[KVC001]" in out
    assert "the path starts here, in speculative decoding" in out
    assert out.count("found 2 errors") == 1  # once, whatever the number of files
    edit(scratch / "python", "raise NotImplementedError", "return print", count=2)
    out = sh("git add -A && pre-commit run kvcodemod-lint", scratch, 0, env)
    assert "Passed" in out
    (scratch / "README.md").write_text("words\n")
    sh("git commit -qam done && git add README.md", scratch)
    assert "Skipped" in sh("pre-commit run kvcodemod-lint", scratch, 0, env)


@pytest.mark.slow
def test_apply_rewrites_and_fails_then_passes(
    scratch: Path, env: dict[str, str]
) -> None:
    shutil.copytree(FIXTURES / "direct" / "sglang", scratch / "python" / "sglang")
    commit_all(scratch)
    out = sh("pre-commit run kvcodemod-apply --all-files", scratch, 1, env)
    assert "Failed" in out
    assert "files were modified by this hook" in out
    changed = sh("git diff --name-only", scratch).split()
    assert "python/sglang/srt/mem_cache/pool/layered.py" in changed
    out = sh("git add -A && pre-commit run kvcodemod-apply", scratch, 0, env)
    assert "Passed" in out
    assert sh("git diff --name-only", scratch) == ""


@pytest.mark.slow
def test_installed_as_a_git_hook_it_stops_a_commit(
    scratch: Path, env: dict[str, str]
) -> None:
    small(scratch / "python")
    edit(scratch / "python", "raise NotImplementedError", "return print", count=2)
    sh("git init -q -b main && git add -A && pre-commit install", scratch, 0, env)
    sh("git commit -qm first", scratch, 0, env)
    edit(scratch / "python", "return print", "raise NotImplementedError")
    out = sh("git commit -qam second", scratch, 1, env)
    assert "SplitPool.move_kv_cache" in out
    assert sh("git log --oneline", scratch).count("\n") == 1


@pytest.mark.slow
def test_try_repo(tmp_path: Path, hooks: Path, env: dict[str, str]) -> None:
    """As a person would try it before there is any configuration."""
    small(tmp_path / "python")
    commit_all(tmp_path)
    command = f"pre-commit try-repo {hooks} kvcodemod-lint --all-files"
    assert "found 2 errors" in sh(command, tmp_path, 1, env)
    edit(tmp_path / "python", "raise NotImplementedError", "return print", count=2)
    assert "Passed" in sh(command, tmp_path, 0, env)


@pytest.mark.release
@pytest.mark.slow
def test_on_a_real_release(scratch: Path, env: dict[str, str]) -> None:
    """Apply fails and mends the MiniMax family; lint passes on the accepted rest."""
    (scratch / "python").mkdir()
    copy_of("0.5.23", scratch / "python")
    commit_all(scratch)
    out = sh("pre-commit run kvcodemod-lint --all-files", scratch, 1, env)
    assert "MiniMaxSparseKVPool.move_kv_cache" in out
    out = sh("pre-commit run kvcodemod-apply --all-files", scratch, 1, env)
    assert "files were modified by this hook" in out
    out = sh("git add -A && pre-commit run --all-files", scratch, 1, env)
    assert "kvcodemod apply" in out
    assert "Passed" in out
    assert "MiniMaxSparseKVPool.move_kv_cache" not in out
    base = scratch / "kvcodemod-baseline.json"
    assert run("lint", scratch, "--write-baseline", base).code == 0
    (scratch / "pyproject.toml").write_text(
        f'[tool.kvcodemod]\nbaseline = "{base.name}"\n'
    )
    out = sh("git add -A && pre-commit run --all-files", scratch, 0, env)
    assert out.count("Passed") == 2, out


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        (f"python/{POOLS}", True),
        (POOLS, True),
        ("srt/speculative/x.py", True),
        ("python/sglang/srt/server_args.py", True),
        ("python/sglang/srt/new_folder/my_pool_factory.py", True),
        ("pyproject.toml", True),
        ("python/pyproject.toml", True),
        ("kvcodemod-baseline.json", True),
        ("python/sglang/srt/models/llama.py", False),
        ("python/sglang/srt/layers/sampler.py", False),
        ("test/srt/mem_cache.md", False),
        ("docs/speculative.md", False),
        ("package.json", False),
    ],
)
def test_when_lint_runs(path: str, runs: bool) -> None:
    assert bool(re.search(_files("kvcodemod-lint"), path)) is runs


@pytest.mark.release
@pytest.mark.parametrize("version", [ALL[0], ALL[-1]])
def test_every_file_with_a_say_starts_a_run(version: str) -> None:
    """Each class of a pool, each step of a chain, each guard; each file apply edits."""
    tree = pristine(version)
    matrix = json.loads(run("matrix", tree, "--output-format=json").out)
    paths = {cls["path"] for cls in matrix["classes"].values()}
    found = json.loads(run("lint", tree, "--output-format=json").out)
    for finding in found["findings"]:
        paths |= {s["path"] for s in (*finding["trace"], *finding["guards"])}
    assert len(paths) > 10
    missed = [p for p in sorted(paths) if not re.search(_files("kvcodemod-lint"), p)]
    assert not missed
    plan = json.loads(run("apply", tree, "--check", "--output-format=json").out)
    edited = [file["path"] for file in plan["files"]]
    assert edited
    assert all(re.search(_files("kvcodemod-apply"), path) for path in edited)


def test_the_project_is_clean_by_its_own_hooks(tmp_path: Path) -> None:
    """All hooks but the types, which `make check` looks at with the same tool."""
    copy = project(tmp_path / "copy")
    env = {"PRE_COMMIT_HOME": str(tmp_path / "store"), "SKIP": "mypy"}
    out = sh("pre-commit run --all-files", copy, 0, env)
    assert out.count("Passed") == 3, out


def _manifest() -> list[dict[str, object]]:
    return yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())  # type: ignore[no-any-return]


def _files(name: str) -> str:
    hook = next(hook for hook in _manifest() if hook["id"] == name)
    return str(hook["files"])
