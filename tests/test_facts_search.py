"""The fast searches in text and syntax find what slow and plain ones find."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from kvcodemod.facts.prefilter.words import WholeWords
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.text import Text

WORDS = st.frozensets(st.text("abAB_1", min_size=1, max_size=9), min_size=1, max_size=6)


@given(WORDS, st.text("abAB_1 .(\n", max_size=200))
def test_whole_words(words: frozenset[str], text: str) -> None:
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(words, key=len, reverse=True))})\b")
    searched = WholeWords(word.encode() for word in words)
    plain = [match.span() for match in pattern.finditer(text)]
    assert sorted(searched.find(text.encode())) == plain
    assert searched.stand_in(text.encode()) == bool(plain)


@given(st.text("ab1_.( \té\n", max_size=200), st.data())
def test_calls(text: str, data: st.DataObject) -> None:
    pattern = re.compile(r"(?<!\w)(\w+)[ \t]*\(")
    lines = text.split("\n")
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    searched = Text(text)
    assert searched.called == frozenset(pattern.findall(text))
    part = "\n".join(lines[first - 1 : last])
    assert searched.called_in(first, last) == frozenset(pattern.findall(part))


@given(
    st.lists(
        st.sampled_from(
            ["self.a", "myself.a", "self.b: int", " = 1", "= 1\n", "=", ", ", "\n"]
        ),
        max_size=12,
    )
)
def test_stores(parts: list[str]) -> None:
    text = "".join(parts)
    pattern = re.compile(r"\bself\.(\w+)[ \t]*(?::[^=\n]*)?(?:=(?!=)|,)")
    plain: dict[str, list[int]] = {}
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        plain.setdefault(match[1], []).append(line)
    assert Text(text).stores == plain


SOURCE = """
def outer(a, *b, c: int = 1, **d) -> None:
    x = {**a, "k": [i for i in b if i]}
    def inner():
        return hidden
    class Inner:
        attribute = hidden
    f = lambda y: hidden
    try:
        with a as g, b:
            del x[1:2], a.b
    except (A, B) as error:
        raise C from error
    finally:
        global z
    match a:
        case [1, *rest] if rest:
            await a
        case Point(x=0) | {"k": 1, **others}:
            print(f"{a!r:>{c}}", *b, sep=d)
    for i, j in b:
        k = (m := i) if j else not a < b <= c
    return x
"""


def test_the_nodes_of_a_function() -> None:
    """As `ast` walks them, without contexts, operators and what is nested."""

    def plain(node: ast.AST) -> Iterator[ast.AST]:
        yield node
        if not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        ):
            for child in ast.iter_child_nodes(node):
                yield from plain(child)

    (function,) = ast.parse(SOURCE).body
    assert isinstance(function, ast.FunctionDef)
    left_out = ast.expr_context | ast.operator | ast.boolop | ast.unaryop | ast.cmpop
    wanted = [
        node
        for statement in function.body
        for node in plain(statement)
        if not isinstance(node, left_out)
    ]
    assert [id(node) for node in walk_own(function)] == [id(node) for node in wanted]
    assert walk_own(function) is walk_own(function)
