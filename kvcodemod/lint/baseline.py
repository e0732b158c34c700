"""The baseline: old findings that are accepted. It only shrinks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kvcodemod.findings import Finding, in_order
from kvcodemod.lint.suppressions import INVALID, UNUSED

ACCEPTED = "accepted by the baseline"
"""What `Finding.suppressed` says of a finding that the baseline holds."""
SCHEMA_VERSION = 1
_FIELDS = ("rule", "severity", "path", "symbol", "key")


class BaselineError(Exception):
    """The file cannot be read or is no baseline; the message says what to do."""


@dataclass(frozen=True, order=True)
class Entry:
    """What an accepted finding is known by: never a line.

    An accepted warning does not cover an error: a guard that is taken away is news.
    """

    rule: str
    severity: str
    path: str
    symbol: str
    key: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.rule} {self.symbol or self.key} ({self.path})"


@dataclass(frozen=True)
class Compared:
    """Findings held against a baseline.

    Attributes:
        new: not in it.
        accepted: in it; each says so in `suppressed`.
        stale: entries that no finding answers to any more, all of them.
    """

    new: tuple[Finding, ...]
    accepted: tuple[Finding, ...]
    stale: tuple[Entry, ...]


def entry_of(finding: Finding) -> Entry:
    """Rule, severity, file, qualified symbol and normalised code."""
    key = " ".join(finding.key.split())
    return Entry(finding.rule, finding.severity, finding.path, finding.symbol, key)


def compare(
    findings: Iterable[Finding], entries: Iterable[Entry], active: Iterable[str]
) -> Compared:
    """Which findings are new, and which entries of the rules that ran are stale.

    As many findings are accepted as there are entries: a second one just like an
    accepted one is new.
    """
    left = Counter(entries)
    new, accepted = [], []
    for finding in in_order(findings):
        exact = entry_of(finding)
        covering = (exact, replace(exact, severity="error"))
        entry = next((e for e in covering if left[e] > 0), None)
        if entry is not None:
            left[entry] -= 1
            accepted.append(replace(finding, suppressed=ACCEPTED))
        else:
            new.append(finding)
    ran = set(active)
    stale = sorted(e for e in left.elements() if e.rule in ran)
    return Compared(tuple(new), tuple(accepted), tuple(stale))


def acceptable(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that a baseline may hold: not the ones about suppressions."""
    return tuple(f for f in findings if f.rule not in (INVALID, UNUSED))


def pruned(entries: Iterable[Entry], stale: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries without the stale ones."""
    return tuple(sorted((Counter(entries) - Counter(stale)).elements()))


def render(entries: Sequence[Entry]) -> str:
    """The file's text: sorted, one field a line, so that a diff reads well."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "findings": [{f: getattr(e, f) for f in _FIELDS} for e in sorted(entries)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read(file: Path) -> tuple[Entry, ...]:
    """The entries of a baseline file.

    Raises:
        BaselineError: it is missing, unreadable or not a baseline; every wrong entry
            is named.
    """
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BaselineError(
            f"{file}: no such baseline; make one with --write-baseline {file}"
        ) from None
    except OSError as error:
        raise BaselineError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        line = getattr(error, "lineno", None)
        where = f"{file}:{line}" if line else f"{file}"
        raise BaselineError(f"{where}: not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise BaselineError(f"{file}: not a baseline of kvcodemod lint")
    if document.get("schema_version") != SCHEMA_VERSION:
        version = document.get("schema_version")
        raise BaselineError(
            f"{file}: schema_version is {version!r}; this kvcodemod reads "
            f"{SCHEMA_VERSION}"
        )
    wrong = []
    entries = []
    for number, item in enumerate(document["findings"], 1):
        if (
            isinstance(item, dict)
            and set(item) == set(_FIELDS)
            and all(isinstance(item[f], str) for f in _FIELDS)
        ):
            entries.append(Entry(*(item[f] for f in _FIELDS)))
        else:
            wrong.append(
                f"{file}: entry {number} must have exactly the texts "
                f"{', '.join(_FIELDS)}"
            )
    if wrong:
        raise BaselineError("\n".join(wrong))
    return tuple(entries)


def write(file: Path, entries: Sequence[Entry]) -> None:
    """Put the file down whole or not at all.

    Raises:
        BaselineError: it cannot be written; the old file is as it was.
    """
    draft = file.with_name(f".{file.name}.new")
    try:
        draft.write_text(render(entries), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise BaselineError(f"{file}: {error.strerror}") from error
