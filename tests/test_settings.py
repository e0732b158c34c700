"""`[tool.kvcodemod]`: every value, every error at once, where each value came from."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path

import pytest
from gate_trees import POOLS, RAISES, concise, edit, lint, run, small
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import need

from kvcodemod.cli.linting import _RENDER
from kvcodemod.config import DEFAULT_NAMES, Names
from kvcodemod.settings import FORMATS, SCHEMA, SettingsError, load_settings

jsonschema = need("jsonschema")

RULES = {"KVC001", "KVC900", "unsupported-pool-method"}

ALL = """\
[tool.other]
select = 1

[tool.kvcodemod]
select = ["KVC001", "KVC900"]
ignore = ["KVC900"]
paths = ["spec-decode"]
baseline = "accepted.json"
output-format = "concise"
fail-on = "warning"

[tool.kvcodemod.per-file-ignores]
"sglang/srt/hardware/**" = ["KVC001"]

[tool.kvcodemod.names]
pool-bases = ["KVCache", "Pool"]
flag = "can_move"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return small(tmp_path)


def test_every_key(tmp_path: Path) -> None:
    file = _write(tmp_path, ALL)
    found = load_settings(tmp_path / "deep" / "er", None, RULES.__contains__)
    assert found.file == file
    assert found.select == ("KVC001", "KVC900")
    assert found.ignore == ("KVC900",)
    assert found.paths == ("spec-decode",)
    assert found.baseline == tmp_path / "accepted.json"
    assert found.output_format == "concise"
    assert found.fail_on == "warning"
    assert found.per_file_ignores == {"sglang/srt/hardware/**": ("KVC001",)}
    assert found.names.pool_bases == ("KVCache", "Pool")
    assert found.names.flag == "can_move"
    assert found.names.move == DEFAULT_NAMES.move
    assert found.source("fail-on") == f"{file}:10"
    assert found.source("per-file-ignores") == f"{file}:12"


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = load_settings(tmp_path, None, RULES.__contains__)
    assert found.file is None
    assert found.source("select") == "default"


def test_the_nearest_file_with_the_table_counts(tmp_path: Path) -> None:
    inner = tmp_path / "python" / "sglang"
    inner.mkdir(parents=True)
    _write(tmp_path, '[tool.kvcodemod]\nfail-on = "never"\n')
    _write(tmp_path / "python", '[project]\nname = "kvcodemod-user"\n')
    assert load_settings(inner, None, RULES.__contains__).fail_on == "never"
    _write(tmp_path / "python", '[tool.kvcodemod]\nfail-on = "warning"\n')
    assert load_settings(inner, None, RULES.__contains__).fail_on == "warning"


def test_the_search_ends_at_the_top_of_the_checkout(tmp_path: Path) -> None:
    inner = tmp_path / "checkout"
    (inner / ".git").mkdir(parents=True)
    _write(tmp_path, '[tool.kvcodemod]\nfail-on = "never"\n')
    assert load_settings(inner, None, RULES.__contains__).fail_on == "error"


WRONG = """\
[tool.kvcodemod]
selct = ["KVC001"]
ignore = ["KVC777", "nonsense"]
paths = ["everything"]
baseline = ""
output-format = "xml"
fail-on = 3
per-file-ignores = {"a.py" = "KVC001", "b.py" = ["KVC778"]}

[tool.kvcodemod.names]
flags = "x"
move = ["a"]
pool-bases = "KVCache"
"""


def test_all_errors_at_once_with_their_lines(tmp_path: Path) -> None:
    file = _write(tmp_path, WRONG)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path, None, RULES.__contains__)
    said = str(caught.value)
    for line, words in {
        2: "selct: unknown key; did you mean select?",
        3: "ignore: there is no rule 'KVC777'",
        4: "paths: must be one of spec-decode",
        5: "baseline: must be a text",
        6: "output-format: must be one of full, concise",
        7: "fail-on: must be one of error, warning, never; it is 3",
        11: "names.flags: unknown key; did you mean flag?",
        12: "names.move: must be a text",
        13: "names.pool-bases: must be a list of texts",
    }.items():
        assert f"{file}:{line}: {words}" in said
    assert "'nonsense'" in said
    assert "per-file-ignores.a.py: must be a list" in said
    assert "per-file-ignores.b.py: there is no rule 'KVC778'" in said


