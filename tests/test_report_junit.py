"""JUnit XML: well-formed whatever the text, and counts that add up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from gate_trees import RAISES, edit, lint, small
from hypothesis import given, settings
from hypothesis import strategies as st
from report_views import BY_BASELINE, FINDING, NASTY_FINDING, WARNING, view

from kvcodemod.console import plain
from kvcodemod.lint.registry import load_rules
from kvcodemod.report import junit
from kvcodemod.report.lint_view import View


def _suite(shown: View) -> ElementTree.Element:
    root = ElementTree.fromstring(plain(junit.render(shown)).encode())
    (suite,) = root
    assert {k: v for k, v in root.items() if k != "name"} == {
        k: v for k, v in suite.items() if k != "name"
    }
    for count, tag in (("failures", "failure"), ("skipped", "skipped")):
        assert int(suite.attrib[count]) == len(suite.findall(f"testcase/{tag}"))
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    assert suite.attrib["errors"] == "0"
    return suite


def test_a_finding_is_a_failed_case_with_its_chain() -> None:
    case = _suite(view(FINDING))[0]
    assert case.attrib["classname"] == "sglang.srt.pool"
    assert case.attrib["name"] == "KVC001 Pool.move (line 7)"
    assert case.attrib["file"] == "sglang/srt/pool.py"
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib == {"type": "error", "message": "`Pool.move` raises"}
    assert (failure.text or "").splitlines() == [
        "sglang/srt/pool.py:7:5: error KVC001 `Pool.move` raises",
        "  sglang/srt/speculative/w.py:3 Worker.go: the path starts here",
        "  sglang/srt/pool.py:8 Pool.move: raises here",
        "The server stops.",
        "Implement it.",
    ]


def test_a_clean_rule_is_a_case_that_passes() -> None:
    codes = list(load_rules().rules)
    suite = _suite(view())
    assert [case.attrib["name"].split()[0] for case in suite] == codes
    assert suite.attrib["failures"] == "0"
    assert len(_suite(view(FINDING))) == len(codes)


@pytest.mark.parametrize(
    ("fail_on", "failures"), [("error", 1), ("warning", 2), ("never", 0)]
)
def test_what_does_not_fail_the_run_passes(fail_on: str, failures: int) -> None:
    suite = _suite(view(FINDING, WARNING, fail_on=fail_on))
    assert suite.attrib["failures"] == str(failures)
    said = "".join(suite[1].itertext())
    assert "guard: sglang/srt/args.py:2 start-up refuses it" in said


def test_a_suppressed_one_is_skipped_where_it_is_shown() -> None:
    assert _suite(view(FINDING, BY_BASELINE)).attrib["skipped"] == "0"
    suite = _suite(view(FINDING, BY_BASELINE, show_suppressed=True))
    skipped = suite.find("testcase/skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "accepted by the baseline"


def test_nasty_text() -> None:
    case = _suite(view(NASTY_FINDING))[0]
    failure = case.find("failure")
    assert failure is not None
    assert "`f` <g> & \"h\" 'i' ]]> \ufffd\ufffd[31m\ufffd" in failure.attrib["message"]
    assert "😀" in (failure.text or "")


@given(st.text(alphabet=st.characters(exclude_categories=())))
@settings(max_examples=200, deadline=None)
def test_any_text_is_well_formed(text: str) -> None:
    """Any code point, surrogates and non-characters included."""
    _suite(view(replace(FINDING, message=text, path=text, symbol=text, fix=text)))


def test_from_the_command(tmp_path: Path) -> None:
    small(tmp_path)
    comment = f"{RAISES}  # kvcodemod: ignore[KVC001] -- <why> & so"
    edit(tmp_path, RAISES, comment, count=1)
    file = tmp_path / "out.xml"
    options = ("--output-format=junit", "--output", file, "--show-suppressed")
    assert lint(tmp_path, *options).code == 1
    suite = ElementTree.parse(file).getroot()[0]
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("1", "1")
