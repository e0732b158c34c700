"""What the commands share: the PATH argument, exit codes, errors in plain words."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from kvcodemod.settings import Settings, SettingsError, load_settings
from kvcodemod.tree.locate import (
    NoPackageError,
    Package,
    find_installed,
    find_package,
)

CLEAN, FOUND, USAGE, FAILED = 0, 1, 2, 3
"""The documented exit codes."""

_F = TypeVar("_F", bound=Callable[..., object])


def path_argument(function: _F) -> _F:
    """PATH, or `--installed` in its place."""
    function = click.option(
        "--installed",
        is_flag=True,
        help="The SGLang installed beside this Python, in place of PATH.",
    )(function)
    return click.argument(
        "path", required=False, type=click.Path(path_type=Path), metavar="PATH"
    )(function)


def text_or_json(function: _F) -> _F:
    """`--output-format text|json`."""
    return click.option(
        "--output-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
    )(function)


def config_option(function: _F) -> _F:
    """`--config FILE`."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Read the settings from this file.",
    )(function)


def settings_of(package: Package, config: Path | None) -> Settings:
    """The settings for a tree; ends the program with code 2 if one is wrong."""
    try:
        return load_settings(package.root, config, known_rule)
    except SettingsError as error:
        fail(str(error), USAGE)


def known_rule(name: str) -> bool:
    """Whether a rule of this code or name is installed."""
    from kvcodemod.lint.registry import load_rules

    return load_rules().knows(name)


def package_of(path: Path | None, installed: bool) -> Package:
    """The package that the arguments name; ends the program with code 2 without one."""
    if (path is None) != installed:
        raise click.UsageError("give PATH, or --installed in its place")
    try:
        return find_package(path) if path is not None else find_installed()
    except NoPackageError as error:
        fail(str(error), USAGE)


def fail(message: str, code: int) -> NoReturn:
    """Say what is wrong on stderr and end with a documented exit code."""
    click.echo(f"kvcodemod: {message}", err=True)
    sys.exit(code)
