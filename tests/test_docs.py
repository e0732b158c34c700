"""The documentation builds, is up to date, and is true: its pages are followed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from follow import follow, steps
from gate_trees import POOLS, run, small
from installs import ROOT, commit_all, environment, project, sh
from needs import need
from releases import copy_of

from kvcodemod.cli import _COMMANDS
from kvcodemod.cli.common import CLEAN, FAILED, FOUND, USAGE
from kvcodemod.lint.registry import load_rules

DOCS = ROOT / "docs"
URL = "https://github.com/OWNER/kvcodemod"


@pytest.mark.slow
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    for module in ("sphinx", "myst_parser", "furo"):
        need(module)
    sh(f"{sys.executable} -m sphinx -q -W --keep-going -E {DOCS} {tmp_path}/out", ROOT)
    for rule in load_rules().rules:
        assert (tmp_path / "out/rules" / f"{rule}.html").is_file()


def test_what_is_generated_is_up_to_date() -> None:
    """After a change: `python docs/generate.py`."""
    sh(f"{sys.executable} docs/generate.py --check", ROOT)


def test_the_picture_is_what_a_run_prints_today() -> None:
    """After a change: `python docs/picture.py`."""
    sh(f"{sys.executable} docs/picture.py --check", ROOT)
    assert "docs/terminal.svg" in (ROOT / "README.md").read_text()[:2000]


def test_each_rule_page_answers_the_questions() -> None:
    for rule in load_rules().rules.values():
        text = (DOCS / "rules" / f"{rule.code}.md").read_text()
        for part in (rule.what, rule.why, rule.mend, rule.limits):
            assert part in text
        assert all(example.title in text for example in (*rule.fails, *rule.passes))


@pytest.mark.parametrize(
    "page",
    ["README.md", "CHANGELOG.md", *(f"docs/{p.name}" for p in DOCS.glob("*.md"))],
)
def test_links_lead_somewhere(page: str) -> None:
    file = ROOT / page
    for link in re.findall(r"\]\(([^)#\s]+)", file.read_text()):
        if "://" not in link:
            assert (file.parent / link).exists(), link


def test_every_option_that_a_page_names_exists() -> None:
    """`--no-verify` and its like belong to other programs and stand with their name."""
    known = set()
    for name in _COMMANDS:
        known |= set(re.findall(r"(--[a-z-]+)", run(name, "--help").out))
    known |= {"--version", "--help"}
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    for page in (p for p in pages if not p.name.startswith("triage-")):
        for text in re.findall(r"`([^`\n]+)`", page.read_text()):
            if text.startswith(("--", "kvcodemod ")):
                for option in re.findall(r"(--[a-z][a-z-]+)", text):
                    assert option in known, f"{page.name}: {option}"


def test_exit_codes_are_as_documented(tmp_path: Path) -> None:
    table = (DOCS / "exit-codes.md").read_text()
    assert re.findall(r"^\| (\d) \|", table, re.M) == ["0", "1", "2", "3"]
    assert (CLEAN, FOUND, USAGE, FAILED) == (0, 1, 2, 3)
    tree = small(tmp_path)
    options = ("lint", "--no-cache", tree)
    assert run(*options, "--fail-on=never").code == 0
    assert run(*options).code == 1
    assert run(*options, "--baseline", tree / "none.json").code == 2
    with (tree / POOLS).open("a") as file:
        file.write("def (\n")
    assert run(*options).code == 3


def test_the_follower_can_fail(tmp_path: Path) -> None:
    page = "`a.txt`:\n\n```text\none\n```\n\n```console\n$ cat a.txt\n{}\n```\n"
    assert next(iter(steps(page))) == ("a.txt", "one\n")
    assert follow(page.format("o...e"), tmp_path, {}) == 1
    for wrong in ("two", "[exit 1]", "one\none"):
        with pytest.raises(AssertionError):
            follow(page.format(wrong), tmp_path, {})


@pytest.mark.release
@pytest.mark.slow
def test_the_adoption_page_word_for_word(tmp_path: Path) -> None:
    """In an empty repository that holds a real release, with a clean environment."""
    need("pre_commit")
    hooks = project(tmp_path / "kvcodemod")
    tools = environment(tmp_path / "env")
    work = tmp_path / "work"
    (work / "python").mkdir(parents=True)
    copy_of("0.5.23", work / "python")
    commit_all(work)
    env = {
        "PRE_COMMIT_HOME": str(tmp_path / "store"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
    }
    page = (DOCS / "adopt.md").read_text().replace(URL, f"file://{hooks}")
    assert follow(page, work, env) == 13
    assert sh("git log --oneline", work).count("\n") == 3
    assert sh("git status --porcelain", work) == ""
