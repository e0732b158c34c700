"""What `kvcodemod lint` does once it knows what is wanted and the scan is under way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click

from kvcodemod.cli.common import FAILED, FOUND, USAGE, fail
from kvcodemod.console import Piece, cache_folder, coloured, plain, wants_colour
from kvcodemod.facts.prefilter.scan import Scan
from kvcodemod.lint import baseline as baselines
from kvcodemod.lint.gate import Gated, accepted, fails, gate
from kvcodemod.lint.registry import Registry, UnknownRulesError, load_rules
from kvcodemod.lint.session import NothingToLintError, Outcome, lint
from kvcodemod.report.lint_view import View, lines_of
from kvcodemod.settings import Settings
from kvcodemod.tree.locate import Package

_RENDER = {
    "full": "lint_full",
    "concise": "lint_concise",
    "json": "lint_json",
    "sarif": "sarif",
    "github": "github",
    "junit": "junit",
}


@dataclass(frozen=True)
class Run:
    """What is wanted, by file and command line.

    Attributes:
        update: write the baseline, and with `accept_new` take new findings into it.
        statistics: only count.
        output: where the report goes; None is the terminal.
        cached: whether the cache may be used.
    """

    settings: Settings
    update: bool
    accept_new: bool
    show_suppressed: bool
    show_excluded: bool
    statistics: bool
    output: Path | None
    cached: bool


def run(scan: Scan, wanted: Run) -> None:
    """Check, report, and end the program with the documented exit code."""
    settings, package = wanted.settings, scan.tree.package
    registry = load_rules()
    try:
        outcome = lint(
            scan,
            registry,
            settings.select,
            settings.ignore,
            settings.names,
            cache_folder=cache_folder() if wanted.cached else None,
        )
    except (UnknownRulesError, NothingToLintError) as error:
        fail(str(error), USAGE)
    _say(f"warning: {warning}" for warning in outcome.warnings)
    result = outcome.result
    if result.broken:
        words = "\n".join(f"  {problem}" for problem in result.broken)
        fail(f"these files matter and cannot be read:\n{words}", FAILED)
    try:
        gated = _gated(outcome, registry, wanted)
    except baselines.BaselineError as error:
        fail(str(error), USAGE)
    view = View(
        findings=gated.findings,
        source=lines_of(outcome.tree),
        version=package.version,
        pools=result.pools,
        entries=result.entries,
        suppressed=gated.suppressed,
        show_suppressed=wanted.show_suppressed,
        excluded=result.excluded,
        show_excluded=wanted.show_excluded,
        stale=gated.stale,
        rules=registry.selected(settings.select, settings.ignore),
        fail_on=settings.fail_on,
        prefix=_prefix(package, settings.output_format),
        problems=(*registry.broken, *result.failed),
    )
    pieces = _report(view, settings.output_format, wanted.statistics)
    _write(pieces, wanted.output)
    if settings.output_format == "github":
        _summarise(view)
    if result.failed:
        fail(f"a rule did not run to its end: {'; '.join(result.failed)}", FAILED)
    if settings.fail_on != "never" and gated.stale:
        _say_stale(gated, settings)
        sys.exit(FOUND)
    if fails(view.findings, settings.fail_on):
        if settings.output_format == "full" and settings.baseline is None:
            _say(["to accept these and refuse new ones, add --write-baseline FILE"])
        sys.exit(FOUND)


def _gated(outcome: Outcome, registry: Registry, wanted: Run) -> Gated:
    """What counts; the baseline is written if it is to be."""
    settings, update = wanted.settings, wanted.update
    file, tree, result = settings.baseline, outcome.tree, outcome.result
    add = wanted.accept_new or (file is not None and not file.exists())
    chosen = registry.selected(settings.select, settings.ignore)
    active = {rule.code for rule in chosen}
    entries: tuple[baselines.Entry, ...] = ()
    if file is not None and (not update or file.exists()):
        entries = baselines.read(file)
    gated = gate(tree, result.findings, registry, active, settings, entries)
    _say(f"warning: per-file-ignores: {p} matches no file" for p in gated.idle)
    if file is None or not update or result.failed:
        return gated
    kept = accepted(gated, entries, add)
    baselines.write(file, kept)
    gone = len(gated.stale)
    words = "1 finding" if len(kept) == 1 else f"{len(kept)} findings"
    _say([f"wrote {file}: {words} accepted" + (f", {gone} removed" if gone else "")])
    return gate(tree, result.findings, registry, active, settings, kept)


def _say_stale(gated: Gated, settings: Settings) -> None:
    count = len(gated.stale)
    lines = "".join(f"\n  {entry}" for entry in gated.stale)
    words = "entry is" if count == 1 else "entries are"
    file = settings.baseline
    text = f"{file}: {count} {words} stale, the finding is gone:{lines}\n"
    _say([f"{text}remove with --write-baseline {file}"])


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(f"kvcodemod: {line}", err=True)


def _prefix(package: Package, output_format: str) -> str:
    """How a service gets from where it looks for files to the package's parent."""
    base = package.patch_base
    if output_format == "github" and os.environ.get("GITHUB_WORKSPACE"):
        base = Path(os.environ["GITHUB_WORKSPACE"]).resolve()
    if package.parent == base or not package.parent.is_relative_to(base):
        return ""
    return f"{package.parent.relative_to(base).as_posix()}/"


def _summarise(view: View) -> None:
    from kvcodemod.report.github import summary

    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if file:
        try:
            with Path(file).open("a", encoding="utf-8") as stream:
                stream.write(summary(view))
        except OSError as error:
            _say([f"warning: {file}: {error.strerror or error}"])


def _report(view: View, name: str, statistics: bool) -> list[Piece]:
    if statistics:
        lines = [f"{count:5}  {rule}\n" for rule, count in view.by_rule.items()]
        return [(text, "") for text in (*lines, f"{view.summary()}\n")]
    report = import_module(f"kvcodemod.report.{_RENDER[name]}")
    return list(report.render(view))


def _write(pieces: list[Piece], output: Path | None) -> None:
    if output is not None:
        try:
            output.write_text(plain(pieces), encoding="utf-8")
        except OSError as error:
            fail(f"{output}: {error.strerror or error}", FAILED)
        return
    click.echo(coloured(pieces) if wants_colour() else plain(pieces), nl=False)
