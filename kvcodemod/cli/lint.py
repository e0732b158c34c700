"""`kvcodemod lint`: pool methods that speculative decoding will not survive."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from kvcodemod.cli.common import (
    config_option,
    package_of,
    path_argument,
    settings_of,
)
from kvcodemod.facts.prefilter.scan import Scan
from kvcodemod.settings import FORMATS, PATHS, THRESHOLDS
from kvcodemod.tree.source import SourceTree

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
    "--show-excluded",
    is_flag=True,
    help="Also list what no server gets to, with the facts that exclude it.",
)
@click.option("--output-format", type=click.Choice(FORMATS), help="[default: full]")
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
@config_option
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
    show_excluded: bool,
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
    package = package_of(path, installed)
    settings = settings_of(package, config).with_options(
        select=select,
        ignore=ignore,
        paths=paths,
        baseline=write_baseline or baseline,
        output_format=output_format,
        fail_on=fail_on,
    )
    scan = Scan(SourceTree(package), settings.names, hashed=not no_cache)
    with closing(scan):
        # the analysis and the rules are imported while the scan goes on
        from kvcodemod.cli.linting import Run, run

        wanted = Run(
            settings=settings,
            update=write_baseline is not None,
            accept_new=accept_new,
            show_suppressed=show_suppressed,
            show_excluded=show_excluded,
            statistics=statistics,
            output=output,
            cached=not no_cache,
        )
        run(scan, wanted)
