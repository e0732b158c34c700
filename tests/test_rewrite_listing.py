"""One more item in any list of parameters, arguments or imports, and nothing else."""

from __future__ import annotations

import ast
import io
import tokenize

import libcst as cst
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcodemod.rewrite.edits import AddParameter, ExtendImport, PassFlag
from kvcodemod.rewrite.engine import edit_text

BREAKS = ("", "", "", "\n    ", "\n        ", "  # why\n    ", "\n    # alone\n    ")
BREAKS_IN_CODE = (*BREAKS, " ", "\n\n    ", " \\\n    ")
NEWLINES = ("\n", "\r\n")


@st.composite
def spaced(draw: st.DrawFn, items: list[str], trailing: bool = True) -> str:
    """`items` between commas, with any blanks, line breaks and comments around them."""
    space = st.sampled_from(BREAKS_IN_CODE)
    text = draw(space)
    for at, item in enumerate(items):
        text += item + draw(space)
        more = at < len(items) - 1
        if more or (trailing and draw(st.booleans())):
            text += "," + draw(space)
    return text


def plain(count: int) -> list[str]:
    return [f"p{at}" for at in range(count)]


@st.composite
def parameters(draw: st.DrawFn) -> str:
    items = plain(draw(st.integers(0, 3)))
    if items and draw(st.booleans()):
        items.append("/")
    items += [f"d{at}=({at}, 'x')" for at in range(draw(st.integers(0, 2)))]
    star = draw(st.sampled_from(["", "*args", "*"]))
    if star:
        items.append(star)
        least = 1 if star == "*" else 0
        items += [f"k{at}: int = 1" for at in range(draw(st.integers(least, 2)))]
    if draw(st.booleans()):
        items.append("**kwargs")
    return draw(spaced(items))


@st.composite
def arguments(draw: st.DrawFn) -> str:
    items = [f"f({at}, [1, 2])" for at in range(draw(st.integers(0, 2)))]
    items += draw(st.sampled_from([[], ["*more"]]))
    items += [f"k{at} = a if b else c" for at in range(draw(st.integers(0, 2)))]
    items += draw(st.sampled_from([[], ["**extra"], ["**extra", "last=1"]]))
    return draw(spaced(items))


def comments(text: str) -> list[tuple[str, str]]:
    """Every comment and the token, commas and brackets aside, that it stands behind."""
    found, last = [], ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found.append((last if token.string != "# end" else "", token.string))
        elif token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING):
            last = token.string
    return found


def check_text(text: str, new: str) -> None:
    assert comments(new) == comments(text)
    assert new.count("\r\n") == (new.count("\n") if "\r" in text else 0)
    assert cst.parse_module(new).code == new


def dumped(text: str) -> str:
    return ast.dump(ast.parse(text))


@settings(max_examples=120, deadline=None)
@given(inside=parameters(), newline=st.sampled_from(NEWLINES))
def test_a_parameter_more(inside: str, newline: str) -> None:
    text = f"class A:\n    def f({inside}):\n        pass  # end\n"
    text = text.replace("\n", newline)
    new = edit_text("a.py", text, [AddParameter("a.py", "A.f", 2, "flag")])
    check_text(text, new)
    tree = ast.parse(new)
    (function,) = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    spec = function.args
    for args, defaults in (
        (spec.args, spec.defaults),
        (spec.kwonlyargs, spec.kw_defaults),
    ):
        if args and args[-1].arg == "flag":
            assert ast.unparse(args.pop()) == "flag: bool"
            default = defaults.pop()
            assert default is not None
            assert ast.unparse(default) == "False"
            break
    else:
        raise AssertionError(new)
    assert ast.dump(tree) == dumped(text)


@settings(max_examples=120, deadline=None)
@given(inside=arguments(), newline=st.sampled_from(NEWLINES))
def test_an_argument_more(inside: str, newline: str) -> None:
    text = f"class A:\n    def f(self):\n        self.x = make({inside})  # end\n"
    text = text.replace("\n", newline)
    value = "(a.speculative is not None)"
    edit = PassFlag("a.py", "A.f", 3, "make", "flag", value)
    new = edit_text("a.py", text, [edit])
    check_text(text, new)
    tree = ast.parse(new)
    (call,) = (
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "make"
    )
    (passed,) = (k for k in call.keywords if k.arg == "flag")
    assert ast.unparse(passed.value) == "a.speculative is not None"
    call.keywords.remove(passed)
    assert ast.dump(tree) == dumped(text)
    # a flag that is there already is not passed again
    assert edit_text("a.py", new, [edit]) == new


@settings(max_examples=120, deadline=None)
@given(
    names=st.lists(
        st.sampled_from(["A", "KEY", "Pool as Rows", "z", "move", "zeta"]),
        min_size=1,
        unique=True,
    ),
    data=st.data(),
    bracketed=st.booleans(),
    newline=st.sampled_from(NEWLINES),
)
def test_an_import_more(
    names: list[str], data: st.DataObject, bracketed: bool, newline: str
) -> None:
    inside = f"({data.draw(spaced(names))})" if bracketed else ", ".join(names)
    text = f"import os\nfrom a.b import {inside}  # kept\n\n\nclass A: ...\n"
    text = text.replace("\n", newline)
    edit = ExtendImport("a.py", "a.b", 2, "a.b", ("name_one", "name_two"))
    new = edit_text("a.py", text, [edit])
    assert sorted(c for _, c in comments(new)) == sorted(c for _, c in comments(text))
    assert cst.parse_module(new).code == new
    tree = ast.parse(new)
    (found,) = (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom))
    added = [a for a in found.names if a.name in edit.names]
    assert [a.name for a in added] == ["name_one", "name_two"]
    found.names = [a for a in found.names if a not in added]
    assert ast.dump(tree) == dumped(text)
    assert all(len(line) <= 88 for line in new.splitlines() if "#" not in line)
