"""Workflow commands: escaped, ten a severity, the rest in a group and a summary."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from gate_trees import lint, small
from report_views import (
    BY_BASELINE,
    FINDING,
    NASTY,
    NASTY_FINDING,
    WARNING,
    view,
)

from kvcodemod.console import plain
from kvcodemod.lint.baseline import entry_of
from kvcodemod.report import github
from kvcodemod.report.lint_view import View

_COMMAND = re.compile(r"^::(?P<name>[a-z]+)(?: (?P<properties>[^:]*))?::(?P<data>.*)$")


def _lines(shown: View) -> list[str]:
    return plain(github.render(shown)).splitlines()


def _parsed(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner reads it (actions/toolkit, core/src/command.ts)."""
    found = _COMMAND.match(line)
    assert found, line
    properties = {}
    for pair in filter(None, (found["properties"] or "").split(",")):
        key, _, value = pair.partition("=")
        for escape, char in (("%3A", ":"), ("%2C", ","), *_DATA):
            value = value.replace(escape, char)
        properties[key] = value
    data = found["data"]
    for escape, char in _DATA:
        data = data.replace(escape, char)
    return found["name"], properties, data


_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))


def test_a_finding_is_an_annotation() -> None:
    name, properties, data = _parsed(_lines(view(FINDING, prefix="python/"))[0])
    assert name == "error"
    assert properties == {
        "file": "python/sglang/srt/pool.py",
        "line": "7",
        "col": "5",
        "title": "KVC001 unsupported-pool-method",
    }
    assert data.splitlines() == [
        "`Pool.move` raises",
        "path: Worker.go (sglang/srt/speculative/w.py:3)"
        " -> Pool.move (sglang/srt/pool.py:8)",
        "The server stops.",
        "Implement it.",
    ]


def test_a_guard_is_named() -> None:
    name, _, data = _parsed(_lines(view(WARNING))[0])
    assert name == "warning"
    assert "guard: sglang/srt/args.py:2: start-up refuses it" in data


def test_nasty_text_stays_in_its_place() -> None:
    lines = _lines(view(NASTY_FINDING))
    name, properties, data = _parsed(lines[0])
    assert name == "error"
    assert properties["file"] == NASTY_FINDING.path
    assert data.startswith("a % b\nc, d: e | `f` <g>")
    assert "\x1b" not in data
    assert len(lines) == 2


def test_ten_of_each_severity_and_a_group_for_the_rest() -> None:
    errors = [replace(FINDING, line=n) for n in range(1, 14)]
    warnings = [replace(WARNING, line=n) for n in range(1, 12)]
    lines = _lines(view(*errors, *warnings))
    assert sum(line.startswith("::error ") for line in lines) == 10
    assert sum(line.startswith("::warning ") for line in lines) == 10
    group = lines.index("::group::4 more findings: a step shows 10 of each severity")
    assert lines[group + 5] == "::endgroup::"
    rest = lines[group + 1 : group + 5]
    assert rest[0] == "sglang/srt/pool.py:11:5: error KVC001 `Pool.move` raises"
    assert rest[3].startswith("sglang/srt/pool.py:11:5: warning")


@pytest.mark.parametrize("words", ["::error::x", "\n::error::x", "##[error]x", NASTY])
def test_a_message_cannot_give_commands(words: str) -> None:
    """Names and messages come from the tree, which a pull request can choose."""
    many = [replace(FINDING, line=n, message=words, path=words) for n in range(30)]
    hidden = replace(BY_BASELINE, message=words, path=words, suppressed=words)
    lines = _lines(view(*many, hidden, show_suppressed=True))
    names = [_parsed(line)[0] for line in lines if line.lstrip().startswith("::")]
    assert names.count("error") == 10
    assert set(names) == {"error", "group", "endgroup"}
    logged = [line for line in lines if not line.startswith("::")]
    assert len(logged) == 20 + 1 + 1
    assert not any("##[" in line for line in logged)


def test_suppressed_ones_are_grouped_where_asked_for() -> None:
    assert not any("baseline" in line for line in _lines(view(FINDING, BY_BASELINE)))
    lines = _lines(view(FINDING, BY_BASELINE, show_suppressed=True))
    group = lines.index("::group::1 suppressed")
    assert lines[group + 1].endswith("(suppressed: accepted by the baseline)")


def test_the_summary_has_all_of_them() -> None:
    many = [replace(FINDING, line=n) for n in range(1, 31)]
    text = github.summary(view(*many, WARNING))
    rows = [line for line in text.splitlines() if line.startswith(("| err", "| warn"))]
    assert len(rows) == 31
    assert "Worker.go (sglang/srt/speculative/w.py:3) → Pool.move" in rows[0]
    assert "found 30 errors and 1 warning." in text


def test_the_summary_is_a_table_whatever_the_text() -> None:
    text = github.summary(view(NASTY_FINDING, prefix="python/"))
    row = next(line for line in text.splitlines() if line.startswith("| error"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert "<g>" not in row
    assert "&lt;g&gt;" in row


def test_the_summary_has_an_end() -> None:
    many = [replace(FINDING, line=n) for n in range(2000)]
    text = github.summary(view(*many))
    assert "... and 1500 more." in text
    assert len(text.encode()) < 1024 * 1024


def test_the_summary_names_stale_entries() -> None:
    text = github.summary(view(stale=(entry_of(FINDING),)))
    assert "- KVC001 Pool.move (sglang/srt/pool.py)" in text


def test_from_the_command(tmp_path: Path) -> None:
    """Paths are relative to the workspace; the summary is added to, not replaced."""
    work = tmp_path / "work"
    (work / "repo" / ".git").mkdir(parents=True)
    small(work / "repo" / "python")
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    env = {"GITHUB_WORKSPACE": str(work), "GITHUB_STEP_SUMMARY": str(summary)}
    done = lint(work / "repo", "--output-format=github", env=env)
    assert done.code == 1
    _, properties, _ = _parsed(done.out.splitlines()[0])
    assert properties["file"] == "repo/python/sglang/srt/mem_cache/pools.py"
    assert (work / properties["file"]).is_file()
    text = summary.read_text()
    assert text.startswith("before\n## kvcodemod lint\n")
    assert "repo/python/sglang/srt/mem_cache/pools.py:18" in text


def test_a_summary_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    small(tmp_path)
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "file")}
    done = lint(tmp_path, "--output-format=github", env=env)
    assert done.code == 1
    assert "warning" in done.err


@pytest.mark.parametrize(
    "form", ["full", "concise", "json", "sarif", "github", "junit"]
)
def test_no_format_stumbles_over_what_is_not_text(tmp_path: Path, form: str) -> None:
    """A file name that is not UTF-8, a message with a lone surrogate and an escape."""
    small(tmp_path)
    old = tmp_path / "sglang/srt/mem_cache/pools.py"
    text = old.read_text().replace("the parts cannot move", "\\ud800 \\x1b[31m ::x")
    name = os.fsdecode(b"sglang/srt/mem_cache/p\xff.py")
    (tmp_path / name).write_text(text.replace("SplitPool", "OtherPool"))
    old.write_text(text)
    file = tmp_path / "out"
    done = lint(tmp_path, f"--output-format={form}", "--output", file)
    assert done.code == 1
    assert "\x1b" not in file.read_text(encoding="utf-8")
    assert lint(tmp_path, f"--output-format={form}").out == file.read_text()
