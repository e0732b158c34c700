"""The proof for a person: one line of progress while it runs, a table at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from kvcodemod.verify.outcome import CaseResult, Failure, ProofReport, Step

_STYLES = {
    "passed": "green",
    "failed": "bold red",
    "not moved": "red",
    "unchecked": "yellow",
}


class ProofProgress:
    """A progress line on a terminal; nothing elsewhere. Call it with each step."""

    def __init__(self, console: Console) -> None:
        """Draw on `console`, which should write to stderr."""
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> ProofProgress:
        """Start drawing."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away again."""
        self._progress.stop()

    def __call__(self, step: Step) -> None:
        """Show one step."""
        self._progress.update(
            self._task,
            description=escape(step.text),
            completed=step.done,
            total=step.total or None,
        )


def print_report(report: ProofReport, console: Console) -> None:
    """The table, what failed and where, and one line that sums it up."""
    if report.cases:
        console.print(_table(report))
    for line in _failures(report):
        console.print(line, highlight=False, soft_wrap=True)
    for note in report.notes:
        console.print(f"note: {escape(note)}", highlight=False, soft_wrap=True)
    console.print(_summary(report), highlight=False, soft_wrap=True)


@dataclass
class _Row:
    cls: str
    cases: int = 0
    moves: int = 0
    bad: dict[str, int] = field(default_factory=dict)


def _table(report: ProofReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("pool", no_wrap=True)
    table.add_column("class", no_wrap=True)
    table.add_column("cases", justify="right")
    table.add_column("moves", justify="right")
    table.add_column("result", no_wrap=True)
    for wrapper in dict.fromkeys(case.wrapper for case in report.cases):
        cases = [case for case in report.cases if case.wrapper == wrapper]
        own = _Row("", len(cases), sum(case.moves for case in cases))
        for case in cases:
            if case.status != "passed":
                own.bad[case.status] = own.bad.get(case.status, 0) + 1
        _add(table, wrapper, own)
        for (name, _), row in _sub_pools(cases).items():
            _add(table, f"  .{name}", row)
    return table


def _sub_pools(cases: list[CaseResult]) -> dict[tuple[str, str], _Row]:
    rows: dict[tuple[str, str], _Row] = {}
    for case in cases:
        for pool in case.pools:
            row = rows.setdefault((pool.name, pool.cls), _Row(pool.cls))
            row.cases += 1
            row.moves += case.moves
            guilty = {failure.pool for failure in case.failures}
            word = "failed" if pool.name in guilty else "not moved"
            if pool.name in guilty or "" in guilty:
                row.bad[word] = row.bad.get(word, 0) + 1
    return rows


def _add(table: Table, name: str, row: _Row) -> None:
    words = [f"[{_STYLES[k]}]{n} {k}[/]" for k, n in row.bad.items()]
    result = ", ".join(words) or f"[{_STYLES['passed']}]passed[/]"
    table.add_row(escape(name), row.cls, str(row.cases), str(row.moves), result)


def _failures(report: ProofReport) -> Iterator[str]:
    """Each kind of failure once, with how often it was seen and the first case."""
    seen: dict[tuple[str, str, str], list[tuple[CaseResult, Failure]]] = {}
    for case in report.cases:
        for failure in case.failures:
            place = re.sub(r"\[\d+\]", "", failure.place)
            key = (place, failure.reason, case.status)
            seen.setdefault(key, []).append((case, failure))
    for (place, reason, status), found in seen.items():
        case, failure = found[0]
        style = _STYLES[status]
        cases = len({c.name for c, _ in found})
        often = f"{cases} cases, the first" if cases > 1 else "one case"
        what = f", {failure.pattern!r}" if failure.pattern else ""
        yield f"[{style}]{status}[/] [bold]{escape(place)}[/]: {escape(reason)}"
        yield f"    in {often}: {escape(case.name + what)}"
        detail = failure.detail.replace(reason, "").strip(" :()")
        if detail:
            where = f"{failure.place}: " if failure.place != place else "at "
            yield f"    {escape(where + detail)}"


def _summary(report: ProofReport) -> str:
    style = _STYLES[report.status]
    moves = sum(case.moves for case in report.cases)
    total = f"{len(report.cases)} cases, {moves} moves"
    where = ""
    if report.runtime is not None:
        run = report.runtime
        how = "cpu (Triton's interpreter)" if run.device == "cpu" else run.device
        where = f" on {how}, torch {run.torch}, in {report.seconds:.0f} s"
    if report.status == "passed":
        text = (
            f"[{style}]passed[/]: {total}{where}; every byte as by gather-then-scatter"
        )
    elif report.status == "failed":
        bad = sum(case.status == "failed" for case in report.cases)
        text = f"[{style}]failed[/]: {bad} of {total}{where}"
    else:
        text = f"[{style}]not checked[/]: {total}{where}"
    if report.problem is not None:
        text += f"\n{escape(report.problem.message)}"
        if report.problem.hint:
            text += f"\n{escape(report.problem.hint)}"
    return text
