"""Follows a page of docs/ word for word: writes its files, types its commands.

A file is a code block after a line that begins with its name in backticks. In a
`console` block a line that begins with `$ ` is typed; the lines below it must be in the
output in this order, with `...` for anything. `[exit N]` is the exit code, else 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from installs import sh

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
_NAME = re.compile(r"^`([\w./-]+)`[^\n]*(?:\n[^\n]+)*:\n\n$", re.M)


def steps(text: str) -> Iterator[tuple[str, str]]:
    """`(file name, its text)` and `("", console block)` in the order of the page."""
    end = 0
    for block in _BLOCK.finditer(text):
        before = text[end : block.start()]
        end = block.end()
        paragraph = before.rpartition("\n\n")[0].rpartition("\n\n")[2] + ":\n\n"
        name = _NAME.match(paragraph.replace("::", ":"))
        if block[1] == "console":
            yield "", block[2]
        elif name:
            yield name[1], block[2]


def follow(text: str, cwd: Path, env: dict[str, str]) -> int:
    """Do what the page says; gives the number of commands.

    Raises:
        AssertionError: something came out otherwise than the page shows.
    """
    count = 0
    for name, body in steps(text):
        if name:
            (cwd / name).write_text(body)
            continue
        for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            expected = shown.splitlines()
            code = 0
            if expected and (found := re.fullmatch(r"\[exit (\d)\]", expected[-1])):
                code = int(found[1])
                expected.pop()
            _compare(command, expected, sh(command, cwd, code, env))
            count += 1
    return count


def _compare(command: str, expected: list[str], out: str) -> None:
    at = 0
    for line in expected:
        if line == "...":
            continue
        shape = ".*?".join(re.escape(part) for part in line.split("..."))
        found = re.compile(shape).search(out, at)
        assert found, f"$ {command}\nthe page shows: {line}\nafter it:\n{out[at:]}"
        at = found.end()
