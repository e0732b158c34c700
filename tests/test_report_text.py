"""The text formats, whole: what a person reads is pinned in `fixtures/report/`."""

from __future__ import annotations

from pathlib import Path

import pytest
from gate_trees import RAISES, edit, lint, small
from installs import ROOT

PINNED = ROOT / "fixtures" / "report"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """One finding that counts, one suppressed, one about a comment."""
    folder = small(tmp_path)
    edit(
        folder,
        f"class ForkPool(PlainPool):\n{RAISES}",
        "class ForkPool(PlainPool):      # kvcodemod: ignore[KVC002] -- old\n"
        f"{RAISES}  # kvcodemod: ignore[KVC001] -- no server builds it",
    )
    return folder


def test_full(tree: Path) -> None:
    assert lint(tree).out == (PINNED / "full.txt").read_text()


def test_concise_with_what_is_suppressed(tree: Path) -> None:
    done = lint(tree, "--output-format=concise", "--show-suppressed")
    assert done.out == (PINNED / "concise.txt").read_text()
