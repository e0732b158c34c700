"""The code that gets written into SGLang, in the style that SGLang is formatted with.

Every text is what `ruff format` (88 columns) gives, at the indentation it is meant for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kvcodemod.facts.pools.wrappers import SUB_POOLS

WIDTH = 88
PLAN_FUNCTION = "plan_kv_row_move"
MOVE_FUNCTION = "move_kv_rows"
PLAN_ATTRIBUTE = "_kv_row_move"
SHARED_FUNCTION = "plan_shared_kv_row_move"
OTHERS_ATTRIBUTE = "_kv_other_moves"
CHECK_FUNCTION = "check_movable_layout"


def set_up(buffers: Iterable[str], flag: str, layout: str = "", value: str = "") -> str:
    """Statements for the end of a constructor, to stand at eight columns.

    With a `layout` attribute only where that has the given value.
    """
    rows = [f"self.{name}" for name in buffers]
    argument = rows[0] if len(rows) == 1 else f"[{', '.join('*' + r for r in rows)}]"
    head = f"self.{PLAN_ATTRIBUTE} = "
    call = f"{PLAN_FUNCTION}({argument})"
    if 12 + len(head) + len(call) > WIDTH:
        call = f"{PLAN_FUNCTION}(\n        {argument}\n    )"
    test = f'{flag} and self.{layout} == "{value}"' if layout else flag
    return f"{head}None\nif {test}:\n    {head}{call}\n"


def set_up_shared(sub_pools: Iterable[str], flag: str) -> str:
    """The statement that plans a wrapper's moves, to stand at eight columns."""
    lines = [f"self.{PLAN_ATTRIBUTE}, self.{OTHERS_ATTRIBUTE} = {SHARED_FUNCTION}("]
    lines.append(f"    {flag},")
    lines += [f"    self.{name}," for name in sub_pools]
    lines.append(")")
    return "\n".join(lines) + "\n"


def move(how: str, via: str, signature: str, args: tuple[str, ...]) -> str:
    """A method that moves the rows of a class, to stand at four columns.

    `how` and `via` are those of `facts.pools.movers.Movability`.
    """
    given = ", ".join(args)
    name = signature.removeprefix("def ").partition("(")[0]
    match how:
        case "rows":
            lines = [f"    {MOVE_FUNCTION}(self.{PLAN_ATTRIBUTE}, {given})"]
        case "method":
            lines = [f"    self.{via}({given})"]
        case "translated-rows":
            lines = ["    # The same slots as are written: translated as a write is."]
            lines += [f"    {arg} = self.{via}({arg})" for arg in args]
            lines.append(f"    if self.{PLAN_ATTRIBUTE} is None:")
            lines.append(f"        super().{name}({given})")
            lines.append("    else:")
            lines.append(f"        {MOVE_FUNCTION}(self.{PLAN_ATTRIBUTE}, {given})")
        case "translated":
            lines = ["    # The same slots as are written: translated as a write is."]
            lines.append(f"    super().{name}(")
            lines += [f"        self.{via}({arg})," for arg in args]
            lines.append("    )")
        case _:
            raise ValueError(how)
    return "\n".join([signature, *lines]) + "\n"


def delegate(
    move: str,
    args: tuple[str, ...],
    sub_pools: tuple[str, ...],
    optional: tuple[str, ...],
    check: str,
) -> str:
    """The body of a wrapper's move, to stand at eight columns.

    With a `check` every sub-pool is checked before the first row is written, so that
    no move is ever partial.
    """
    call = f"{move}({', '.join(args)})"
    lines = _tuple_of(sub_pools)
    if check:
        lines += [f"for pool in {SUB_POOLS}:", f"    {check}(pool)"]
    lines.append(f"for pool in {SUB_POOLS}:")
    if optional:
        lines += ["    if pool is not None:", f"        pool.{call}"]
    else:
        lines.append(f"    pool.{call}")
    return "\n".join(lines) + "\n"


def _tuple_of(sub_pools: tuple[str, ...]) -> list[str]:
    """The assignment that lists the sub-pools, on one line if eight columns allow."""
    names = [f"self.{name}" for name in sub_pools]
    comma = "," if len(names) == 1 else ""
    one = f"{SUB_POOLS} = ({', '.join(names)}{comma})"
    if 8 + len(one) <= WIDTH:
        return [one]
    return [f"{SUB_POOLS} = (", *(f"    {name}," for name in names), ")"]


def delegate_shared(move: str, args: tuple[str, ...], check: str) -> str:
    """The body of a wrapper's move where it moves slot-major sub-pools at once."""
    given = ", ".join(args)
    lines = [f"{SUB_POOLS} = self.{OTHERS_ATTRIBUTE}"]
    if check:
        lines += [f"for pool in {SUB_POOLS}:", f"    {check}(pool)"]
    lines.append(f"{MOVE_FUNCTION}(self.{PLAN_ATTRIBUTE}, {given})")
    lines += [f"for pool in {SUB_POOLS}:", f"    pool.{move}({given})"]
    return "\n".join(lines) + "\n"


def shared_rows(
    classes: Mapping[str, tuple[str, ...]], layout: str, slot_major: str
) -> str:
    """A function that plans one move for all sub-pools of `classes` (name -> buffers).

    Exactly these classes: a subclass may lay its rows out or address them otherwise.
    """
    lines = [
        f"def {SHARED_FUNCTION}(enabled, *sub_pools):",
        '    """Plan one move for all sub-pools with slot-major rows at shared slots.',
        "",
        "    Returns the plan and the other sub-pools, which move by themselves.",
        '    """',
        "    rows, others = [], []",
        "    for pool in sub_pools:",
        f'        plain = getattr(pool, "{layout}", "{slot_major}") == "{slot_major}"',
    ]
    word = "if"
    for name, buffers in classes.items():
        lines.append(f"        {word} plain and type(pool) is {name}:")
        lines += [f"            rows += pool.{buffer}" for buffer in buffers]
        word = "elif"
    lines += [
        f"        {word} pool is not None:",
        "            others.append(pool)",
        f"    return {PLAN_FUNCTION}(rows) if enabled else None, others",
    ]
    return "\n".join(lines) + "\n"


def check_layout(layout: str, movable: tuple[str, ...], move: str) -> str:
    """A function that refuses a pool by name if its own move does not serve its layout.

    Seen: with the `vectorized_5d` layout (ROCm, AITER) MHATokenToKVPool takes a block
    for a slot, and would move the wrong bytes (mem_cache/memory_pool.py, 0.5.15 on).
    """
    known = ", ".join(f'"{name}"' for name in movable)
    return f'''def {CHECK_FUNCTION}(pool):
    """Raise NotImplementedError if {move} does not know the pool's layout."""
    layout = getattr(pool, "{layout}", "{movable[0]}")
    if layout not in ({known}):
        raise NotImplementedError(
            f"{move} does not support {{type(pool).__name__}} "
            f"with {layout}={{layout!r}}."
        )
'''


def fitted(name: str, value: str, block: int, hang: int) -> str:
    """`value` as text, in parentheses on lines of its own where `name=value,` is long.

    The keyword starts `hang` columns into a block that is indented by `block`; the
    lines of the text are indented from the block.
    """
    if block + hang + len(name) + 1 + len(value) + 1 <= WIDTH:
        return value
    inner = value[1:-1] if value[0] == "(" and value[-1] == ")" else value
    return f"(\n{' ' * (hang + 4)}{inner}\n{' ' * hang})"
