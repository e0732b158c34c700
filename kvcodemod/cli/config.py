"""`kvcodemod config`: the configuration in force and where each value came from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from kvcodemod.cli.common import USAGE, fail, text_or_json
from kvcodemod.config import DEFAULT_NAMES
from kvcodemod.lint.registry import load_rules
from kvcodemod.settings import SCHEMA, Settings, SettingsError, load_settings
from kvcodemod.tree.locate import NoPackageError, find_package


@click.command(name="config")
@click.argument(
    "path",
    required=False,
    default=".",
    type=click.Path(path_type=Path),
    metavar="[PATH]",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Read the settings from this file.",
)
@text_or_json
@click.option(
    "--schema", is_flag=True, help="Print the JSON Schema of [tool.kvcodemod] instead."
)
def command(path: Path, config: Path | None, output_format: str, schema: bool) -> None:
    """Show the configuration in force for PATH and where each value came from.

    PATH is what `lint` takes; without an SGLang there, its folder is searched upwards.
    """
    if schema:
        click.echo(SCHEMA.read_text(encoding="utf-8"), nl=False)
        return
    try:
        start = find_package(path).root
    except NoPackageError:
        start = path.resolve()
    try:
        settings = load_settings(start, config, load_rules().knows)
    except SettingsError as error:
        fail(str(error), USAGE)
    values = dict(_values(settings))
    if output_format == "json":
        data = {
            key: {"value": value, "source": settings.source(key)}
            for key, value in values.items()
        }
        click.echo(json.dumps({"schema_version": 1, "settings": data}, indent=2))
        return
    for key, value in values.items():
        click.echo(f"{key} = {json.dumps(value)}  # {settings.source(key)}")


def _values(settings: Settings) -> Iterator[tuple[str, Any]]:
    baseline = settings.baseline
    yield "select", list(settings.select)
    yield "ignore", list(settings.ignore)
    yield "paths", list(settings.paths)
    yield "baseline", str(baseline) if baseline else None
    yield "output-format", settings.output_format
    yield "fail-on", settings.fail_on
    ignores = settings.per_file_ignores
    yield "per-file-ignores", {p: list(rules) for p, rules in ignores.items()}
    before = asdict(DEFAULT_NAMES)
    changed = {k: v for k, v in asdict(settings.names).items() if v != before[k]}
    yield "names", {name.replace("_", "-"): value for name, value in changed.items()}
