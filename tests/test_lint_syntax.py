"""A file that does not parse and has no say: a warning, and the answer stays."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lint_trees import files
from trees import write_tree

from kvcodemod.cli import main
from kvcodemod.facts.prefilter import unparsable

BROKEN = "x = 1\n\ndef broken(:\n    pass\n"


def lint(folder: Path, *options: str) -> Result:
    command = ["lint", str(folder), "--output-format", "json", *options]
    return CliRunner().invoke(main, command)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """The same tree without and with a broken file that nothing depends on."""
    whole = write_tree(tmp_path / "whole", files())
    broken = write_tree(tmp_path / "broken", {**files(), "test/notes.py": BROKEN})
    return whole, broken


@pytest.mark.parametrize("options", [("--no-cache",), ()])
def test_it_is_named_with_its_line_and_nothing_else_changes(
    options: tuple[str, ...],
    trees: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    whole, broken = trees
    plain = lint(whole, *options)
    assert "does not parse" not in plain.stderr
    for _ in range(2):  # the second run may answer from the cache
        done = lint(broken, *options)
        assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout)
        assert "warning: sglang/test/notes.py:3: does not parse" in done.stderr


PADDING = "# more\n" * 1000
MARKERS = "x = 1\n<<<<<<< ours\nx = 2\n=======\nx = 3\n>>>>>>> theirs\n"
BROKEN_FILES = [
    pytest.param(BROKEN.encode(), 3, id="bracket"),
    pytest.param(b"x = [1,\n2\n", 1, id="list"),
    pytest.param(b"x = {1: 2\n", 1, id="dict"),
    pytest.param(b'x = 1\n"""words\n', 2, id="long string"),
    pytest.param(b"x = 1\n'''words\n", 2, id="other long string"),
    pytest.param(MARKERS.encode(), 2, id="merge"),
    pytest.param(b"x = 1\n\0\n", None, id="nul"),
    pytest.param(b"x = 1\ny = '\xff'\n", 2, id="encoding"),
]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small trees count as large ones."""
    monkeypatch.setattr(unparsable, "SMALL_TREE", 10)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("data", "line"), BROKEN_FILES)
@pytest.mark.parametrize("long", [False, True])
def test_a_large_tree(
    data: bytes, line: int | None, long: bool, tmp_path: Path
) -> None:
    folder = write_tree(tmp_path, files())
    (folder / "sglang/notes.py").write_bytes(data + PADDING.encode() * long)
    found = [text for text in lint(folder).stderr.splitlines() if "notes.py" in text]
    assert len(found) == 1
    assert f"sglang/notes.py:{f'{line}:' if line else ''} " in found[0]
    assert "it has no say, so it was passed over" in found[0]


@pytest.mark.usefixtures("large")
def test_a_large_file_of_a_large_tree_has_to_look_broken(tmp_path: Path) -> None:
    text = "this was wrong\n"
    more = {"short.py": text, "long.py": text + PADDING}
    found = lint(write_tree(tmp_path, {**files(), **more})).stderr
    assert "sglang/short.py:1: does not parse" in found
    assert "long.py" not in found


@pytest.mark.parametrize(
    "text",
    [
        "x = '(' + \"[\"  # {\n",
        'x = """([{\n"""\ny = "\\"(" + "\\\\" + "]"\n',
        "x = '''([{\"\n'''\ny = '\\'(' + \"it's [\"\n",
        "x = '\\\n('  # it goes on\n",
    ],
)
def test_brackets_in_strings_and_comments_do_not_look_broken(text: str) -> None:
    """Else hundreds of SGLang's files would be parsed."""
    ast.parse(text)
    assert not unparsable.looks_broken(text.encode())


@pytest.mark.usefixtures("large")
def test_what_only_looks_broken_is_no_warning(tmp_path: Path) -> None:
    text = f'# coding: latin-1\nx = \'\xff\'  # """\n{PADDING}'
    folder = write_tree(tmp_path, files())
    (folder / "sglang/notes.py").write_bytes(text.encode("latin-1"))
    assert unparsable.looks_broken(text.encode("latin-1"))
    assert "notes.py" not in lint(folder).stderr
