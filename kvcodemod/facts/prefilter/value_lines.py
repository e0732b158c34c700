"""Where a name may stand as a value, told from the bytes of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvcodemod.facts.prefilter.words import WholeWords, is_word
from kvcodemod.tree.source import SourceTree


def lines_of_values(
    tree: SourceTree,
    bare: frozenset[str],
    skipped: tuple[str, ...] = (),
    among: tuple[str, ...] = (),
) -> dict[str, list[int]]:
    """File -> the lines on which one of the names may stand as a value.

    `among` are the files to look at, where they are known.
    """
    found: dict[str, list[int]] = {}
    words = WholeWords(name.encode() for name in bare)
    for path in among or tree.containing(words.parts):
        if not path.partition("/")[2].startswith(skipped):
            lines = sorted(value_lines(tree.data(path), words))
            if lines:
                found[path] = lines
    return found


_AFTER = re.compile(rb"[ \t]*(?:[(,)\]}\n\r:#]|if\b|else\b|or\b|and\b|for\b|as\b|$)")
"""What can stand after a class that is used as a value; prose goes on otherwise."""

_TYPED = re.compile(rb"(?:->|[\w)\]][ \t]*:|\|)[ \t]*(?:[\w.]+\.)?$")
"""What stands before it in an annotation."""

_PROSE = re.compile(rb"([\w'.;]+)[ \t]+\(?(?:[\w.]+\.)?$")
_KEYWORDS = frozenset(b"return else if or and yield lambda await not =".split())

_NO_VALUE = re.compile(rb"[ \t]*(?:(?:class|from|import)\b|#|>>>)")
"""How a line begins that has no value of interest."""


def value_lines(data: bytes, words: WholeWords) -> set[int]:
    """The lines on which one of the words may stand as a value: a superset."""
    return {
        data.count(b"\n", 0, at) + 1
        for at, end in words.find(data)
        if _is_value(data, at, end)
    }


def _is_value(data: bytes, at: int, end: int) -> bool:
    around = data[at - 1 : at] + data[end : end + 1]
    if any(quote in around for quote in (b'"', b"'", b"`")):
        return False
    if not _AFTER.match(data, end, end + 40):
        return False
    if data.startswith(b" as ", end):
        return True  # an alias: look closer
    start = data.rfind(b"\n", 0, at) + 1
    before = data[max(start, at - 200) : at]
    if _NO_VALUE.match(before):
        return False
    prose = _PROSE.search(before)
    if prose and prose[1] not in _KEYWORDS:
        return False
    brackets = list(_open_brackets(data, at))
    for opened in brackets:
        if data[max(0, opened - 12) : opened].rstrip().endswith(_NO_USE_BEFORE):
            return False
    inner = data[brackets[0] : brackets[0] + 1] if brackets else b""
    if inner == b"[":
        return not is_word(data[brackets[0] - 1])
    if inner == b"{" or data[end : end + 1] == b"(" or b"lambda" in before:
        return True
    return not _TYPED.search(before)


def _open_brackets(data: bytes, at: int) -> Iterator[int]:
    """The brackets that are open at a place, innermost first, three at most."""
    depth = found = 0
    low = max(0, at - 1500)
    for match in reversed(list(_BRACKET.finditer(data, low, at))):
        depth += 1 if match[0] in b")]}" else -1
        if depth < 0:
            yield match.start()
            depth = 0
            found += 1
            if found == 3:
                return


_BRACKET = re.compile(rb"[()\[\]{}]")
_NO_USE_BEFORE = (b"isinstance", b"issubclass", b"cast", b"import", b"super", b" in")
