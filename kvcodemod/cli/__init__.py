"""The command line: parse arguments, call one function, print, set the exit code.

Each command stands in a module of its own that is imported only when it runs, so that
`kvcodemod --help` and the pre-commit hook start fast.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import sys
from typing import Any, NoReturn

import click

from kvcodemod import __version__

_COMMANDS = {
    "apply": "Rewrite the tree so that composite KV pools can move their rows.",
    "lint": "Flag pool methods that speculative decoding calls and that do not exist.",
    "why": "Say which server gets to a method of a class, or what keeps all from it.",
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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # not click's 1: that would mean findings
            click.echo("kvcodemod: interrupted", err=True)
            sys.exit(3)

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
    checked or written, or was interrupted, and nothing was changed.
    """


def run() -> NoReturn:
    """The program: `main`, then an end that does not take the memory apart.

    To free every syntax tree one by one takes a fifth of the time of a lint, and to
    look for cycles among them much of the rest. Both are the program's to decide, not
    a command's: whoever calls `main` in a process of their own goes on with it.
    """
    gc.disable()  # one short run that keeps what it allocates
    code: int | str | None = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except OSError as error:  # standard output, mostly: the rest is caught in its place
        code = _unwritable(error)
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError as error:
        code = _unwritable(error)
    if isinstance(code, str):
        click.echo(code, err=True)
        code = 1
    os._exit(code or 0)


def _unwritable(error: OSError) -> int:
    if error.errno != errno.EPIPE:  # then whoever read the output has seen enough
        with contextlib.suppress(OSError):
            click.echo(f"kvcodemod: {error.strerror or error}", err=True)
    return 3
