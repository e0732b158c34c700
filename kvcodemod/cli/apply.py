"""`kvcodemod apply`: rewrite a tree, or show what would be rewritten."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from kvcodemod.cli.common import (
    CLEAN,
    FAILED,
    FOUND,
    USAGE,
    config_option,
    fail,
    package_of,
    path_argument,
    settings_of,
    text_or_json,
)
from kvcodemod.config import Names
from kvcodemod.report.apply_json import apply_json
from kvcodemod.report.apply_text import apply_text
from kvcodemod.rewrite.apply import Rewrite, patch_of, prepare, write
from kvcodemod.rewrite.options import Options
from kvcodemod.rewrite.refusal import RefusedError, UnknownPoolError
from kvcodemod.tree.source import SourceError, SourceTree
from kvcodemod.tree.write import WriteError, finish_pending, pending


@click.command(name="apply")
@path_argument
@click.option("--diff", is_flag=True, help="Print a patch for `git apply`; no write.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if it would.")
@click.option(
    "--patch",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the patch to this file; the tree stays as it is.",
)
@click.option(
    "--copy-flag",
    type=click.Choice(["always", "spec-only"]),
    default="always",
    show_default=True,
    help="Build sub-pools with the flag always, or as their sibling pools get it.",
)
@click.option(
    "--kernel",
    type=click.Choice(["pools", "all"]),
    default="pools",
    show_default=True,
    help="Move by the injected kernel: pools without a move, or all slot-major ones.",
)
@click.option(
    "--pool",
    "pools",
    multiple=True,
    metavar="NAME",
    help="A further composite pool whose move raises; repeatable.",
)
@click.option("--verify", is_flag=True, help="Prove the result; put it back if not.")
@click.option(
    "--python",
    type=click.Path(path_type=Path),
    help="The Python that --verify imports SGLang with.",
)
@config_option
@text_or_json
def command(
    path: Path | None,
    installed: bool,
    diff: bool,
    check: bool,
    patch: Path | None,
    copy_flag: str,
    kernel: str,
    pools: tuple[str, ...],
    verify: bool,
    python: Path | None,
    config: Path | None,
    output_format: str,
) -> None:
    """Rewrite the SGLang at PATH so that its composite KV pools can move their rows.

    All files change or none does. A second run changes nothing.
    """
    dry = diff or check or patch is not None
    if verify and dry:
        raise click.UsageError("--verify needs the tree written: not with a dry run")
    if diff and output_format == "json":
        raise click.UsageError("--diff prints a patch: not with --output-format json")
    package = package_of(path, installed)
    names = settings_of(package, config).names
    tree = SourceTree(package)
    try:
        if pending(tree.package):
            _finish(tree, dry)
        rewrite = prepare(tree, Options(copy_flag, kernel, pools, names))
        if patch is not None:
            patch.write_bytes(patch_of(tree, rewrite))
        proof = _proof(tree, names, python) if verify else None
        written = dry or write(tree, rewrite, proof)
    except UnknownPoolError as error:
        fail(str(error), USAGE)
    except (SourceError, RefusedError) as error:
        _warn(tree)
        fail(f"{error}\nnothing was changed", FAILED)
    except WriteError as error:
        fail(str(error), FAILED)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", FAILED)
    if not written:
        fail("the proof failed; every file was put back", FOUND)
    _report(tree, rewrite, dry, diff, output_format)
    if rewrite.new and not dry and not verify:
        where = "--installed" if path is None else path
        click.echo(f"kvcodemod: to prove it: kvcodemod verify {where}", err=True)
    sys.exit(FOUND if check and rewrite.new else CLEAN)


def _finish(tree: SourceTree, dry: bool) -> None:
    if dry:
        raise WriteError("an interrupted apply is pending; run it to finish it first")
    finished = finish_pending(tree.package)
    names = ", ".join(finished) or "nothing was left to do"
    click.echo(f"kvcodemod: finished an interrupted apply: {names}", err=True)


def _report(
    tree: SourceTree, rewrite: Rewrite, dry: bool, diff: bool, output_format: str
) -> None:
    version = tree.package.version
    _warn(tree)
    if diff:
        sys.stdout.buffer.write(patch_of(tree, rewrite))
        sys.stdout.buffer.flush()
        click.echo(f"kvcodemod: {rewrite.plan.note}", err=True)
    elif output_format == "json":
        click.echo(apply_json(rewrite.plan, version))
    else:
        for line in apply_text(rewrite.plan, version, pending=dry):
            click.echo(line)


def _warn(tree: SourceTree) -> None:
    for path in sorted(tree.unread):
        click.echo(f"kvcodemod: warning: {path}: {tree.unread[path]}", err=True)


def _proof(tree: SourceTree, names: Names, python: Path | None) -> Callable[[], bool]:
    def prove() -> bool:
        from kvcodemod.cli.verify import prove_package

        return prove_package(tree.package, names, python) == CLEAN

    return prove
