"""Files are read whole, whatever they do meanwhile, and with the memory they need."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from trees import tree_of

from kvcodemod.tree import source
from kvcodemod.tree.source import SourceTree

PATH = "sglang/srt/a.py"
TEXT = "x = 1\n" * 100


@pytest.fixture
def tree(tmp_path: Path) -> SourceTree:
    return tree_of(tmp_path, {"srt/a.py": TEXT})


def test_a_reading_that_is_cut_short_goes_on(
    tree: SourceTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.read
    monkeypatch.setattr(os, "read", lambda handle, size: real(handle, min(size, 7)))
    assert tree.data(PATH).decode() == TEXT


@pytest.mark.parametrize("times", [1, 1000])
def test_a_file_that_grows(
    times: int, tree: SourceTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has been added since its size was asked for is read too."""
    more = b"y = 2\n" * times

    def grow(real: Callable[[int], os.stat_result], handle: int) -> os.stat_result:
        status = real(handle)
        with tree.absolute(PATH).open("ab") as stream:
            stream.write(more)
        return status

    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda handle: grow(real, handle))
    data = tree.data(PATH)
    monkeypatch.undo()
    assert data == TEXT.encode() + more * data.count(more)
    assert more in data


@pytest.mark.parametrize("size", [len(TEXT), len(TEXT) - 1])
def test_the_largest_file_that_is_read(
    size: int, tree: SourceTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LARGEST", size)
    data = tree.data(PATH)
    if size == len(TEXT):
        assert (data.decode(), tree.unread) == (TEXT, {})
    else:
        assert (data, list(tree.unread)) == (b"", [PATH])
        assert tree.unread[PATH] == f"larger than {size} bytes: not read"


def test_a_small_file_takes_little_memory(tree: SourceTree) -> None:
    """It took 16 MiB a file, for a moment, and most of the time of reading."""
    tracemalloc.start()
    try:
        assert tree.data(PATH)
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_folder_and_a_pipe_are_named(tree: SourceTree, tmp_path: Path) -> None:
    (tmp_path / "sglang/srt/b.py").mkdir()
    os.mkfifo(tmp_path / "sglang/srt/c.py")
    assert tree.data("sglang/srt/b.py") == tree.data("sglang/srt/c.py") == b""
    assert set(tree.unread.values()) == {"not a regular file"}
    assert len(tree.unread) == 2
