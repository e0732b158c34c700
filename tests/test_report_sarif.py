"""SARIF: valid by the official schema, with everything that a viewer can show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from gate_trees import RAISES, edit, lint, small
from needs import need
from releases import copy_of
from report_views import (
    BY_BASELINE,
    BY_COMMENT,
    FINDING,
    NASTY_FINDING,
    WARNING,
    view,
)
from sarif_schema import official_schema

from kvcodemod.console import plain
from kvcodemod.lint.registry import load_rules
from kvcodemod.report import sarif
from kvcodemod.report.lint_view import View

jsonschema = need("jsonschema")


@pytest.fixture(scope="module")
def check() -> Any:
    """A function that fails on a document that the schema refuses."""
    schema = official_schema()
    return jsonschema.Draft4Validator(schema).validate


def _run(shown: View) -> dict[str, Any]:
    return json.loads(plain(sarif.render(shown)))["runs"][0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "shown",
    [
        view(),
        view(FINDING, WARNING),
        view(FINDING, BY_COMMENT, BY_BASELINE, show_suppressed=True),
        view(NASTY_FINDING, prefix="python/", problems=("a plugin broke",)),
    ],
)
def test_valid_by_the_official_schema(check: Any, shown: View) -> None:
    check(json.loads(plain(sarif.render(shown))))


def test_the_schema_can_refuse(check: Any) -> None:
    document = json.loads(plain(sarif.render(view(FINDING))))
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        check(document)


def test_every_rule_has_its_page() -> None:
    rules = _run(view())["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(load_rules().rules)
    for rule in rules:
        page = load_rules().rules[rule["id"]]
        assert rule["name"] == page.name
        assert rule["shortDescription"]["text"] == page.summary
        for text in (page.what, page.why, page.mend, page.limits):
            assert text in rule["help"]["text"]
            assert text in rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] == page.severity


def test_a_result_points_at_its_rule_and_place() -> None:
    run = _run(view(FINDING, WARNING, prefix="python/"))
    first, second = run["results"]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"]
    assert (first["level"], second["level"]) == ("error", "warning")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {
        "uri": "python/sglang/srt/pool.py",
        "uriBaseId": "%SRCROOT%",
    }
    assert place["region"] == {"startLine": 7, "startColumn": 5}
    assert run["originalUriBaseIds"]["%SRCROOT%"].keys() == {"description"}
    assert "Implement it." in first["message"]["text"]
    assert first["properties"]["affected"] == ["sglang.srt.pool.Pool"]


def test_the_call_chain_is_a_code_flow() -> None:
    result = _run(view(FINDING))["results"][0]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    got = [
        (
            step["location"]["physicalLocation"]["artifactLocation"]["uri"],
            step["location"]["physicalLocation"]["region"]["startLine"],
            step["location"]["message"]["text"],
        )
        for step in steps
    ]
    assert got == [
        ("sglang/srt/speculative/w.py", 3, "Worker.go: the path starts here"),
        ("sglang/srt/pool.py", 8, "Pool.move: raises here"),
    ]


def test_guards_are_related_locations() -> None:
    related = _run(view(WARNING))["results"][0]["relatedLocations"]
    assert related[0]["message"]["text"] == "start-up refuses it"


def test_fingerprints_stay_when_lines_move_and_tell_twins_apart() -> None:
    moved = replace(FINDING, line=99, column=1)
    first, second = _run(view(FINDING, moved))["results"]
    ours = "kvcodemod/v1"
    assert first["partialFingerprints"][ours] == second["partialFingerprints"][ours]
    hashes = [
        r["partialFingerprints"]["primaryLocationLineHash"] for r in (first, second)
    ]
    assert hashes == [f"{FINDING.fingerprint}:1", f"{FINDING.fingerprint}:2"]
    other = _run(view(WARNING))["results"][0]["partialFingerprints"][ours]
    assert other != FINDING.fingerprint


def test_suppressions_only_where_they_are_asked_for() -> None:
    found = (FINDING, BY_COMMENT, BY_BASELINE)
    assert len(_run(view(*found))["results"]) == 1
    results = _run(view(*found, show_suppressed=True))["results"]
    assert [r.get("suppressions") for r in results] == [
        None,
        [{"kind": "inSource", "justification": "refused at start-up"}],
        [{"kind": "external", "justification": "accepted by the baseline"}],
    ]


def test_addresses_are_quoted() -> None:
    result = _run(view(NASTY_FINDING))["results"][0]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "sglang/srt/a%20b%25%2C%3A%C3%BC.py"
    assert unquote(uri) == NASTY_FINDING.path


def test_a_problem_with_a_plugin_is_in_the_run() -> None:
    call = _run(view(problems=("KVX001 (x:y): ImportError: no",)))["invocations"][0]
    assert call["executionSuccessful"] is False
    notes = call["toolConfigurationNotifications"]
    assert notes[0]["message"]["text"] == "KVX001 (x:y): ImportError: no"


def test_from_the_command_relative_to_the_checkout(check: Any, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    small(tmp_path / "python")
    edit(tmp_path / "python", RAISES, f"{RAISES}  # kvcodemod: ignore", count=1)
    file = tmp_path / "out.sarif"
    done = lint(tmp_path, "--output-format=sarif", "--output", file)
    assert (done.code, done.out) == (1, "")
    document = json.loads(file.read_text())
    check(document)
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in document["runs"][0]["results"]
    }
    assert uris == {"python/sglang/srt/mem_cache/pools.py"}
    for uri in uris:
        assert (tmp_path / uri).is_file()
    about = [r for r in document["runs"][0]["results"] if r["ruleId"] == "KVC900"]
    assert "codeFlows" not in about[0]


@pytest.mark.release
@pytest.mark.slow
def test_on_a_real_release(check: Any, tmp_path: Path) -> None:
    package = copy_of("0.5.23", tmp_path)
    document = json.loads(lint(package, "--output-format=sarif").out)
    check(document)
    results = document["runs"][0]["results"]
    assert len(results) > 5
    assert all(r["codeFlows"] for r in results)
    for result in results:
        for step in result["codeFlows"][0]["threadFlows"][0]["locations"]:
            place = step["location"]["physicalLocation"]
            file = package.parent / unquote(place["artifactLocation"]["uri"])
            assert place["region"]["startLine"] <= file.read_text().count("\n")


def test_a_file_name_that_is_not_text(check: Any) -> None:
    shown = view(replace(FINDING, path="sglang/p\udcff.py"))
    check(json.loads(plain(sarif.render(shown))))
    place = _run(shown)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "sglang/p%FF.py"
