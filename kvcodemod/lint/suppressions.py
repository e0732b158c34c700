"""`# kvcodemod: ignore[KVC001] -- reason` on a finding's line, heard and checked."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kvcodemod.facts.prefilter.scan import MARK
from kvcodemod.findings import Finding, Step, in_order
from kvcodemod.tree.source import SourceError, SourceTree

INVALID, UNUSED = "KVC900", "KVC901"
"""The codes of the findings about suppressions themselves."""
_NAMES = {INVALID: "invalid-suppression", UNUSED: "unused-suppression"}
FORM = "# kvcodemod: ignore[KVC001] -- why it is right here"

_MARK = re.compile(r"#\s*kvcodemod\s*:\s*")
_IGNORE = re.compile(
    r"ignore\b\s*(?:\[(?P<rules>[^\]]*)\])?\s*(?P<rest>.*)$", re.I | re.S
)


@dataclass(frozen=True)
class Comment:
    """A comment that speaks to kvcodemod; `problem` says why it suppresses nothing."""

    path: str
    line: int
    column: int
    rules: tuple[str, ...]
    reason: str
    problem: str | None


@dataclass(frozen=True)
class Suppressed:
    """The findings after the comments have been heard.

    Attributes:
        findings: those that stand, and those about the comments.
        suppressed: the others; each carries the reason in `suppressed`.
    """

    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]


def suppress(
    tree: SourceTree,
    findings: Iterable[Finding],
    known: Mapping[str, str],
    active: Collection[str],
) -> Suppressed:
    """Split the findings by the comments of the tree.

    Args:
        tree: where the comments are looked for, in every file.
        findings: what the rules found.
        known: code -> name of every rule that is installed.
        active: the codes that ran; a comment for another one is not called unused.
    """
    codes = {**{code: code for code in known}, **{n: c for c, n in known.items()}}
    wanted: dict[tuple[str, int, str], str] = {}
    comments: list[tuple[Comment, tuple[str, ...]]] = []
    about: list[Finding] = []
    for comment in comments_of(tree):
        problem = comment.problem or _unknown(comment, codes)
        if problem is not None:
            about.append(_finding(INVALID, comment, problem))
            continue
        meant = tuple(dict.fromkeys(codes[name] for name in comment.rules))
        comments.append((comment, meant))
        for code in meant:
            wanted[comment.path, comment.line, code] = comment.reason
    kept: list[Finding] = []
    gone: list[Finding] = []
    for finding in findings:
        reason = wanted.get((finding.path, finding.line, finding.rule))
        if reason is None:
            kept.append(finding)
        else:
            gone.append(replace(finding, suppressed=reason))
    used = {(f.path, f.line, f.rule) for f in gone}
    for comment, meant in comments:
        idle = [
            code
            for code in meant
            if code in active and (comment.path, comment.line, code) not in used
        ]
        if idle:
            words = f"nothing to suppress here for {', '.join(idle)}"
            about.append(_finding(UNUSED, comment, words, " ".join(idle)))
    shown = [finding for finding in about if finding.rule in active]
    return Suppressed(in_order([*kept, *shown]), in_order(gone))


def comments_of(tree: SourceTree) -> Iterator[Comment]:
    """The comments for kvcodemod in every file; a look at the bytes comes first."""
    for path in tree.containing((MARK,)):
        try:
            text = tree.text(path).text
        except SourceError:
            continue  # a file that matters is named by the run itself
        yield from comments_in(path, text)


def comments_in(path: str, text: str) -> Iterator[Comment]:
    """The comments for kvcodemod in a file's text, never what stands in a string."""
    lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"))
    try:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                found = _MARK.search(token.string)
                if found:
                    line, column = token.start
                    words = token.string[found.end() :]
                    yield _parse(path, line, column + found.start() + 1, words)
    except (tokenize.TokenError, SyntaxError):
        return  # not Python from here on


def _parse(path: str, line: int, column: int, words: str) -> Comment:
    def comment(problem: str | None, rules: str = "", reason: str = "") -> Comment:
        names = tuple(name.strip() for name in rules.split(",") if name.strip())
        return Comment(path, line, column, names, reason, problem)

    found = _IGNORE.match(words)
    if not found:
        return comment("not understood")
    rules, rest = found["rules"] or "", found["rest"].strip()
    if not rules.strip(" ,"):
        return comment("names no rule")
    if not rest.startswith("--") or not rest.lstrip("-").strip():
        return comment("gives no reason", rules)
    return comment(None, rules, rest.lstrip("-").strip())


def _unknown(comment: Comment, codes: Mapping[str, str]) -> str | None:
    unknown = [name for name in comment.rules if name not in codes]
    if not unknown:
        return None
    return f"names {', '.join(unknown)}, and there is no such rule"


def _finding(rule: str, comment: Comment, problem: str, key: str = "") -> Finding:
    unused = rule == UNUSED
    return Finding(
        rule=rule,
        name=_NAMES[rule],
        severity="error",
        confidence="high",
        message=f"suppression: {problem}"
        if unused
        else f"suppression {problem}: it suppresses nothing",
        path=comment.path,
        line=comment.line,
        column=comment.column,
        symbol="",
        affected=(),
        trace=(Step(comment.path, comment.line, "", problem),),
        reason=(
            "A suppression that no longer suppresses would hide the next defect."
            if unused
            else "Whoever reads it must see which finding is accepted, and why."
        ),
        fix="Remove it." if unused else f"Write it as `{FORM}`.",
        key=key or problem,
    )
