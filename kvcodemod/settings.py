"""`[tool.kvcodemod]`: read, checked as a whole, and where each value came from."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kvcodemod.config import DEFAULT_NAMES, Names

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = Path(__file__).with_name("kvcodemod.schema.json")
"""The JSON Schema of the table, for editors."""
PATHS = ("spec-decode",)
FORMATS = ("full", "concise", "json", "sarif", "github", "junit")
THRESHOLDS = ("error", "warning", "never")

DEFAULT = "default"
FILE_NAME = "pyproject.toml"
_KEYS = (
    "select",
    "ignore",
    "paths",
    "baseline",
    "output-format",
    "fail-on",
    "per-file-ignores",
    "names",
)


class SettingsError(Exception):
    """The configuration is wrong; the message has a line for everything that is."""


@dataclass(frozen=True)
class Settings:
    """The values in force.

    Attributes:
        file: the file they were read from, if any.
        select, ignore: rules, by code or name; empty `select` means all.
        paths: which paths through the tree are followed.
        baseline: the file of accepted findings.
        output_format, fail_on: as on the command line.
        per_file_ignores: pattern -> rules that are ignored in the files it matches.
        names: what the rules look for.
        sources: key -> where its value came from.
    """

    file: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    paths: tuple[str, ...] = PATHS
    baseline: Path | None = None
    output_format: str = FORMATS[0]
    fail_on: str = THRESHOLDS[0]
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Names = DEFAULT_NAMES
    sources: Mapping[str, str] = field(default_factory=dict)

    def source(self, key: str) -> str:
        """Where the value of a key (as it is written in the file) came from."""
        return self.sources.get(key, DEFAULT)

    def with_options(self, **options: Any) -> Settings:
        """With the options of a command line, which come before the file.

        An option that was not given is None or empty.
        """
        given = {name: value for name, value in options.items() if value}
        where = {
            name.replace("_", "-"): f"--{name.replace('_', '-')}" for name in given
        }
        return replace(self, **given, sources={**self.sources, **where})


def load_settings(
    start: Path, config: Path | None, known: Callable[[str], bool]
) -> Settings:
    """The settings for a tree.

    Args:
        start: the package; the nearest `pyproject.toml` with the table is taken.
        config: the file to take instead.
        known: whether a rule of this code or name exists.

    Raises:
        SettingsError: it cannot be read, or something in it is wrong.
    """
    file = config or _nearest(start)
    if file is None:
        return Settings()
    text = _text(file)
    table = _table(file, text)
    if table is None:
        raise SettingsError(f"{file}: there is no [tool.kvcodemod] in it")
    return _Check(file, _lines(text), known).settings(table)


def _nearest(start: Path) -> Path | None:
    """From the package upwards, to the top of its checkout if it stands in one."""
    for folder in (start, *start.parents):
        file = folder / FILE_NAME
        if file.is_file() and _table(file, _text(file)) is not None:
            return file
        if (folder / ".git").exists():
            break
    return None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: not UTF-8: {error.reason}") from error


def _table(file: Path, text: str) -> Any:
    if "kvcodemod" not in text:
        return None
    try:
        tool = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not TOML: {error}") from error
    return tool.get("kvcodemod") if isinstance(tool, dict) else None


class _Check:
    """Turns the table into settings and collects everything that is wrong with it."""

    def __init__(
        self, file: Path, lines: Mapping[str, int], known: Callable[[str], bool]
    ) -> None:
        self.file = file
        self.lines = lines
        self.known = known
        self.wrong: list[tuple[int, str]] = []

    def settings(self, table: Any) -> Settings:
        if not isinstance(table, dict):
            raise SettingsError(f"{self.file}: [tool.kvcodemod] must be a table")
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in _KEYS:
                self._say(key, _unknown("key", key, _KEYS))
                continue
            checked = getattr(self, f"_{key.replace('-', '_')}")(key, value)
            values[key.replace("-", "_")] = checked
        if self.wrong:
            raise SettingsError("\n".join(words for _, words in sorted(self.wrong)))
        sources = {key: self._where(key) for key in table}
        return Settings(file=self.file, sources=sources, **values)

    def _select(self, key: str, value: Any) -> tuple[str, ...]:
        names = self._texts(key, value)
        for name in names:
            if not self.known(name):
                self._say(key, f"there is no rule {name!r} (see `kvcodemod rules`)")
        return names

    _ignore = _select

    def _paths(self, key: str, value: Any) -> tuple[str, ...]:
        given = self._texts(key, value)
        for path in given:
            self._one_of(key, path, PATHS)
        return given

    def _output_format(self, key: str, value: Any) -> str:
        return self._one_of(key, value, FORMATS)

    def _fail_on(self, key: str, value: Any) -> str:
        return self._one_of(key, value, THRESHOLDS)

    def _baseline(self, key: str, value: Any) -> Path:
        return self.file.parent / self._text(key, value)

    def _per_file_ignores(self, key: str, value: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict):
            self._say(key, "must be a table: pattern = [rules]")
            return {}
        return {
            pattern: self._select(f"{key}.{pattern}", rules)
            for pattern, rules in value.items()
        }

    def _names(self, key: str, value: Any) -> Names:
        if not isinstance(value, dict):
            self._say(key, "must be a table")
            return DEFAULT_NAMES
        kinds = {f.name.replace("_", "-"): f for f in fields(Names)}
        given: dict[str, Any] = {}
        for name, item in value.items():
            path = f"{key}.{name}"
            if name not in kinds:
                self._say(path, _unknown("key", name, kinds))
            elif isinstance(kinds[name].default, str):
                given[kinds[name].name] = self._text(path, item)
            else:
                given[kinds[name].name] = self._texts(path, item)
        return replace(DEFAULT_NAMES, **given)

    def _text(self, key: str, value: Any) -> str:
        if isinstance(value, str) and value:
            return value
        self._say(key, "must be a text that is not empty")
        return ""

    def _texts(self, key: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(v, str) and v for v in value):
            return tuple(value)
        self._say(key, 'must be a list of texts: ["...", "..."]')
        return ()

    def _one_of(self, key: str, value: Any, choices: tuple[str, ...]) -> str:
        if isinstance(value, str) and value in choices:
            return value
        self._say(key, f"must be one of {', '.join(choices)}; it is {value!r}")
        return choices[0]

    def _where(self, key: str) -> str:
        line = self.lines.get(key)
        return f"{self.file}:{line}" if line else str(self.file)

    def _say(self, key: str, words: str) -> None:
        place = self._where(key)
        self.wrong.append((self.lines.get(key, 0), f"{place}: {key}: {words}"))


def _unknown(kind: str, name: str, known: Any) -> str:
    near = get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
    return f"unknown {kind}{hint}"


_HEADER = re.compile(r"\s*\[\s*tool\s*\.\s*kvcodemod\s*(?:\.\s*([\w-]+)\s*)?\]")
_KEY = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*=""")


def _lines(text: str) -> dict[str, int]:
    """Key -> line, for keys at the beginning of a line under our own headers."""
    found: dict[str, int] = {}
    prefix: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            header = _HEADER.match(line)
            if header:
                prefix = f"{header[1]}." if header[1] else ""
                if header[1]:
                    found.setdefault(header[1], number)
            elif "=" not in line and "," not in line:
                prefix = None
        elif prefix is not None and (key := _KEY.match(line)):
            name = next(part for part in key.groups() if part is not None)
            found.setdefault(f"{prefix}{name}", number)
    return found
