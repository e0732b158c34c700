"""`kvcodemod matrix`: which pool implements which method."""

from __future__ import annotations

from pathlib import Path

import click

from kvcodemod.cli.common import (
    FAILED,
    USAGE,
    config_option,
    fail,
    package_of,
    path_argument,
    settings_of,
)
from kvcodemod.matrix import build_matrix
from kvcodemod.report import matrix_json, matrix_text
from kvcodemod.tree.source import SourceTree

_FORMATS = {
    "text": matrix_text.render_text,
    "markdown": matrix_text.render_markdown,
    "json": matrix_json.render,
}


@click.command()
@path_argument
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Show only this method; repeatable. Default: every method that a pool has.",
)
@click.option(
    "--output-format", type=click.Choice(list(_FORMATS)), default="text", show_default=1
)
@config_option
def command(
    path: Path | None,
    installed: bool,
    methods: tuple[str, ...],
    output_format: str,
    config: Path | None,
) -> None:
    """Show which pool class implements, refuses or lacks which method, and where."""
    package = package_of(path, installed)
    names = settings_of(package, config).names
    tree = SourceTree(package)
    matrix = build_matrix(tree, methods, names)
    if matrix.broken:
        words = "\n".join(f"  {error}" for error in matrix.broken)
        fail(f"these files may define pools and cannot be read:\n{words}", FAILED)
    if not matrix.rows:
        bases = ", ".join(names.pool_bases)
        fail(f"no pool class (a subclass of {bases}) in {package.root}", USAGE)
    click.echo(_FORMATS[output_format](matrix), nl=False)
