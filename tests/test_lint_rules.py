"""Each rule's own examples are its tests; and what all rules have in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_trees import find

from kvcodemod.lint.registry import load_rules
from kvcodemod.lint.rule import Example
from kvcodemod.report.rule_page import page

RULES = {c: r for c, r in load_rules().rules.items() if c < "KVC900"}
FAILS = [(c, e) for c, r in RULES.items() for e in r.fails]
PASSES = [(c, e) for c, r in RULES.items() for e in r.passes]


def _name(value: object) -> str:
    return value.title if isinstance(value, Example) else str(value)


def test_the_built_in_rules_are_there() -> None:
    assert {"KVC001", "KVC002", "KVC003", "KVC004"} <= RULES.keys()
    for rule in RULES.values():
        assert rule.fails
        assert rule.passes


@pytest.mark.parametrize(("code", "example"), FAILS, ids=_name)
def test_examples_that_fail(code: str, example: Example, tmp_path: Path) -> None:
    found = find(tmp_path, example.files)
    assert [f.rule for f in found] == [code]
    assert found[0].severity == RULES[code].severity
    assert found[0].fix
    assert found[0].reason


@pytest.mark.parametrize(("code", "example"), PASSES, ids=_name)
def test_examples_that_pass(code: str, example: Example, tmp_path: Path) -> None:
    assert not find(tmp_path, example.files)


@pytest.mark.parametrize("code", list(RULES))
def test_pages_answer_the_same_questions(code: str) -> None:
    text = page(RULES[code])
    for title in ("What it does", "Why this is bad", "How to mend it", "cannot see"):
        assert title in text
