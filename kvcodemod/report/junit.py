"""Findings as JUnit XML: a test case for each finding, and one for each clean rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from kvcodemod.console import Piece
from kvcodemod.findings import Finding
from kvcodemod.lint.gate import fails
from kvcodemod.report.lint_view import View, server_words

# what XML 1.0 cannot hold, not even escaped (production 2, Char)
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(view: View) -> Iterator[Piece]:
    """One document; a finding fails its test case if it fails the run."""
    cases = [_case(finding, view.fail_on) for finding in view.shown]
    cases += _clean(view)
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    counts = {
        "tests": str(len(cases)),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(skipped),
        "time": "0",
    }
    suites = ElementTree.Element("testsuites", {"name": "kvcodemod", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "lint", **counts})
    suite.extend(cases)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    yield (f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n', "")


def _clean(view: View) -> Iterator[ElementTree.Element]:
    hit = {finding.rule for finding in view.findings}
    for rule in view.rules:
        if rule.code not in hit:
            name = f"{rule.code} {rule.name}"
            yield _element("testcase", classname="kvcodemod", name=name, time="0")


def _case(finding: Finding, fail_on: str) -> ElementTree.Element:
    name = f"{finding.rule} {finding.symbol or finding.name} (line {finding.line})"
    case = _element(
        "testcase",
        classname=finding.path.removesuffix(".py").replace("/", "."),
        name=name,
        file=finding.path,
        line=str(finding.line),
        time="0",
    )
    if finding.suppressed is not None:
        case.append(_element("skipped", message=finding.suppressed))
    elif fails([finding], fail_on):
        failure = _element("failure", type=finding.severity, message=finding.message)
        failure.text = _words(finding)
        case.append(failure)
    else:
        output = _element("system-out")
        output.text = _words(finding)
        case.append(output)
    return case


def _words(finding: Finding) -> str:
    lines = [
        f"{finding.path}:{finding.line}:{finding.column}: {finding.severity} "
        f"{finding.rule} {finding.message}"
    ]
    lines += [f"  {s.path}:{s.line} {s.symbol}: {s.note}" for s in finding.trace]
    lines += [f"  guard: {s.path}:{s.line} {s.note}" for s in finding.guards]
    lines += [f"  {words}" for words in server_words(finding)]
    lines += [part for part in (finding.reason, finding.fix) if part]
    return _legal("\n".join(lines))


def _element(tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.Element(
        tag, {name: _legal(value) for name, value in attributes.items()}
    )


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
