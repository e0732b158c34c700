"""`kvcodemod rules`: the rules there are."""

from __future__ import annotations

import click

from kvcodemod.lint.registry import load_rules
from kvcodemod.report.rule_page import table


@click.command(name="rules")
def command() -> None:
    """List the rules, those of plugins included."""
    registry = load_rules()
    click.echo(table(tuple(registry.rules.values())), nl=False)
    for problem in registry.broken:
        click.echo(f"kvcodemod: rule not loaded: {problem}", err=True)
