"""`kvcodemod config`: the configuration in force and where each value came from."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import click

from kvcodemod.cli.common import USAGE, fail
from kvcodemod.settings import Settings, SettingsError, load_settings


@click.command(name="config")
@click.argument(
    "path",
    required=False,
    default=".",
    type=click.Path(path_type=Path),
    metavar="[PATH]",
)
@click.option("--config", type=click.Path(path_type=Path), help="Read this file.")
def command(path: Path, config: Path | None) -> None:
    """Show the configuration in force for PATH and where each value came from."""
    try:
        settings = load_settings(path.resolve(), config)
    except SettingsError as error:
        fail(str(error), USAGE)
    for item in fields(Settings):
        if item.name == "origin":
            continue
        value = getattr(settings, item.name)
        shown = list(value) if isinstance(value, tuple) else value
        where = settings.origin.get(item.name, "default")
        click.echo(f"{item.name.replace('_', '-')} = {shown!r}  # {where}")
