"""Comments that accept a finding, and comments that are findings themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gate_trees import POOLS, RAISES, concise, edit, lint, small
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcodemod.lint.suppressions import comments_in

GOOD = "  # kvcodemod: ignore[KVC001] -- refused at start-up"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return small(tmp_path)


def test_without_comments_both_are_found(tree: Path) -> None:
    assert concise(tree) == ["KVC001 18", "KVC001 23"]


def test_a_comment_accepts_the_finding_on_its_line_only(tree: Path) -> None:
    edit(tree, RAISES, RAISES + GOOD, count=2)
    edit(tree, RAISES + GOOD, RAISES, count=1)
    assert concise(tree) == ["KVC001 18"]
    done = lint(tree)
    assert "found 1 error (1 suppressed)" in done.out
    assert "ForkPool" not in done.out


def test_show_suppressed_lists_it_with_its_reason(tree: Path) -> None:
    edit(tree, RAISES, RAISES + GOOD, count=2)
    done = lint(tree, "--show-suppressed")
    assert done.code == 0
    assert done.out.count("suppressed: refused at start-up") == 2
    assert "nothing found (2 suppressed)" in done.out
    data = json.loads(lint(tree, "--show-suppressed", "--output-format=json").out)
    assert {f["suppressed"] for f in data["findings"]} == {"refused at start-up"}
    one = lint(tree, "--show-suppressed", "--output-format=concise").out
    assert one.count("(suppressed: refused at start-up)") == 2


@pytest.mark.parametrize(
    "comment",
    [
        "# kvcodemod: ignore[KVC001] -- why",
        "#kvcodemod:ignore[KVC001]--why",
        "# kvcodemod: ignore[unsupported-pool-method] -- why",
        "# kvcodemod: ignore[KVC001 , ] -- why",
        "# type: ignore  # kvcodemod: ignore[KVC001] -- why",
        "# kvcodemod: Ignore[KVC001] -- why",
    ],
)
def test_forms_that_count(tree: Path, comment: str) -> None:
    edit(tree, RAISES, f"{RAISES}  {comment}", count=1)
    assert concise(tree) == ["KVC001 23"]


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("# kvcodemod: ignore", "names no rule"),
        ("# kvcodemod: ignore[] -- why", "names no rule"),
        ("# kvcodemod: ignore -- why", "names no rule"),
        ("# kvcodemod: ignore[KVC001]", "gives no reason"),
        ("# kvcodemod: ignore[KVC001] --", "gives no reason"),
        ("# kvcodemod: ignore[KVC001] because", "gives no reason"),
        ("# kvcodemod: ignore[KVC777] -- why", "names KVC777, and there is no such"),
        ("# kvcodemod: ignore[KVC001, nope] -- why", "names nope, and there is no"),
        ("# kvcodemod: ignore[KVC] -- why", "names KVC, and there is no such rule"),
        ("# kvcodemod: noqa[KVC001] -- why", "not understood"),
        ("# kvcodemod: ignores[KVC001] -- why", "not understood"),
    ],
)
def test_forms_that_do_not_count_are_findings(
    tree: Path, comment: str, says: str
) -> None:
    edit(tree, RAISES, f"{RAISES}  {comment}", count=1)
    data = json.loads(lint(tree, "--output-format=json").out)
    found = [(f["rule"], f["line"]) for f in data["findings"]]
    assert found == [("KVC001", 18), ("KVC900", 18), ("KVC001", 23)]
    assert says in data["findings"][1]["message"]
    assert data["findings"][1]["column"] == len(RAISES) + 3


def test_all_that_is_wrong_is_reported_at_once(tree: Path) -> None:
    with (tree / POOLS).open("a") as file:
        file.write("# kvcodemod: ignore\nX = 1  # kvcodemod: ignore[KVC002] -- old\n")
    assert concise(tree)[2:] == ["KVC900 25", "KVC901 26"]


def test_one_that_suppresses_nothing_is_a_finding(tree: Path) -> None:
    edit(tree, "class SplitPool", "X = 1  # kvcodemod: ignore[KVC001] -- old\nclass S")
    done = lint(tree, "--output-format=concise")
    assert "error[KVC901] suppression: nothing to suppress here for KVC001" in done.out
    assert done.code == 1


def test_of_several_rules_each_is_looked_at(tree: Path) -> None:
    comment = "  # kvcodemod: ignore[KVC001, KVC003] -- why"
    edit(tree, RAISES, RAISES + comment, count=1)
    done = lint(tree, "--output-format=concise").out
    assert "SplitPool" not in done
    assert "nothing to suppress here for KVC003" in done


def test_a_rule_that_did_not_run_is_not_called_unused(tree: Path) -> None:
    edit(tree, RAISES, RAISES + GOOD, count=2)
    assert concise(tree, "--ignore=KVC001") == []
    done = lint(tree, "--select=KVC002", "--select=KVC901")
    assert done.code == 0


def test_in_a_string_it_is_text(tree: Path) -> None:
    """The fixture's last line holds one in a string; it is neither heard nor named."""
    assert '"""neither, # kvcodemod: ignore[KVC001]' in (tree / POOLS).read_text()
    assert concise(tree) == ["KVC001 18", "KVC001 23"]


def test_a_file_that_is_not_python_and_does_not_matter(tree: Path) -> None:
    (tree / "sglang/notes.py").write_text("# kvcodemod: ignore\n)( '''")
    assert concise(tree) == ["KVC900 1", "KVC001 18", "KVC001 23"]


def test_full_text_points_at_the_comment(tree: Path) -> None:
    edit(tree, RAISES, f"{RAISES}  # kvcodemod: ignore", count=1)
    out = lint(tree).out
    assert "error[KVC900]: suppression names no rule: it suppresses nothing" in out
    assert "help: Write it as `# kvcodemod: ignore[KVC001] -- " in out


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_numbers_with_any_newline(newline: str) -> None:
    text = newline.join(["a = 1", '"""', "x", '"""', "b = 2  # kvcodemod: ignore", ""])
    assert [c.line for c in comments_in("p.py", text)] == [5]


@given(st.text())
@settings(max_examples=150, deadline=None)
def test_no_text_ends_in_an_error(text: str) -> None:
    for comment in comments_in("p.py", f"x = 1\n# kvcodemod: {text}\n{text}"):
        assert comment.line >= 1
