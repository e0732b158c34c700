"""A rule's page: what it finds, why that is bad, how to mend it, what it cannot see."""

from __future__ import annotations

from kvcodemod.lint.rule import Example, Rule


def page(rule: Rule) -> str:
    """The page as markdown that reads well on a terminal too."""
    parts = [
        f"# {rule.code}: {rule.name} ({rule.severity})",
        rule.summary,
        "## What it does",
        rule.what,
        "## Why this is bad",
        rule.why,
        "## How to mend it",
        rule.mend,
        "## What it cannot see",
        rule.limits,
    ]
    for title, examples in (("Fails", rule.fails), ("Passes", rule.passes)):
        for example in examples:
            parts.append(f"## {title}: {example.title}")
            parts.extend(_files(example))
    return "\n\n".join(parts) + "\n"


def _files(example: Example) -> list[str]:
    return [
        f"```python\n# sglang/{name}\n{text.rstrip()}\n```"
        for name, text in example.files.items()
    ]


def table(rules: tuple[Rule, ...]) -> str:
    """One line a rule."""
    width = max((len(rule.name) for rule in rules), default=0)
    lines = [
        f"{rule.code}  {rule.severity:<7}  {rule.name:<{width}}  {rule.summary}"
        for rule in rules
    ]
    return "\n".join(lines) + "\n"
