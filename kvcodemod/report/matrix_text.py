"""The pool x method table for a terminal, and as a markdown table."""

from __future__ import annotations

from kvcodemod.matrix import Cell, Matrix, Row

WIDE = 4
"""With more methods than this, text shows what does not work instead of a table."""

_WORDS = {
    "ok": "ok",
    "raises": "RAISES",
    "raises-conditionally": "raises?",
    "noop": "no-op",
    "missing": "MISSING",
}


def render_text(matrix: Matrix) -> str:
    """A table for a few methods; a list by class for many."""
    if not matrix.rows:
        return "no pool class in this tree\n"
    if len(matrix.methods) <= WIDE:
        return _table(matrix)
    return _list(matrix)


def render_markdown(matrix: Matrix) -> str:
    """One row a class, one column a method."""
    head = ["class", "role", *(f"`{name}`" for name in matrix.methods)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in matrix.rows:
        cells = [f"`{_short(row.qualname)}`", row.role]
        cells += [_cell_text(row, cell) for cell in row.methods.values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _table(matrix: Matrix) -> str:
    grid = [["class", "role", *matrix.methods]]
    for row in matrix.rows:
        grid.append(
            [
                _short(row.qualname),
                row.role,
                *(_cell_text(row, c) for c in row.methods.values()),
            ]
        )
    widths = [max(len(line[at]) for line in grid) for at in range(len(grid[0]))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        for line in grid
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _list(matrix: Matrix) -> str:
    lines: list[str] = []
    for row in matrix.rows:
        count = sum(cell.verdict == "ok" for cell in row.methods.values())
        lines.append(f"{row.path}:{row.line}: {_short(row.qualname)} ({row.role})")
        lines.append(f"    ok: {count} of {len(row.methods)} methods")
        for verdict in ("raises", "raises-conditionally", "noop"):
            names = [n for n, c in row.methods.items() if c.verdict == verdict]
            if names:
                lines.append(f"    {_WORDS[verdict]}: {', '.join(names)}")
        missing = sum(cell.verdict == "missing" for cell in row.methods.values())
        if missing:
            lines.append(f"    missing: {missing}")
    lines.append("")
    lines.append("Name methods with --method NAME to see where each is defined.")
    return "\n".join(lines) + "\n"


def _cell_text(row: Row, cell: Cell) -> str:
    """`ok`, `RAISES Base:120`: the class that defines it where that is another one."""
    if cell.defined_in is None:
        return _WORDS[cell.verdict]
    owner = "" if cell.defined_in == row.qualname else _short(cell.defined_in)
    return f"{_WORDS[cell.verdict]} {owner}:{cell.line}"


def _short(qualname: str) -> str:
    return qualname.rpartition(".")[2]
