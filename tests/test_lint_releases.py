"""`lint` on real releases: known defects found and gone; every finding of 0.5.23."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from lint_trees import load_rules
from releases import copy_of, pristine

from kvcodemod.cli import main
from kvcodemod.config import DEFAULT_NAMES
from kvcodemod.facts.paths.reach import Reach
from kvcodemod.facts.prefilter.unparsable import SMALL_FILE
from kvcodemod.findings import Finding
from kvcodemod.lint.run import run_rules
from kvcodemod.tree.locate import find_package
from kvcodemod.tree.source import SourceTree

pytestmark = pytest.mark.release

RULES = {c: r for c, r in load_rules().rules.items() if c < "KVC900"}

KNOWN = [
    # (rule, class, method, release with the defect, release without it)
    ("KVC001", "SWATokenToKVPoolAllocator", "backup_state", "0.4.9", "0.5.4"),
    ("KVC001", "SWATokenToKVPoolAllocator", "restore_state", "0.5.3", "0.5.4"),
    ("KVC002", "HybridLinearKVPool", "move_kv_cache", "0.5.6.post2", "0.5.7"),
    ("KVC002", "SWAKVPool", "move_kv_cache", "0.5.7", "0.5.8"),
    ("KVC002", "SWAKVPool", "move_kv_cache", "0.4.9", "0.5.8"),
    ("KVC002", "MLATokenToKVPool", "move_kv_cache", "0.5.12.post1", "0.5.15"),
    ("KVC004", "HybridLinearKVPool", "", "0.5.12.post1", "0.5.13"),
    ("KVC004", "HybridLinearKVPool", "", "0.5.7", "0.5.13"),
    ("KVC001", "MiniMaxSparseKVPool", "move_kv_cache", "0.5.15", "0.5.13"),
    ("KVC001", "MiniMaxSparseKVPool", "move_kv_cache", "0.5.20", "0.5.13"),
]


@cache
def _findings(version: str) -> tuple[Finding, ...]:
    return lint(pristine(version))


def lint(folder: Path) -> tuple[Finding, ...]:
    result = run_rules(SourceTree(find_package(folder)), RULES.values())
    assert not result.broken
    assert not result.failed
    return result.findings


def _hits(version: str, rule: str, cls: str, method: str) -> list[Finding]:
    return [
        finding
        for finding in _findings(version)
        if finding.rule == rule
        and any(name.rpartition(".")[2] == cls for name in finding.affected)
        and (not method or finding.symbol.endswith(f".{method}"))
    ]


@pytest.mark.parametrize(("rule", "cls", "method", "bad", "good"), KNOWN)
def test_known_defects(rule: str, cls: str, method: str, bad: str, good: str) -> None:
    found = _hits(bad, rule, cls, method)
    assert found
    assert found[0].severity == "error"
    assert found[0].trace[0].path.startswith("sglang/srt/speculative/")
    assert not _hits(good, rule, cls, method)


TRIAGED = {
    ("KVC001", "error", "MiniMaxSparseKVPool.move_kv_cache"),
    ("KVC001", "warning", "MHATokenToKVPool.set_kv_buffer_prefix_valid"),
    ("KVC001", "warning", "MHATokenToKVPoolMXFP8.set_kv_buffer_prefix_valid"),
    ("KVC001", "warning", "UnifiedDraftKVPool.move_kv_cache"),
    ("KVC001", "warning", "UnifiedDraftSWAKVPool.move_kv_cache"),
    ("KVC002", "warning", "DeepSeekV4TokenToKVPool.move_kv_cache"),
    ("KVC002", "warning", "_DummyKVCache.move_kv_cache"),
    ("KVC004", "error", "KVCacheConfigurator._build_ascend_swa_kv_pool"),
}


def test_every_finding_of_the_newest_release_is_triaged() -> None:
    found = {(f.rule, f.severity, f.symbol) for f in _findings("0.5.23")}
    assert found == TRIAGED
    assert len(_findings("0.5.23")) == len(TRIAGED)
    page = (Path(__file__).parent.parent / "docs" / "triage-0.5.23.md").read_text()
    for _, _, symbol in TRIAGED:
        assert f"`{symbol}`" in page


def test_exactly_three_moves_that_raise() -> None:
    raising = {
        f.symbol: tuple(name.rpartition(".")[2] for name in f.affected)
        for f in _findings("0.5.23")
        if f.rule == "KVC001" and f.symbol.endswith(".move_kv_cache")
    }
    assert raising == {
        "MiniMaxSparseKVPool.move_kv_cache": ("MiniMaxSparseKVPool",),
        "UnifiedDraftKVPool.move_kv_cache": ("UnifiedDraftKVPool",),
        "UnifiedDraftSWAKVPool.move_kv_cache": ("UnifiedDraftSWAKVPool",),
    }


def test_no_sub_pool_is_named() -> None:
    reach = Reach(SourceTree(find_package(pristine("0.5.23"))), DEFAULT_NAMES)
    roles = reach.program.roles
    for finding in _findings("0.5.23"):
        for name in finding.affected:
            assert roles[name] == "pool", finding


def test_only_what_apply_can_mend_says_so() -> None:
    offered = {
        f.symbol for f in _findings("0.5.23") if "kvcodemod apply" in (f.fix or "")
    }
    assert offered == {"MiniMaxSparseKVPool.move_kv_cache"}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.5.17", "0.5.20", "0.5.23"])
def test_silent_about_the_family_after_apply(version: str, tmp_path: Path) -> None:
    home = copy_of(version, tmp_path)
    done = CliRunner().invoke(main, ["apply", str(home)])
    assert done.exit_code == 0, done.output
    family = re.compile(r"MiniMax")
    for finding in lint(home):
        assert not any(family.search(name) for name in finding.affected), finding


@pytest.mark.slow
def test_what_has_no_say_and_does_not_parse_is_named(tmp_path: Path) -> None:
    home = copy_of("0.5.23", tmp_path)
    before = CliRunner().invoke(main, ["lint", str(home), "--no-cache"])
    assert "does not parse" not in before.stderr
    models = home / "srt/models"
    (models / "new.py").write_text("this was wrong\n")
    for name, more in (("llama", "\n<<<<<<< ours\n"), ("grok", "\nx = (1,\n")):
        path = models / f"{name}.py"
        assert path.stat().st_size > SMALL_FILE
        path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    after = CliRunner().invoke(main, ["lint", str(home), "--no-cache"])
    assert (after.exit_code, after.stdout) == (before.exit_code, before.stdout)
    said = re.findall(r"sglang/srt/models/(\w+)\.py:\d+: does not parse", after.stderr)
    assert said == ["grok", "llama", "new"]


@pytest.mark.slow
def test_no_class_name_decides(tmp_path: Path) -> None:
    """Every pool class of a release under another name: the same findings."""
    before = _findings("0.5.23")
    reach = Reach(SourceTree(find_package(pristine("0.5.23"))), DEFAULT_NAMES)
    names = {
        name.rpartition(".")[2]
        for name in reach.program.members
        if not reach.program.is_root(name)
    }
    new = {name: f"Zq{number}Store" for number, name in enumerate(sorted(names))}
    word = re.compile(
        r"\b(?:" + "|".join(sorted(names, key=len, reverse=True)) + r")\b"
    )
    home = tmp_path / "sglang"
    shutil.copytree(pristine("0.5.23") / "sglang", home)
    for path in home.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        changed = word.sub(lambda match: new[match[0]], text)
        if changed != text:
            path.write_text(changed, encoding="utf-8")

    def told(findings: tuple[Finding, ...], rename: bool) -> list[tuple[object, ...]]:
        def name(text: str) -> str:
            return word.sub(lambda match: new[match[0]], text) if rename else text

        return sorted(
            (
                f.rule,
                f.severity,
                f.path,
                f.line,
                name(f.symbol),
                *sorted(name(item) for item in f.affected),
            )
            for f in findings
        )

    assert told(lint(home), False) == told(before, True)
