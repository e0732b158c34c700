"""The result of a run, kept as JSON under the contents of the files it depends on.

Every file of the tree is hashed. A run whose files are all the same is answered from
the cache; so is one in which only files differ that can have no say: they stand in no
folder of interest and contain, before and after, no part of a pool's name. What is read
is checked and never executed; anything unexpected counts as no cache.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import kvcodemod
from kvcodemod.config import Names
from kvcodemod.facts.prefilter.scan import Scan
from kvcodemod.facts.prefilter.unparsable import unparsable
from kvcodemod.findings import Assumption, Configuration, Excluded, Finding, Step
from kvcodemod.lint.rule import Rule
from kvcodemod.lint.run import Result
from kvcodemod.tree.source import digest

FORMAT = 2


class Cache:
    """The cached result of one tree and one selection of rules."""

    def __init__(
        self, folder: Path, scan: Scan, rules: Iterable[Rule], names: Names
    ) -> None:
        """Nothing is read yet; the scan has to hash."""
        self.tree = tree = scan.tree
        self.scan = scan
        self.names = names
        said = [str(tree.package.root), repr(names), *(_said(rule) for rule in rules)]
        self.key = digest("\0".join([_tool(), *said]).encode())
        place = digest(str(tree.package.root).encode())[:16]
        self.file = folder / f"lint-{place}-{self.key[:16]}.json"

    def read(self) -> Result | None:
        """The result of an earlier run that still holds, or None."""
        try:
            data = json.loads(self.file.read_bytes())
            if data["format"] != FORMAT or data["key"] != self.key:
                return None
            before: dict[str, str] = data["files"]
            near: list[str] = data["near"]
            parts = [str(part).encode() for part in data["parts"]]
            now = self.scan.digests
            changed = {p for p in {*now, *before} if now.get(p) != before.get(p)}
            if self._matter(changed, frozenset(near), parts):
                return None
            result = _result(data["result"])
            if not changed:
                return result
            if data["small"] is not self.scan.small:
                return None
            said = {p: m for p, m in result.unparsable.items() if p not in changed}
            said |= unparsable(self.tree, changed & now.keys(), self.scan.small)
            return replace(result, unparsable=said)
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
        ):
            return None

    def write(self, result: Result) -> None:
        """Keep a result; a cache that cannot be written is no error."""
        digests = self.scan.digests
        if result.broken or not self.tree.same(digests):
            return
        near = {*result.near, *filter(self._stands_near, self.tree.paths)}
        data = {
            "format": FORMAT,
            "key": self.key,
            "files": digests,
            "near": sorted(near),
            "parts": list(result.parts),
            "small": self.scan.small,
            "result": _as_data(result),
        }
        with contextlib.suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.file.parent, prefix="lint-")
            with os.fdopen(handle, "w") as stream:
                json.dump(data, stream)
            Path(name).replace(self.file)

    def _matter(
        self, changed: set[str], near: frozenset[str], parts: list[bytes]
    ) -> bool:
        now = self.scan.digests
        return any(
            path in near or (path in now and self._is_near(path, parts))
            for path in changed
        )

    def _is_near(self, path: str, parts: list[bytes]) -> bool:
        """Whether a file can have a say in the result."""
        data = self.tree.data(path)
        return self._stands_near(path) or any(part in data for part in parts)

    def _stands_near(self, path: str) -> bool:
        """The same, told from where it stands."""
        below = path.partition("/")[2]
        names = self.names
        return below.startswith(
            (
                *names.entry_folders,
                *names.glue_files,
                *names.helper_folders,
                *names.startup_files,
                *(f"{file.rpartition('/')[0]}/" for file in names.carrier_files),
            )
        )


def _said(rule: Rule) -> str:
    """A rule, and the state of the file that it stands in."""
    module = sys.modules.get(rule.check.__module__)
    file = getattr(module, "__file__", None)
    return f"{rule.code} {_state(Path(file)) if file else rule.check.__module__}"


def _tool() -> str:
    """The version of the tool, and the state of its own files: another one, another."""
    home = Path(kvcodemod.__file__).parent
    states = [_state(path) for path in sorted(home.rglob("*.py"))]
    return f"{kvcodemod.__version__} {digest(' '.join(states).encode())}"


def _state(path: Path) -> str:
    stat = path.stat()
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"


def _as_data(result: Result) -> dict[str, object]:
    return {
        "findings": [asdict(finding) for finding in result.findings],
        "pools": result.pools,
        "entries": result.entries,
        "entry_files": result.entry_files,
        "unparsable": result.unparsable,
        "excluded": [asdict(item) for item in result.excluded],
    }


def _result(data: dict[str, object]) -> Result:
    """Build a result from data of unknown make.

    Raises:
        TypeError, ValueError, KeyError: it is not what was written.
    """
    findings, messages = data["findings"], data["unparsable"]
    if not isinstance(findings, list) or not isinstance(messages, dict):
        raise TypeError
    return Result(
        findings=tuple(_finding(item) for item in findings),
        broken=(),
        failed=(),
        pools=int(str(data["pools"])),
        entries=int(str(data["entries"])),
        entry_files=int(str(data["entry_files"])),
        parts=(),
        near=(),
        unparsable={str(p): str(m) for p, m in messages.items()},
        excluded=tuple(_excluded(item) for item in _list(data["excluded"])),
    )


def _excluded(item: dict[str, object]) -> Excluded:
    rule, symbol, affected = (str(item[n]) for n in ("rule", "symbol", "affected"))
    return Excluded(rule, symbol, affected, _assumptions(item["facts"]))


def _assumptions(value: object) -> tuple[Assumption, ...]:
    return tuple(
        Assumption(str(a["text"]), str(a["path"]), int(str(a["line"])))
        for a in _list(value)
    )


def _configuration(item: object) -> Configuration | None:
    if item is None:
        return None
    if not isinstance(item, dict):
        raise TypeError
    capability, model = item["capability"], item["architecture"]
    pairs = {
        name: tuple((str(k), str(v)) for k, v in item[name])
        for name in ("options", "environment")
    }
    return Configuration(
        platform=str(item["platform"]),
        capability=None if capability is None else str(capability),
        architecture=None if model is None else str(model),
        options=pairs["options"],
        environment=pairs["environment"],
        assumes=_assumptions(item["assumes"]),
    )


def _finding(item: dict[str, object]) -> Finding:
    values: dict[str, object] = {}
    for name in ("rule", "name", "severity", "confidence", "message", "path", "symbol"):
        values[name] = str(item[name])
    for name in ("reason", "key"):
        values[name] = str(item[name])
    for name in ("line", "column"):
        values[name] = int(str(item[name]))
    values["fix"] = None if item["fix"] is None else str(item["fix"])
    values["affected"] = tuple(str(name) for name in _list(item["affected"]))
    for name in ("trace", "guards"):
        values[name] = tuple(
            Step(str(s["path"]), int(s["line"]), str(s["symbol"]), str(s["note"]))
            for s in _list(item[name])
        )
    values["configuration"] = _configuration(item["configuration"])
    return Finding(**values)  # type: ignore[arg-type]


def _list(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise TypeError
    return value
