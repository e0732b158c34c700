"""Writes what is generated in docs/: rule pages, tables of keys, patches of the shapes.

`python docs/generate.py` writes, `--check` writes nothing and exits 1 if it would.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

from kvcodemod.config import Names
from kvcodemod.lint.registry import load_rules
from kvcodemod.lint.rule import Rule
from kvcodemod.report.rule_page import page
from kvcodemod.settings import SCHEMA

DOCS = Path(__file__).parent
FIXTURES = DOCS.parent / "fixtures" / "apply"
_BLOCK = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.S)


def main() -> None:
    """Bring every generated file up to date, or say which are not."""
    check = "--check" in sys.argv[1:]
    changed = []
    for path, text in pages():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed.append(path)
            if not check:
                path.write_text(text, encoding="utf-8")
    for path in changed:
        print(f"{'out of date' if check else 'wrote'}: {path.relative_to(DOCS)}")
    sys.exit(bool(check and changed))


def pages() -> Iterator[tuple[Path, str]]:
    """Each file that is generated or has generated parts, with its text."""
    rules = built_in()
    for rule in rules:
        yield DOCS / "rules" / f"{rule.code}.md", page(rule)
    yield DOCS / "rules" / "index.md", _index(rules)
    for name in ("configuration.md", "rewrite.md"):
        text = (DOCS / name).read_text(encoding="utf-8")
        yield DOCS / name, _BLOCK.sub(lambda m: f"{m[1]}\n{_part(m[2])}\n{m[3]}", text)


def built_in() -> list[Rule]:
    """The rules of kvcodemod itself, not those of plugins."""
    every = load_rules().rules.values()
    return [r for r in every if r.check.__module__.startswith("kvcodemod.rules.")]


def _index(rules: list[Rule]) -> str:
    rows = [
        f"| [{r.code}]({r.code}.md) | {r.name} | {r.severity} | {r.summary} |"
        for r in rules
    ]
    tree = "\n".join(rule.code for rule in rules)
    return (
        "# Rules\n\nEach page comes from the rule itself; `kvcodemod explain CODE` "
        "prints it.\n\n| | name | severity | |\n|---|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )


def _part(what: str) -> str:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    if what == "keys":
        return _keys(schema["properties"])
    if what == "names":
        return _names(schema["properties"]["names"]["properties"])
    shape, _, path = what.partition(" ")
    return _patch(shape, path)


def _keys(properties: dict[str, dict[str, object]]) -> str:
    rows = [
        f"| `{key}` | {item['description']} | {_default(item.get('default'))} |"
        for key, item in properties.items()
    ]
    return "| key | | default |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _names(properties: dict[str, dict[str, object]]) -> str:
    said = _descriptions()
    rows = [
        f"| `{key}` | {said[key]} | {_default(item['default'])} |"
        for key, item in properties.items()
    ]
    return "| name | | default |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _descriptions() -> dict[str, str]:
    """What the docstring of `Names` says of each; one text may be for several."""
    attributes = cleandoc(Names.__doc__ or "").partition("Attributes:")[2]
    found: dict[str, str] = {}
    waiting: list[str] = []
    entry = re.compile(r"^ {4}([a-z_, ]+):((?:.|\n {8})*)", re.M)
    for match in entry.finditer(attributes):
        text = " ".join(match[2].split())
        waiting += [name.strip().replace("_", "-") for name in match[1].split(",")]
        if text.endswith("and"):  # it goes on with the next name
            text = text.removesuffix("and").rstrip(" ,")
        for name in waiting:
            found[name] = text
        waiting = []
    return found


def _default(value: object) -> str:
    return f"`{json.dumps(value)}`" if value is not None else ""


def _patch(shape: str, path: str) -> str:
    """The hunks of one file, as the tests of `apply` pin them."""
    text = (FIXTURES / shape / "always.patch").read_text(encoding="utf-8")
    for part in re.split(r"^diff --git .*\n", text, flags=re.M):
        if part.startswith(f"--- a/{path}\n"):
            return f"```diff\n{part.rstrip()}\n```\n"
    raise SystemExit(f"{shape}: {path} is not in its patch")


if __name__ == "__main__":
    main()
