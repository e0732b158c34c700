"""A copy of the project as a repository, and clean environments to install it in."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
TAG = "v0.1.0"


def sh(
    command: str, cwd: Path, code: int | None = 0, env: dict[str, str] | None = None
) -> str:
    """Run a command line in bash; gives stdout and stderr together.

    Raises:
        AssertionError: it did not end with `code` (None: any).
    """
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=cwd,
        env=clean_env(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = f"$ {command}\nexit {done.returncode}\n{done.stdout}"
    assert code is None or done.returncode == code, said
    return done.stdout


def clean_env(more: dict[str, str] | None = None) -> dict[str, str]:
    """The environment without what a runner, a hook or a checkout may have set."""
    dropped = ("GIT_", "GITHUB_", "PRE_COMMIT", "VIRTUAL_ENV", "PYTHONPATH", "COV_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    # the tools that this Python was installed with come first
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "test"), ("EMAIL", "test@example.invalid"))
    }
    quiet = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    return {**kept, **identity, **quiet, **(more or {})}


def project(folder: Path) -> Path:
    """The project's files, as they are now, committed and tagged in a repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        env=clean_env(),
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, os.fsdecode(listed).split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    commit_all(folder)
    sh(f"git tag {TAG}", folder)
    return folder


def commit_all(folder: Path) -> None:
    """Make a folder a repository with everything committed."""
    sh("git init -q -b main && git add -A && git commit -qm all", folder)


def environment(folder: Path) -> Path:
    """A clean virtual environment; returns its `bin/`."""
    venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
    return folder / ("Scripts" if sys.platform == "win32" else "bin")
