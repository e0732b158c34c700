"""`[tool.kvcodemod]`: what a project has set, where each value comes from, what is wrong."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORMATS = ("full", "concise", "json")
FAIL_ON = ("error", "warning", "never")
PATHS = ("spec-decode",)


@dataclass(frozen=True)
class Settings:
    """The configuration in force; `origin` says where a value was set."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    paths: tuple[str, ...] = PATHS
    output_format: str = "full"
    fail_on: str = "error"
    origin: dict[str, str] = field(default_factory=dict)


class SettingsError(Exception):
    """The configuration is wrong; every problem is named."""

    def __init__(self, file: Path, problems: list[str]) -> None:
        """Keep the file beside its problems."""
        lines = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"{file}: [tool.kvcodemod] is not valid:\n{lines}")


def load_settings(start: Path, explicit: Path | None = None) -> Settings:
    """The settings of the nearest `pyproject.toml` that has a table for kvcodemod.

    Args:
        start: the folder that is linted; its parents are searched upwards.
        explicit: a file to read in place of the search.

    Raises:
        SettingsError: unknown keys or values, all at once, or no valid TOML.
    """
    files = [explicit] if explicit is not None else _candidates(start)
    for file in files:
        if explicit is None and not file.is_file():
            continue
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(file, [str(error)]) from error
        tool = data.get("tool", {})
        table = tool.get("kvcodemod") if isinstance(tool, dict) else None
        if table is None and explicit is None:
            continue
        return _read(file, table if table is not None else {})
    return Settings()


def _candidates(start: Path) -> list[Path]:
    folder = start if start.is_dir() else start.parent
    return [f / "pyproject.toml" for f in (folder, *folder.parents)]


def _read(file: Path, table: object) -> Settings:
    if not isinstance(table, dict):
        raise SettingsError(file, ["it is not a table"])
    known = {f.name.replace("_", "-") for f in fields(Settings)} - {"origin"}
    problems = [
        f"unknown key `{key}`; there are {', '.join(sorted(known))}"
        for key in sorted(table)
        if key not in known
    ]
    values: dict[str, object] = {}
    for key in ("select", "ignore", "paths"):
        if key in table:
            value = table[key]
            if isinstance(value, list) and all(isinstance(v, str) for v in value):
                values[key] = tuple(value)
            else:
                problems.append(f"`{key}` has to be a list of strings")
    for name in values.get("paths", ()):  # type: ignore[attr-defined]
        if name not in PATHS:
            problems.append(f"`paths`: unknown {name!r}; there are {', '.join(PATHS)}")
    for key, allowed in (("output-format", FORMATS), ("fail-on", FAIL_ON)):
        if key in table:
            if table[key] in allowed:
                values[key.replace("-", "_")] = table[key]
            else:
                problems.append(f"`{key}` has to be one of {', '.join(allowed)}")
    if problems:
        raise SettingsError(file, problems)
    origin = {key.replace("-", "_"): str(file) for key in table}
    return Settings(**values, origin=origin)  # type: ignore[arg-type]
