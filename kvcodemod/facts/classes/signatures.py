"""Whether a method accepts the arguments that a call passes."""

from __future__ import annotations

import ast

from kvcodemod.facts.classes.table import Method
from kvcodemod.facts.conditions.options import Option, Options


def mismatch(method: Method, call: ast.Call) -> str:
    """What does not fit, in words, or an empty string.

    Starred arguments can hold anything: as far as they go, nothing is claimed.
    The first parameter of the method is the receiver.
    """
    if any(isinstance(value, ast.Starred) for value in call.args):
        return ""
    params = list(method.params)[1:]
    plain = [p for p in params if p.kind == "positional"]
    takes_more = any(p.kind == "args" for p in params)
    takes_any = any(p.kind == "kwargs" for p in params)
    count = len(call.args)
    if count > len(plain) and not takes_more:
        return f"it takes {_number(len(plain))}, the call passes {count}"
    filled = {p.name for p in plain[:count]}
    named = [k.arg for k in call.keywords if k.arg]
    accepted = {p.name for p in params if p.kind in ("positional", "keyword")}
    for name in named:
        if name in filled:
            return f"`{name}` would be passed twice"
        if name not in accepted and not takes_any:
            return f"it has no parameter `{name}`"
    if any(k.arg is None for k in call.keywords):
        return ""
    for param in params:
        needed = param.kind in ("positional", "keyword") and param.default is None
        if needed and param.name not in filled and param.name not in named:
            return f"`{param.name}` is not passed"
    return ""


def given_options(method: Method, call: ast.Call) -> Options:
    """What is known about a method's parameters from what a call passes or leaves."""
    if any(isinstance(v, ast.Starred) for v in call.args) or any(
        k.arg is None for k in call.keywords
    ):
        return ()
    params = list(method.params)[1:]
    plain = [p.name for p in params if p.kind == "positional"]
    passed = dict(zip(plain, call.args, strict=False))
    passed.update({k.arg: k.value for k in call.keywords if k.arg})
    found: list[Option] = []
    for param in params:
        value = passed.get(param.name)
        if value is None and param.default is not None:
            value = ast.parse(param.default, mode="eval").body
        if isinstance(value, ast.Constant) and (
            value.value is None or type(value.value) in (bool, int, str)
        ):
            found.append(Option(param.name, "==", repr(value.value)))
    return tuple(found)


def _number(count: int) -> str:
    return f"{count} argument" if count == 1 else f"{count} arguments"
