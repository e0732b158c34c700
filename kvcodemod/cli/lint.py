"""`kvcodemod lint`: pool methods that speculative decoding calls and that do not survive."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import click

from kvcodemod.cli.common import FAILED, FOUND, USAGE, fail, package_of, path_argument
from kvcodemod.console import Piece, cache_folder, coloured, plain, wants_colour
from kvcodemod.report import lint_concise, lint_full, lint_json
from kvcodemod.report.lint_view import View, lines_of
from kvcodemod.lint.registry import UnknownRulesError, load_rules
from kvcodemod.lint.session import NothingToLintError, lint
from kvcodemod.settings import PATHS, THRESHOLDS, SettingsError, load_settings


_RENDER = {
    "full": lint_full.render,
    "concise": lint_concise.render,
    "json": lint_json.render,
}


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
    "--output-format", type=click.Choice(list(_RENDER)), help="[default: full]"
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
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
    type=click.Path(path_type=Path),
    help="Read the settings from this file.",
)
def command(
    path: Path | None,
    installed: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    paths: tuple[str, ...],
    output_format: str | None,
    output: Path | None,
    statistics: bool,
    fail_on: str | None,
    no_cache: bool,
    config: Path | None,
) -> None:
    """Flag pool methods that speculative decoding can call and that will not survive."""
    gc.disable()  # one short run that keeps what it allocates
    package = package_of(path, installed)
    registry = load_rules()
    try:
        settings = load_settings(package.root, config, registry.knows)
    except SettingsError as error:
        fail(str(error), USAGE)
    try:
        outcome = lint(
            package,
            registry,
            select or settings.select,
            ignore or settings.ignore,
            cache_folder=None if no_cache else cache_folder(),
        )
    except (UnknownRulesError, NothingToLintError) as error:
        fail(str(error), USAGE)
    for warning in outcome.warnings:
        click.echo(f"kvcodemod: warning: {warning}", err=True)
    result = outcome.result
    if result.broken:
        words = "\n".join(f"  {problem}" for problem in result.broken)
        fail(f"these files matter and cannot be read:\n{words}", FAILED)
    view = View(
        findings=result.findings,
        source=lines_of(outcome.tree),
        version=package.version,
        pools=result.pools,
        entries=result.entries,
    )
    _write(_report(view, output_format or settings.output_format, statistics), output)
    if result.failed:
        fail(f"a rule did not run to its end: {'; '.join(result.failed)}", FAILED)
    level = fail_on or settings.fail_on
    if level != "never" and (view.errors or (level == "warning" and view.warnings)):
        sys.exit(FOUND)


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
