"""`kvcodemod verify`: prove a tree by building its pools and moving their rows."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console

from kvcodemod.cli.common import (
    CLEAN,
    FAILED,
    FOUND,
    config_option,
    fail,
    package_of,
    path_argument,
    settings_of,
    text_or_json,
)
from kvcodemod.config import Names
from kvcodemod.facts.classes.table import pool_table
from kvcodemod.facts.pools.builds import Build
from kvcodemod.facts.pools.composites import Composites
from kvcodemod.facts.pools.wrappers import family
from kvcodemod.facts.syntax.modules import Modules
from kvcodemod.facts.syntax.nesting import too_deep
from kvcodemod.report.proof_json import render
from kvcodemod.report.proof_text import ProofProgress, print_report
from kvcodemod.tree.locate import Package
from kvcodemod.tree.source import SourceError, SourceTree
from kvcodemod.verify.outcome import ProofReport
from kvcodemod.verify.run import TIMEOUT, run_proof
from kvcodemod.verify.subject import CallSite, Wrapper


@click.command(name="verify")
@path_argument
@click.option(
    "--python",
    type=click.Path(path_type=Path),
    help="The Python that runs this SGLang; default: the one that runs kvcodemod.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="cpu runs the kernels under Triton's interpreter.",
)
@click.option(
    "--long-permutations",
    is_flag=True,
    help="Also permute more slots than the stock move takes at once; it fails that.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=TIMEOUT,
    show_default=True,
    help="Seconds for the whole proof.",
)
@config_option
@text_or_json
def command(
    path: Path | None,
    installed: bool,
    python: Path | None,
    device: str,
    long_permutations: bool,
    timeout: float,
    config: Path | None,
    output_format: str,
) -> None:
    """Build every wrapper of the SGLang at PATH, move rows, compare every buffer.

    The tree is imported in a subprocess. Exit 1 on any difference, 3 where the tree
    could not be checked.
    """
    package = package_of(path, installed)
    names = settings_of(package, config).names
    report = _prove(package, names, python, device, timeout, long_permutations)
    if output_format == "json":
        click.echo(render(report))
    else:
        print_report(report, Console())
    sys.exit(_code(report))


def prove_package(package: Package, names: Names, python: Path | None) -> int:
    """The proof as `apply --verify` runs it, told on stderr; gives the exit code."""
    report = _prove(package, names, python, "auto", TIMEOUT, False)
    print_report(report, Console(stderr=True))
    return _code(report)


def _prove(
    package: Package,
    names: Names,
    python: Path | None,
    device: str,
    timeout: float,
    long_permutations: bool,
) -> ProofReport:
    try:
        wrappers = _wrappers(SourceTree(package), names)
    except SourceError as error:
        fail(str(error), FAILED)
    with ProofProgress(Console(stderr=True)) as progress:
        return run_proof(
            package.root,
            wrappers,
            python=str(python) if python else sys.executable,
            device=device,
            on_event=progress,
            timeout=timeout,
            long_permutations=long_permutations,
        )


def _wrappers(tree: SourceTree, names: Names) -> list[Wrapper]:
    try:
        return _found(tree, names)
    except RecursionError:
        raise too_deep(tree) from None


def _found(tree: SourceTree, names: Names) -> list[Wrapper]:
    table, pools = pool_table(Modules(tree), names)
    if table.broken:
        raise table.broken[0]
    composites = Composites(table, pools, names)
    wrappers = []
    for qualname, builds in family(composites):
        module, _ = table.node(qualname)
        cls = table.classes[qualname]
        wrappers.append(
            Wrapper(
                module=module.name,
                qualname=qualname.removeprefix(f"{module.name}."),
                path=cls.path,
                line=cls.line,
                calls=tuple(_call_site(build) for build in builds),
            )
        )
    if composites.broken:
        raise composites.broken[0]
    return wrappers


def _call_site(build: Build) -> CallSite:
    return CallSite(
        path=build.path,
        line=build.line,
        keywords=build.keywords,
        positional=build.positional,
        extra_keywords=build.splat,
    )


def _code(report: ProofReport) -> int:
    if report.status == "failed":
        return FOUND
    if report.problem is not None and report.problem.kind == "nothing-to-prove":
        return CLEAN
    return CLEAN if report.passed else FAILED
