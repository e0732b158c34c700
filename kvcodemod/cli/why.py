"""`kvcodemod why`: the server that gets to a method of a class, or what keeps all."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from kvcodemod.cli.common import (
    FAILED,
    FOUND,
    USAGE,
    config_option,
    fail,
    package_of,
    settings_of,
    text_or_json,
)
from kvcodemod.console import coloured, plain, wants_colour
from kvcodemod.settings import PATHS
from kvcodemod.tree.source import SourceTree


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="PATH")
@click.argument("symbol", metavar="CLASS.METHOD")
@click.option(
    "--paths",
    type=click.Choice(list(PATHS)),
    multiple=True,
    help="Which paths to follow. [default: spec-decode]",
)
@text_or_json
@config_option
def command(
    path: Path,
    symbol: str,
    paths: tuple[str, ...],
    output_format: str,
    config: Path | None,
) -> None:
    """Say which server gets to a method of a class, or what keeps every one from it.

    Exit code 1 if one gets there and it fails, else 0.
    """
    cls, dot, method = symbol.rpartition(".")
    if (
        not dot
        or not method.isidentifier()
        or not cls.rpartition(".")[2].isidentifier()
    ):
        raise click.UsageError(f"{symbol} is not CLASS.METHOD")
    package = package_of(path, False)
    settings = settings_of(package, config).with_options(paths=paths)
    from kvcodemod.lint.why import NoSuchClassError, why

    tree = SourceTree(package)
    try:
        answer = why(tree, cls.rpartition(".")[2], method, settings.names)
    except NoSuchClassError as error:
        fail(f"{error} in {package.root}", USAGE)
    if isinstance(answer, tuple):
        words = "\n".join(f"  {problem}" for problem in answer)
        fail(f"these files matter and cannot be read:\n{words}", FAILED)
    report = import_module(f"kvcodemod.report.why_{output_format}")
    pieces = list(report.render(answer))
    click.echo(coloured(pieces) if wants_colour() else plain(pieces), nl=False)
    if answer.outcome == "fails":
        sys.exit(FOUND)
