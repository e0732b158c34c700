"""`kvcodemod lint`: pool methods that speculative decoding will not survive."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from kvcodemod.cli.common import FAILED, FOUND, USAGE, fail, package_of, path_argument
from kvcodemod.console import Piece, cache_folder, coloured, plain, wants_colour
from kvcodemod.lint import baseline as baselines
from kvcodemod.lint.gate import Gated, accepted, fails, gate
from kvcodemod.lint.registry import Registry, UnknownRulesError, load_rules
from kvcodemod.lint.session import NothingToLintError, Outcome, lint
from kvcodemod.report import (
    github,
    junit,
    lint_concise,
    lint_full,
    lint_json,
    sarif,
)
from kvcodemod.report.lint_view import View, lines_of
from kvcodemod.settings import (
    PATHS,
    THRESHOLDS,
    Settings,
    SettingsError,
    load_settings,
)
from kvcodemod.tree.locate import Package

_RENDER = {
    "full": lint_full.render,
    "concise": lint_concise.render,
    "json": lint_json.render,
    "sarif": sarif.render,
    "github": github.render,
    "junit": junit.render,
}
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="lint")
@path_argument
@click.option("--select", multiple=True, metavar="CODE", help="Only these rules.")
@click.option("--ignore", multiple=True, metavar="CODE", help="All but these rules.")
@click.option(
    "--paths",
    type=click.Choice(list(PATHS)),
    multiple=True,
    help="Which paths to check. [default: spec-decode]",
)
@click.option(
    "--baseline", type=_FILE, metavar="FILE", help="Accept the findings in this file."
)
@click.option(
    "--write-baseline",
    type=_FILE,
    metavar="FILE",
    help="Make this baseline of all findings; if it is there, remove what is gone.",
)
@click.option(
    "--accept-new", is_flag=True, help="With --write-baseline: add new findings too."
)
@click.option(
    "--show-suppressed", is_flag=True, help="Also list findings that do not count."
)
@click.option(
    "--output-format", type=click.Choice(list(_RENDER)), help="[default: full]"
)
@click.option(
    "--output",
    type=_FILE,
    metavar="FILE",
    help="Write the report to a file.",
)
@click.option(
    "--statistics", is_flag=True, help="Only count the findings of each rule."
)
@click.option(
    "--fail-on",
    type=click.Choice(list(THRESHOLDS)),
    help="When to exit 1. [default: error]",
)
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option(
    "--config",
    type=_FILE,
    metavar="FILE",
    help="Read the settings from this file.",
)
def command(
    path: Path | None,
    installed: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    paths: tuple[str, ...],
    baseline: Path | None,
    write_baseline: Path | None,
    accept_new: bool,
    show_suppressed: bool,
    output_format: str | None,
    output: Path | None,
    statistics: bool,
    fail_on: str | None,
    no_cache: bool,
    config: Path | None,
) -> None:
    """Flag pool methods that speculative decoding can call and will not survive."""
    if accept_new and write_baseline is None:
        raise click.UsageError("--accept-new adds to a baseline: give --write-baseline")
    if write_baseline and baseline and write_baseline != baseline:
        raise click.UsageError("--write-baseline is the baseline: not with another one")
    gc.disable()  # one short run that keeps what it allocates
    package = package_of(path, installed)
    registry = load_rules()
    try:
        settings = load_settings(package.root, config, registry.knows).with_options(
            select=select,
            ignore=ignore,
            paths=paths,
            baseline=write_baseline or baseline,
            output_format=output_format,
            fail_on=fail_on,
        )
        outcome = lint(
            package,
            registry,
            settings.select,
            settings.ignore,
            settings.names,
            cache_folder=None if no_cache else cache_folder(),
        )
    except (SettingsError, UnknownRulesError, NothingToLintError) as error:
        fail(str(error), USAGE)
    _say(f"warning: {warning}" for warning in outcome.warnings)
    result = outcome.result
    if result.broken:
        words = "\n".join(f"  {problem}" for problem in result.broken)
        fail(f"these files matter and cannot be read:\n{words}", FAILED)
    add = accept_new or (write_baseline is not None and not write_baseline.exists())
    try:
        gated = _gated(outcome, registry, settings, write_baseline is not None, add)
    except baselines.BaselineError as error:
        fail(str(error), USAGE)
    view = View(
        findings=gated.findings,
        source=lines_of(outcome.tree),
        version=package.version,
        pools=result.pools,
        entries=result.entries,
        suppressed=gated.suppressed,
        show_suppressed=show_suppressed,
        stale=gated.stale,
        rules=registry.selected(settings.select, settings.ignore),
        fail_on=settings.fail_on,
        prefix=_prefix(package, settings.output_format),
        problems=(*registry.broken, *result.failed),
    )
    _write(_report(view, settings.output_format, statistics), output)
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


def _gated(
    outcome: Outcome, registry: Registry, settings: Settings, update: bool, add: bool
) -> Gated:
    """What counts; the baseline is written if it is to be."""
    file, tree, result = settings.baseline, outcome.tree, outcome.result
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
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if file:
        try:
            with Path(file).open("a", encoding="utf-8") as stream:
                stream.write(github.summary(view))
        except OSError as error:
            _say([f"warning: {file}: {error.strerror or error}"])


def _report(view: View, name: str, statistics: bool) -> list[Piece]:
    if statistics:
        lines = [f"{count:5}  {rule}\n" for rule, count in view.by_rule.items()]
        return [(text, "") for text in (*lines, f"{view.summary()}\n")]
    return list(_RENDER[name](view))


def _write(pieces: list[Piece], output: Path | None) -> None:
    if output is not None:
        try:
            output.write_text(plain(pieces), encoding="utf-8")
        except OSError as error:
            fail(f"{output}: {error.strerror or error}", FAILED)
        return
    click.echo(coloured(pieces) if wants_colour() else plain(pieces), nl=False)
