"""The baseline accepts old findings, refuses new ones, and only shrinks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gate_trees import POOLS, RAISES, concise, edit, lint, small

from kvcodemod.findings import Finding
from kvcodemod.lint.baseline import (
    BaselineError,
    acceptable,
    compare,
    entry_of,
    pruned,
    read,
    render,
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return small(tmp_path)


@pytest.fixture
def base(tmp_path: Path, tree: Path) -> Path:
    """A baseline of the tree as it is."""
    file = tmp_path / "accepted.json"
    assert lint(tree, "--write-baseline", file).code == 0
    return file


def test_making_one_accepts_what_is_there(tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "accepted.json"
    done = lint(tree, "--write-baseline", file)
    assert done.code == 0
    assert f"wrote {file}: 2 findings accepted" in done.err
    assert "nothing found (2 suppressed)" in done.out
    assert lint(tree, "--baseline", file).code == 0
    assert lint(tree).code == 1  # only where the baseline is given


def test_it_reads_well_and_holds_no_line(base: Path) -> None:
    data = json.loads(base.read_text())
    assert data["schema_version"] == 1
    assert [e["symbol"] for e in data["findings"]] == [
        "ForkPool.move_kv_cache",
        "SplitPool.move_kv_cache",
    ]
    assert set(data["findings"][0]) == {"rule", "severity", "path", "symbol", "key"}


def test_lines_may_move(tree: Path, base: Path) -> None:
    edit(tree, "import abc", "import abc\n\n# a comment\nX = 1\n")
    assert lint(tree, "--baseline", base).code == 0


def test_a_new_finding_is_refused_and_only_it_is_shown(tree: Path, base: Path) -> None:
    _another(tree)
    done = lint(tree, "--baseline", base)
    assert done.code == 1
    assert "NewPool.move_kv_cache" in done.out
    assert "found 1 error (2 suppressed)" in done.out
    assert "SplitPool.move_kv_cache` raises" not in done.out
    assert "keep_accepted" in done.out  # with its call chain


def test_write_baseline_does_not_add(tree: Path, base: Path) -> None:
    _another(tree)
    before = base.read_text()
    assert lint(tree, "--write-baseline", base).code == 1
    assert base.read_text() == before


def test_adding_is_an_act_of_its_own(tree: Path, base: Path) -> None:
    _another(tree)
    done = lint(tree, "--write-baseline", base, "--accept-new")
    assert done.code == 0
    assert "3 findings accepted" in done.err
    assert lint(tree, "--baseline", base).code == 0
    assert lint(tree, "--accept-new").code == 2
    other = base.with_name("other.json")
    assert lint(tree, "--write-baseline", base, "--baseline", base).code == 0
    assert lint(tree, "--write-baseline", base, "--baseline", other).code == 2


def test_stale_entries_are_named_all_at_once_and_pruned(tree: Path, base: Path) -> None:
    edit(tree, "raise NotImplementedError", "return print", count=2)
    done = lint(tree, "--baseline", base)
    assert done.code == 1
    assert "2 entries are stale" in done.err
    assert "KVC001 ForkPool.move_kv_cache" in done.err
    assert "KVC001 SplitPool.move_kv_cache" in done.err
    assert f"--write-baseline {base}" in done.err
    data = json.loads(lint(tree, "--baseline", base, "--output-format=json").out)
    assert len(data["summary"]["stale_baseline_entries"]) == 2
    assert lint(tree, "--baseline", base, "--fail-on=never").code == 0
    done = lint(tree, "--write-baseline", base)
    assert done.code == 0
    assert "0 findings accepted, 2 removed" in done.err
    assert read(base) == ()


def test_a_mended_defect_that_comes_back_is_refused(tree: Path, base: Path) -> None:
    edit(tree, "raise NotImplementedError", "return print", count=1)
    assert lint(tree, "--write-baseline", base).code == 0
    edit(tree, "return print", "raise NotImplementedError")
    assert concise(tree, "--baseline", base) == ["KVC001 18"]


def test_rules_that_did_not_run_leave_their_entries_alone(
    tree: Path, base: Path
) -> None:
    assert lint(tree, "--baseline", base, "--ignore=KVC001").code == 0
    before = base.read_text()
    assert lint(tree, "--write-baseline", base, "--ignore=KVC001").code == 0
    assert base.read_text() == before


def test_findings_about_suppressions_are_never_accepted(
    tree: Path, tmp_path: Path
) -> None:
    edit(tree, RAISES, f"{RAISES}  # kvcodemod: ignore", count=1)
    file = tmp_path / "accepted.json"
    done = lint(tree, "--write-baseline", file)
    assert done.code == 1
    assert "KVC900" in done.out
    assert {e.rule for e in read(file)} == {"KVC001"}


def test_a_suppressed_finding_needs_no_entry(tree: Path, base: Path) -> None:
    edit(tree, RAISES, f"{RAISES}  # kvcodemod: ignore[KVC001] -- why", count=1)
    done = lint(tree, "--baseline", base)
    assert "1 entry is stale" in done.err
    assert done.code == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "not a baseline"),
        ('{"schema_version": 7, "findings": []}', "schema_version is 7"),
        ('{"schema_version": 1, "findings": [{"rule": "KVC001"}, 3]}', "entry 2 must"),
    ],
)
def test_a_file_that_is_no_baseline(
    tree: Path, base: Path, text: str, says: str
) -> None:
    base.write_text(text)
    done = lint(tree, "--baseline", base)
    assert done.code == 2
    assert says in done.err
    assert str(base) in done.err


def test_a_missing_one_says_how_to_make_it(tree: Path, tmp_path: Path) -> None:
    done = lint(tree, "--baseline", tmp_path / "none.json")
    assert done.code == 2
    assert "make one with --write-baseline" in done.err


def test_one_that_cannot_be_written(tree: Path, tmp_path: Path) -> None:
    done = lint(tree, "--write-baseline", tmp_path / "no" / "folder.json")
    assert done.code == 2
    assert "folder.json: No such file" in done.err


def test_a_rule_that_breaks_off_writes_no_baseline(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incomplete run would prune what it did not look for."""
    from kvcodemod.lint import run

    monkeypatch.setattr(run, "Reach", _breaking(run.Reach))
    file = tmp_path / "accepted.json"
    done = lint(tree, "--write-baseline", file)
    assert done.code == 3
    assert not file.exists()


