"""The command line: parse arguments, call one function, print, set the exit code.

Each command stands in a module of its own that is imported only when it runs, so that
`kvcodemod --help` and the pre-commit hook start fast.
"""

from __future__ import annotations

import importlib

import click

from kvcodemod import __version__

_COMMANDS = {
    "apply": "Rewrite the tree so that composite KV pools can move their rows.",
    "lint": "Flag pool methods that speculative decoding calls and that do not exist.",
    "verify": "Prove a tree: build its pools, move rows, compare every buffer.",
    "matrix": "Show which pool implements which method.",
    "explain": "Say what a rule finds, why that is bad and how to mend it.",
    "rules": "List the rules.",
    "config": "Show the configuration in force and where each value came from.",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"kvcodemod.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kvcodemod")
def main() -> None:
    """Make SGLang's KV-cache pools survive speculative decoding.

    Exit codes: 0 clean or nothing to do; 1 findings, pending changes or a failed
    proof; 2 wrong usage, or no SGLang at the path; 3 something could not be parsed,
    checked or written, and nothing was changed.
    """
