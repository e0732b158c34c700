"""Small comforts: completion, a fast start, colour where it is wanted, next steps."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from apply_trees import shape
from gate_trees import edit, lint, run, small
from installs import clean_env, sh
from terminals import on_a_terminal

from kvcodemod import __version__
from kvcodemod.cli import _COMMANDS

HEAVY = ("libcst", "rich", "torch", "kvcodemod.facts", "kvcodemod.rewrite")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return small(tmp_path)


def _loaded(*arguments: str, cwd: Path) -> set[str]:
    """The modules that a run of the command has imported by its end."""
    code = (
        "import sys\nfrom kvcodemod.cli import main\n"
        f"try: main({list(arguments)!r})\n"
        "except SystemExit as error: assert not error.code, error\n"
        "print('MODULES', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("MODULES ")[2].split())


@pytest.mark.parametrize("argument", ["--help", "-h", "--version"])
def test_help_starts_without_what_is_heavy(argument: str, tmp_path: Path) -> None:
    """Help in a third of a second; what takes time is what is imported."""
    assert _loaded(argument, cwd=tmp_path).isdisjoint(HEAVY)


def test_lint_starts_without_what_it_does_not_need(tree: Path) -> None:
    """The hook runs it on every commit; no terminal, no edit, no proof."""
    loaded = _loaded("lint", str(tree), "--no-cache", "--fail-on=never", cwd=tree)
    assert "kvcodemod.facts.paths.reach" in loaded
    assert loaded.isdisjoint({"libcst", "rich", "torch", "numpy", "yaml"})


@pytest.mark.parametrize("name", list(_COMMANDS))
def test_every_command_has_help_that_names_its_options(name: str) -> None:
    done = run(name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: main {name}")
    assert run("--help").out.count(f"\n  {name} ") == 1


def test_version() -> None:
    assert run("--version").out == f"kvcodemod, version {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_commands_and_options(shell: str, tmp_path: Path) -> None:
    """As docs/troubleshooting.md says to switch it on."""
    tool = f"{Path(sys.executable).parent}/kvcodemod"
    if shell != "bash":  # bash looks for a bash of version 4.4 or newer first
        source = sh(f"_KVCODEMOD_COMPLETE={shell}_source {tool}", tmp_path)
        assert "_KVCODEMOD_COMPLETE" in source

    def completed(words: str, count: int) -> list[str]:
        env = {
            "_KVCODEMOD_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": words.split()[-1] if shell == "fish" else str(count),
        }
        out = sh(tool, tmp_path, None, env)
        return out.replace(",", "\n").replace("\t", "\n").split("\n")

    assert "matrix" in completed("kvcodemod ma", 1)
    options = completed("kvcodemod lint --show", 2)
    assert "--show-suppressed" in options
    formats = completed("kvcodemod lint --output-format s", 3)
    assert "sarif" in formats


def _on_a_terminal(command: list[str], env: dict[str, str]) -> str:
    return on_a_terminal(command, clean_env({"TERM": "xterm", **env}))


def test_colour_only_on_a_terminal_and_not_with_no_color(tree: Path) -> None:
    command = [sys.executable, "-m", "kvcodemod", "lint", str(tree), "--no-cache"]
    assert "\x1b[" in _on_a_terminal(command, {})
    assert "\x1b[" not in _on_a_terminal(command, {"NO_COLOR": "1"})
    assert "\x1b[" not in _on_a_terminal(command, {"TERM": "dumb"})
    piped = subprocess.run(command, capture_output=True, text=True, env=clean_env())
    assert "\x1b[" not in piped.stdout + piped.stderr


def test_statistics_count_by_rule(tree: Path) -> None:
    done = lint(tree, "--statistics")
    assert done.code == 1
    assert done.out == "    2  KVC001\nfound 2 errors\n"


def test_messages_suggest_the_next_command(tree: Path) -> None:
    done = lint(tree)
    assert "`kvcodemod explain CODE`" in done.out
    assert "--write-baseline FILE" in done.err
    wrong = lint(tree, "--select=KVC555")
    assert wrong.code == 2
    assert "KVC001" in wrong.err
    missing = lint(tree / "nowhere")
    assert missing.code == 2
    assert "give a checkout" in missing.err or "no such file" in missing.err


def test_apply_suggests_the_proof(tmp_path: Path) -> None:
    folder = shape("direct", tmp_path)
    assert "to prove it" not in run("apply", folder, "--check").err
    assert f"to prove it: kvcodemod verify {folder}" in run("apply", folder).err
    assert run("apply", folder).err == ""  # nothing was left to do


def test_a_clean_run_says_what_it_looked_at(tree: Path) -> None:
    edit(tree, "raise NotImplementedError", "return print", count=2)
    done = lint(tree)
    assert done.code == 0
    assert done.err == ""
    assert done.out.startswith("nothing found: 4 pool classes")


def test_results_and_messages_do_not_mix(tree: Path) -> None:
    """A warning goes to stderr, so that `> out.json` stays JSON."""
    (tree / "pyproject.toml").write_text(
        '[tool.kvcodemod.per-file-ignores]\n"no/file.py" = ["KVC001"]\n'
    )
    done = lint(tree, "--output-format=json")
    assert done.out.startswith("{")
    assert "no/file.py matches no file" in done.err


def _program(*arguments: str, stdout: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kvcodemod", *arguments]
    out = subprocess.PIPE if stdout is None else stdout
    return subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["rules"], ["lint", "TREE", "--no-cache"]])
def test_a_report_that_cannot_be_written(command: list[str], tree: Path) -> None:
    words = [str(tree) if word == "TREE" else word for word in command]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        program = _program(*words, stdout=full.fileno())
        _, err = program.communicate()
    assert program.returncode == 3
    assert "kvcodemod: No space left on device" in err
    assert "Traceback" not in err


def test_a_reader_that_has_seen_enough(tree: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    program = _program("lint", str(tree), "--no-cache", stdout=write)
    os.close(write)
    _, err = program.communicate()
    assert program.returncode != 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["lint", "/none"], 2), (["-x"], 2)]
)
def test_the_program_ends_with_the_code_of_its_command(
    arguments: list[str], code: int
) -> None:
    program = _program(*arguments)
    out, err = program.communicate()
    assert program.returncode == code
    assert bool(out) == (code == 0)
    assert bool(err) == (code != 0)


@pytest.mark.parametrize("name", ["lint", "apply", "matrix"])
def test_a_caller_keeps_its_garbage_collection(
    name: str, tree: Path, tmp_path: Path
) -> None:
    """Only the program, which ends right behind it, does without."""
    assert gc.isenabled()
    target = shape("direct", tmp_path / "shape") if name == "apply" else tree
    assert run(name, str(target)).code in (0, 1)
    assert gc.isenabled()


@pytest.mark.parametrize("name", ["lint", "apply", "matrix"])
def test_an_interruption_is_no_finding(
    name: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kvcodemod.tree.source.SourceTree._walk", interrupt)
    done = run(name, str(tree))
    assert done.code == 3
    assert done.err == "kvcodemod: interrupted\n"
