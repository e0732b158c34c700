"""`kvcodemod explain CODE`: a rule's page."""

from __future__ import annotations

import click

from kvcodemod.cli.common import USAGE, fail
from kvcodemod.lint.registry import load_rules
from kvcodemod.report.rule_page import page


@click.command(name="explain")
@click.argument("code", metavar="CODE")
def command(code: str) -> None:
    """Say what a rule finds, why that is bad and how to mend it."""
    rules = load_rules().rules
    for rule in rules.values():
        if code.lower() in (rule.code.lower(), rule.name):
            click.echo(page(rule), nl=False)
            return
    fail(f"no rule {code}; there are {', '.join(rules)}", USAGE)