def _breaking(real: type) -> type:
    class Broken(real):  # type: ignore[misc]
        @property
        def reached(self) -> object:
            raise ValueError("half way")

    return Broken


def _finding(severity: str = "error", line: int = 1, key: str = "k  k") -> Finding:
    return Finding(
        rule="KVC001",
        name="n",
        severity=severity,  # type: ignore[arg-type]
        confidence="high",
        message="m",
        path="sglang/p.py",
        line=line,
        column=1,
        symbol="C.f",
        affected=(),
        trace=(),
        key=key,
    )


def test_as_many_are_accepted_as_there_are_entries() -> None:
    two = [_finding(line=1), _finding(line=9)]
    one = [entry_of(two[0])]
    done = compare(two, one, {"KVC001"})
    assert len(done.new) == 1
    assert len(done.accepted) == 1
    assert compare(two[:1], one * 2, {"KVC001"}).stale == tuple(one)
    assert pruned(one * 2, one) == tuple(one)


def test_spaces_in_the_code_do_not_count() -> None:
    assert entry_of(_finding(key="a\n   b")) == entry_of(_finding(key="a b"))
    assert _finding(key="a\n   b").fingerprint == _finding(key="a b").fingerprint


def test_an_accepted_warning_does_not_cover_an_error() -> None:
    warned = [entry_of(_finding("warning"))]
    assert compare([_finding()], warned, {"KVC001"}).new
    assert not compare([_finding("warning")], warned, {"KVC001"}).new
    assert not compare([_finding("warning")], [entry_of(_finding())], {"KVC001"}).new


def test_round_trip_with_any_character(tmp_path: Path) -> None:
    entries = (entry_of(_finding(key='ü "q" \u2028 \\ \x07')),)
    file = tmp_path / "b.json"
    file.write_text(render(entries), encoding="utf-8")
    assert read(file) == entries
    assert acceptable([_finding()])
    with pytest.raises(BaselineError):
        read(tmp_path)


def _another(tree: Path) -> None:
    with (tree / POOLS).open("a") as file:
        file.write(f"\n\nclass NewPool(PlainPool):\n{RAISES}\n")
        file.write('        raise NotImplementedError("not yet")\n')
    edit(
        tree,
        "return SplitPool()",
        "from sglang.srt.mem_cache.pools import NewPool\n"
        "    if config.new:\n        return NewPool()\n    return SplitPool()",
        path="sglang/srt/mem_cache/build.py",
    )
