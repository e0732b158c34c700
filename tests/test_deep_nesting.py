"""What is nested too deeply ends with code 3 and its place, never with a traceback."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lint_trees import POOLS, files
from trees import write_tree

from kvcodemod.cli import main, verify
from kvcodemod.facts.classes.table import c3_merge
from kvcodemod.facts.syntax.parsing import parse, parse_annotation

HEAD = "from sglang.srt.mem_cache.pools import Odd\nclass Worker:\n"


def _run(name: str, folder: Path, *options: str) -> Result:
    done = CliRunner().invoke(main, [name, str(folder), *options])
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done


def _holding(expression: str) -> str:
    return (
        HEAD + "    def go(self, token_to_kv_pool, c):\n"
        f"        held = {expression}\n        held.move_kv_cache(c, c)\n"
        "        token_to_kv_pool.move_kv_cache(c, c)\n"
    )


def _annotated(annotation: str) -> str:
    return f"{HEAD}    def go(self, pool: {annotation}, c):\n" + (
        "        pool.move_kv_cache(c, c)\n"
    )


def _returns(depth: int) -> str:
    return (
        HEAD + f"    def go(self, c):\n        self.g{depth}().move_kv_cache(c, c)\n"
        "    def g0(self):\n        return self.token_to_kv_pool\n"
    ) + "".join(
        f"    def g{n + 1}(self):\n        return self.g{n}()\n" for n in range(depth)
    )


def _fields(depth: int) -> str:
    return (
        HEAD + "    def __init__(self, token_to_kv_pool):\n"
        "        self.a0 = token_to_kv_pool\n"
        + "".join(f"        self.a{n + 1} = self.a{n}\n" for n in range(depth))
        + f"    def go(self, c):\n        self.a{depth}.move_kv_cache(c, c)\n"
    )


def _branches(depth: int) -> str:
    return (
        HEAD + "    def go(self, token_to_kv_pool, c):\n        if c == 0:\n"
        "            token_to_kv_pool.move_kv_cache(c, c)\n"
    ) + "".join(f"        elif c == {n}: pass\n" for n in range(1, depth))


WORKERS: dict[str, Callable[[int], str]] = {
    "attributes": lambda n: _holding("self" + ".token_to_kv_pool" * n),
    "calls": lambda n: _holding("self.token_to_kv_pool" + ".get_kvcache()" * n),
    "indices": lambda n: _holding("self.token_to_kv_pool" + "[0]" * n),
    "conditions": lambda n: _holding("token_to_kv_pool if c else " * n + "None"),
    "sums": lambda n: _holding("c" + " + c" * n),
    "signs": lambda n: _holding("-" * n + "c"),
    "lambdas": lambda n: _holding("lambda: " * n + "token_to_kv_pool"),
    "union": lambda n: _annotated("Odd" + " | Odd" * n),
    "union in a string": lambda n: _annotated('"Odd' + " | Odd" * n + '"'),
    "returns": _returns,
    "fields": _fields,
    "branches": _branches,
}


@pytest.mark.parametrize("case", WORKERS)
def test_a_path_that_is_not_deep(case: str, tmp_path: Path) -> None:
    folder = write_tree(tmp_path, files(worker=WORKERS[case](30)))
    done = _run("lint", folder, "--no-cache", "--output-format", "json")
    assert done.exit_code == 1
    symbols = {found["symbol"] for found in json.loads(done.stdout)["findings"]}
    assert "Odd.move_kv_cache" in symbols


@pytest.mark.parametrize("case", WORKERS)
def test_a_path_that_is_too_deep(case: str, tmp_path: Path) -> None:
    folder = write_tree(tmp_path, files(worker=WORKERS[case](1500)))
    done = _run("lint", folder, "--no-cache")
    assert done.exit_code == 3
    assert "sglang/srt/speculative/worker.py:" in done.stderr
    assert "nested too deeply" in done.stderr or "does not parse" in done.stderr


def _raising(depth: int) -> str:
    """`Odd` raises on the last of many branches."""
    lines = [f"        elif tgt_loc == {n}: pass\n" for n in range(1, depth)]
    return (
        "class KVCache:\n    def get_key_buffer(self, layer): ...\n"
        "class Plain(KVCache): pass\nclass Odd(KVCache):\n"
        "    def move_kv_cache(self, tgt_loc, src_loc):\n"
        f"        if tgt_loc == 0: pass\n{''.join(lines)}"
        '        else: raise NotImplementedError("odd")\n'
    )


@pytest.mark.parametrize("name", ["lint", "matrix", "apply"])
def test_a_pool_that_is_too_deep(name: str, tmp_path: Path) -> None:
    fine = write_tree(tmp_path / "a", files(pools=_raising(30)))
    assert _run(name, fine).exit_code == 0
    deep = write_tree(tmp_path / "b", files(pools=_raising(1500)))
    before = {p: p.read_bytes() for p in deep.rglob("*.py")}
    done = _run(name, deep)
    assert done.exit_code == 3
    assert "sglang/srt/mem_cache/pools.py:" in done.stderr
    assert "nested too deeply" in done.stderr
    assert {p: p.read_bytes() for p in deep.rglob("*.py")} == before


def test_a_default_that_is_too_deep(tmp_path: Path) -> None:
    """A rule that fails on it names the place."""
    deep = "src_loc=" + "-" * 1500 + "1"
    text = POOLS.replace("src_loc): raise", f"{deep}): raise")
    assert deep in text
    done = _run("lint", write_tree(tmp_path, files(pools=text)), "--no-cache")
    assert done.exit_code == 3
    assert "KVC001: sglang/srt/mem_cache/pools.py:11: nested too deeply" in done.stderr


def test_anywhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recurse(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("kvcodemod.facts.paths.relevance.Relevance.__init__", recurse)
    done = _run("lint", write_tree(tmp_path, files()), "--no-cache")
    assert done.exit_code == 3
    assert "sglang: a chain of definitions is too long to follow" in done.stderr


def test_a_proof_of_what_is_too_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recurse(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(verify, "_found", recurse)
    done = _run("verify", write_tree(tmp_path, files()))
    assert done.exit_code == 3
    assert "sglang: a chain of definitions is too long to follow" in done.stderr


@pytest.mark.parametrize("turned", [False, True])
def test_a_long_line_of_subclasses(turned: bool, tmp_path: Path) -> None:
    """Python itself has no limit on it; whichever class is looked at first."""
    count = 1200
    line = [f"class P{n}(P{n - 1}): pass\n" for n in range(1, count)]
    text = (
        "class KVCache:\n    def get_key_buffer(self, layer): ...\n"
        + "class Plain(KVCache): pass\nclass P0(KVCache): pass\n"
        + "".join(line[:: -1 if turned else 1])
        + f"class Odd(P{count - 1}):\n"
        + "    def move_kv_cache(self, tgt_loc, src_loc): raise NotImplementedError\n"
    )
    folder = write_tree(tmp_path, files(pools=text))
    rows = json.loads(_run("matrix", folder, "--output-format", "json").stdout)
    assert len(rows["classes"]) == count + 3
    done = _run("lint", folder, "--no-cache", "--output-format", "json")
    found = {f["symbol"] for f in json.loads(done.stdout)["findings"]}
    assert "Odd.move_kv_cache" in found


def test_c3_is_that_of_python() -> None:
    """On every small hierarchy that Python accepts."""
    made: list[type] = [type("A", (), {})]
    for number, bases in enumerate(
        [(0,), (0,), (1, 2), (2, 1), (1,), (3, 5), (5, 2), (6, 7), (4,), (3, 0)]
    ):
        parents = tuple(made[n] for n in bases)
        try:
            made.append(type(f"C{number}", parents, {}))
        except TypeError:  # these contradict each other
            made.append(type(f"C{number}", parents[:1], {}))
    for cls in made[1:]:
        orders = [[c.__name__ for c in b.__mro__] for b in cls.__bases__]
        bases = [base.__name__ for base in cls.__bases__]
        merged = c3_merge([*orders, bases])
        assert [cls.__name__, *merged] == [c.__name__ for c in cls.__mro__]


def test_bases_that_contradict_each_other() -> None:
    assert c3_merge([["A", "B"], ["B", "A"], ["C", "A"]]) == ["C", "A", "B"]


@pytest.mark.parametrize("text", ["-" * 100_000 + "x", "(" * 5000, "a b", "\0", ""])
def test_a_string_that_is_no_annotation(text: str) -> None:
    assert parse_annotation(text) is None


def test_a_string_that_only_some_pythons_parse(tmp_path: Path) -> None:
    worker = _annotated(f'"{"x" + ".x" * 100_000}"')
    done = _run("lint", write_tree(tmp_path, files(worker=worker)), "--no-cache")
    assert done.exit_code in (0, 3)


def test_what_python_warns_of_is_not_said() -> None:
    """Nor is it an error where warnings are errors."""
    text = 'x = "\\d"\n'
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("error")
        assert parse("a.py", text).body
        assert parse_annotation(text.partition("= ")[2]) is not None
    assert not seen
