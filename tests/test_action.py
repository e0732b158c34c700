"""The GitHub action and the snippets for CI: valid, and their steps run as scripts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from gate_trees import edit, small
from installs import ROOT, clean_env, commit_all, project, sh
from needs import need

yaml = need("yaml")
need("check_jsonschema")

CI_PAGE = ROOT / "docs" / "ci.md"


@dataclass(frozen=True)
class Job:
    """What the action's steps did."""

    code: int
    log: str
    summary: str
    workspace: Path

    @property
    def sarif(self) -> dict[str, Any]:
        return json.loads((self.workspace / "kvcodemod.sarif").read_text())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("action"))


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner's temporary folder; installing twice into it is quick."""
    return tmp_path_factory.mktemp("runner")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    small(folder / "python")
    commit_all(folder)
    return folder


def _evaluate(text: str, inputs: dict[str, str], action: Path) -> str:
    """`${{ inputs.x }}` and `${{ github.action_path }}`, and nothing else."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name == "github.action_path":
            return str(action)
        kind, _, key = name.partition(".")
        assert kind == "inputs", name
        return inputs[key]

    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", value, text)


def _job(action: Path, runner: Path, workspace: Path, **given: str) -> Job:
    """Run the action's steps as a runner would, as far as that goes without GitHub."""
    document = yaml.safe_load((action / "action.yml").read_text())
    inputs = {k: str(v["default"]) for k, v in document["inputs"].items()}
    inputs.update({name.replace("_", "-"): value for name, value in given.items()})
    summary = runner / "summary.md"
    summary.write_text("")
    log, code = "", 0
    for step in document["runs"]["steps"]:
        if "run" not in step:
            continue
        assert "${{" not in step["run"], "an input in a script is a shell injection"
        env = {k: _evaluate(v, inputs, action) for k, v in step.get("env", {}).items()}
        env |= {
            "RUNNER_TEMP": str(runner),
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_STEP_SUMMARY": str(summary),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=workspace,
            env=clean_env(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        log, code = log + done.stdout, done.returncode
        if code:
            break
    return Job(code, log, summary.read_text(), workspace)


def test_it_is_valid() -> None:
    _valid("vendor.github-actions", ROOT / "action.yml")


def test_every_input_is_used_and_described() -> None:
    text = (ROOT / "action.yml").read_text()
    for name, item in yaml.safe_load(text)["inputs"].items():
        assert f"inputs.{name} " in text, name
        assert item["description"]
        assert f"`{name}`" in CI_PAGE.read_text(), name


def test_the_report_is_uploaded_unless_switched_off() -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    upload = next(step for step in steps if "uses" in step)
    assert upload["uses"].startswith("github/codeql-action/upload-sarif@")
    assert upload["with"]["sarif_file"] == "${{ inputs.sarif-file }}"
    assert upload["if"] == "inputs.upload-sarif == 'true'"
    assert steps.index(upload) < len(steps) - 1  # the step that fails comes last


@pytest.mark.slow
def test_a_tree_with_findings(action: Path, runner: Path, workspace: Path) -> None:
    job = _job(action, runner, workspace)
    assert job.code == 1, job.log
    assert job.log.count("::error file=python/sglang/srt/mem_cache/pools.py") == 2
    assert len(job.sarif["runs"][0]["results"]) == 2
    assert "found 2 errors" in job.summary
    assert "keep_accepted" in job.summary


@pytest.mark.slow
def test_a_clean_tree(action: Path, runner: Path, workspace: Path) -> None:
    edit(workspace / "python", "raise NotImplementedError", "return print", count=2)
    job = _job(action, runner, workspace)
    assert job.code == 0, job.log
    assert job.sarif["runs"][0]["results"] == []
    assert "nothing found" in job.summary


@pytest.mark.slow
def test_its_inputs(action: Path, runner: Path, workspace: Path) -> None:
    base = workspace / "old findings.json"
    sh(
        f"{sys.executable} -m kvcodemod lint . --write-baseline '{base}'",
        workspace,
        env={"PYTHONPATH": str(ROOT)},
    )
    job = _job(action, runner, workspace, baseline=base.name, path="python")
    assert job.code == 0, job.log
    assert job.sarif["runs"][0]["results"] == []
    job = _job(action, runner, workspace, fail_on="never")
    assert job.code == 0, job.log
    assert job.log.count("::error ") == 2


@pytest.mark.slow
def test_no_input_is_read_by_the_shell(
    action: Path, runner: Path, workspace: Path
) -> None:
    evil = "$(touch pwned); `touch pwned` \"; touch pwned; '"
    job = _job(action, runner, workspace, path=evil)
    assert job.code == 2
    assert "no such file or folder" in job.log
    assert not (workspace / "pwned").exists()


def test_snippets_are_valid(tmp_path: Path) -> None:
    github, gitlab = _snippets()
    (tmp_path / "github.yml").write_text(github)
    _valid("vendor.github-workflows", tmp_path / "github.yml")
    (tmp_path / "gitlab.yml").write_text(gitlab)
    _valid("vendor.gitlab-ci", tmp_path / "gitlab.yml")


@pytest.mark.slow
def test_the_gitlab_job_runs(action: Path, tmp_path: Path, workspace: Path) -> None:
    """Its script, with the place to install from set to this project."""
    (job,) = (v for v in yaml.safe_load(_snippets()[1]).values() if "script" in v)
    script = "\n".join([*job.get("before_script", []), *job["script"]])
    script = re.sub(r"git\+https://\S+?/kvcodemod@v[\d.]+", str(action), script)
    assert str(action) in script
    venv = tmp_path / "venv"
    sh(f"{sys.executable} -m venv {venv}", tmp_path)
    out = sh(f'PATH="{venv}/bin:$PATH"\n{script}', workspace, 1)
    assert "found 2 errors" in out
    report = job["artifacts"]["reports"]["junit"]
    assert "<failure" in (workspace / report).read_text()


def _snippets() -> tuple[str, str]:
    blocks = re.findall(r"^```yaml\n(.*?)^```", CI_PAGE.read_text(), re.S | re.M)
    github = next(b for b in blocks if "runs-on" in b)
    gitlab = next(b for b in blocks if "artifacts" in b)
    return github, gitlab


def _valid(schema: str, file: Path) -> None:
    command = f"check-jsonschema --builtin-schema {schema} {file}"
    assert "ok -- validation done" in sh(command, ROOT)