def test_lint_names_them_all_and_exits_2(tree: Path) -> None:
    _write(tree, WRONG)
    done = lint(tree)
    assert done.code == 2
    assert done.err.count("pyproject.toml") == 12
    assert "see `kvcodemod rules`" in done.err
    assert run("config", tree).code == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.kvcodemod\n", "not TOML"),
        ("tool = 3 # kvcodemod\n", "there is no [tool.kvcodemod]"),
        ("[project]\n", "there is no [tool.kvcodemod]"),
        ("[tool]\nkvcodemod = 3\n", "must be a table"),
    ],
)
def test_a_named_file_without_a_usable_table(
    tree: Path, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "other.toml"
    file.write_text(text)
    done = lint(tree, "--config", file)
    assert done.code == 2
    assert says in done.err
    assert "other.toml" in done.err


def test_a_named_file_that_is_missing(tree: Path, tmp_path: Path) -> None:
    done = lint(tree, "--config", tmp_path / "no.toml")
    assert done.code == 2
    assert "no.toml: No such file" in done.err


def test_a_broken_neighbour_that_is_not_ours_is_left_alone(tree: Path) -> None:
    _write(tree, "[project\n")
    assert lint(tree).code == 1


def test_lint_follows_the_file_and_options_come_first(tree: Path) -> None:
    _write(tree, '[tool.kvcodemod]\nignore = ["KVC001"]\noutput-format = "concise"\n')
    done = lint(tree)
    assert done.code == 0
    assert done.out == ""
    assert lint(tree, "--output-format=full").out.startswith("nothing found")
    _write(tree, '[tool.kvcodemod]\nfail-on = "never"\nselect = ["KVC001"]\n')
    assert lint(tree).code == 0
    assert lint(tree, "--fail-on=error").code == 1
    assert lint(tree, "--select=KVC002").code == 0


def test_the_baseline_stands_beside_the_file(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tree, '[tool.kvcodemod]\nbaseline = "accepted.json"\n')
    done = lint(tree)
    assert done.code == 2
    assert "accepted.json: no such baseline; make one with" in done.err
    assert lint(tree, "--write-baseline", tree / "accepted.json").code == 0
    monkeypatch.chdir("/")
    assert lint(tree).code == 0


def test_names_decide_what_is_found(tree: Path) -> None:
    for path in tree.rglob("*.py"):
        path.write_text(path.read_text().replace("KVCache", "RowStore"))
    assert "no pool class" in lint(tree).err
    _write(tree, '[tool.kvcodemod.names]\npool-bases = ["RowStore"]\n')
    assert concise(tree) == ["KVC001 18", "KVC001 23"]


@pytest.mark.parametrize(
    ("pattern", "hits"),
    [
        ("sglang/srt/mem_cache/pools.py", True),
        ("sglang/srt/mem_cache/", True),
        ("sglang/**/pools.py", True),
        ("**/pools.py", True),
        ("sglang/srt/mem_cache/*.py", True),
        ("./sglang/srt/mem_cache/poo?s.py", True),
        ("python/sglang/srt/mem_cache/pools.py", True),
        ("sglang/*/pools.py", False),
        ("pools.py", False),
        ("sglang/srt/mem_cache/POOLS.py", False),
        ("sglang/srt/mem_cache/pools.p", False),
        ("sglang/srt/mem.cache/pools.py", False),
    ],
)
def test_per_file_ignores(tmp_path: Path, pattern: str, hits: bool) -> None:
    small(tmp_path / "python")
    _write(tmp_path, f'[tool.kvcodemod.per-file-ignores]\n"{pattern}" = ["KVC001"]\n')
    done = lint(tmp_path)
    assert (done.code == 0) is hits
    assert ("matches no file" in done.err) is not hits
    shown = lint(tmp_path, "--show-suppressed").out
    assert (f"suppressed: per-file-ignores: {pattern}" in shown) is hits


def test_per_file_ignores_only_the_rules_they_name(tree: Path) -> None:
    edit(tree, RAISES, f"{RAISES}  # kvcodemod: ignore", count=1)
    _write(tree, f'[tool.kvcodemod.per-file-ignores]\n"{POOLS}" = ["KVC9"]\n')
    assert concise(tree) == ["KVC001 18", "KVC001 23"]


def test_config_prints_what_is_in_force(tree: Path) -> None:
    file = _write(tree, '[tool.kvcodemod]\nfail-on = "never"\n')
    done = run("config", tree)
    assert done.code == 0
    assert f'fail-on = "never"  # {file}:2' in done.out
    assert 'output-format = "full"  # default' in done.out
    data = json.loads(run("config", tree, "--output-format=json").out)
    assert data["settings"]["fail-on"] == {"value": "never", "source": f"{file}:2"}
    assert set(data["settings"]) == set(_schema()["properties"])


def test_config_finds_the_file_that_lint_finds(tmp_path: Path) -> None:
    """At a checkout's top, the file may stand in `python/`."""
    small(tmp_path / "python")
    file = _write(tmp_path / "python", '[tool.kvcodemod]\nfail-on = "never"\n')
    assert str(file) in run("config", tmp_path).out
    assert lint(tmp_path).code == 0


def test_the_schema_is_shipped_and_printed() -> None:
    assert json.loads(run("config", "--schema").out) == _schema()
    jsonschema.Draft7Validator.check_schema(_schema())


def test_the_schema_knows_every_name_with_its_default() -> None:
    names = _schema()["properties"]["names"]["properties"]
    assert set(names) == {f.name.replace("_", "-") for f in fields(Names)}
    for field in fields(Names):
        default = names[field.name.replace("_", "-")]["default"]
        given = tuple(default) if isinstance(default, list) else default
        assert given == field.default, field.name


def test_the_formats_are_those_of_the_command() -> None:
    assert tuple(_RENDER) == FORMATS
    assert tuple(_schema()["properties"]["output-format"]["enum"]) == FORMATS


_VALUES = st.recursive(
    st.sampled_from(["KVC001", "error", "sarif", "spec-decode", "x", "", 3, True]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["flag", "pool-bases", "x"]), inner, max_size=2
        )
    ),
    max_leaves=4,
)
_TABLES = st.dictionaries(
    st.sampled_from([*json.loads(SCHEMA.read_text())["properties"], "nope"]),
    _VALUES,
    max_size=3,
)


@given(_TABLES)
@settings(max_examples=200, deadline=None)
def test_the_schema_and_the_check_agree(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, object]
) -> None:
    """What one of them takes the other takes, but for rules that do not exist."""
    folder = tmp_path_factory.getbasetemp()
    file = folder / f"agree-{os.getpid()}.toml"
    file.write_text(f"[tool]\nkvcodemod = {_toml(table)}\n")
    valid = jsonschema.Draft7Validator(_schema()).is_valid(table)
    try:
        load_settings(folder, file, bool)
        taken = True
    except SettingsError:
        taken = False
    assert taken is valid


def _toml(value: object) -> str:
    if isinstance(value, dict):
        pairs = [f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def _write(folder: Path, text: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(text)
    return file


def _schema() -> dict[str, dict[str, dict[str, object]]]:
    return json.loads(SCHEMA.read_text())  # type: ignore[no-any-return]
