"""What the running classes say, for the matrix test: run inside a real release.

Reads a JSON object of class -> method names from stdin, imports each class and writes
what an instance would get: the C3 order, where the method is defined, and how it ends.
The ending is read from compiled code, or found by calling: never from source text.
"""

from __future__ import annotations

import contextlib
import dis
import importlib
import importlib.machinery
import inspect
import io
import json
import pathlib
import sys
import types
from unittest import mock


def main() -> None:
    wanted: dict[str, list[str]] = json.load(sys.stdin)
    out = sys.stdout
    found: dict[str, object] = {}
    # the unpacked releases hold Python files only; 0.5.23 looks for these folders
    exists = pathlib.Path.exists
    pathlib.Path.exists = lambda path: path.name in ("include", "csrc") or exists(path)
    with contextlib.redirect_stdout(io.StringIO()):
        for qualname, methods in wanted.items():
            module, _, name = qualname.rpartition(".")
            try:
                cls = getattr(load(module), name)
            except Exception as error:
                found[qualname] = {"error": f"{type(error).__name__}: {error}"}
                continue
            found[qualname] = {
                "mro": [f"{c.__module__}.{c.__qualname__}" for c in cls.__mro__[:-1]],
                "methods": {method: cell(cls, method) for method in methods},
            }
        root = importlib.import_module("sglang.srt.mem_cache.memory_pool").KVCache
        every = sorted(f"{c.__module__}.{c.__qualname__}" for c in below(root))
    json.dump({"classes": found, "below": every}, out)


def load(name: str) -> types.ModuleType:
    """Import a module; other hardware's packages get stand-ins, as far as it takes."""
    for _ in range(40):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = str(error.name)
            if missing.startswith("sglang"):
                raise
            stand_in = mock.MagicMock(name=missing, __path__=[])
            stand_in.__spec__ = importlib.machinery.ModuleSpec(missing, None)
            sys.modules[missing] = stand_in
    raise ImportError(name)


def below(cls: type) -> set[type]:
    found = {cls}
    for child in cls.__subclasses__():
        found |= below(child)
    return found


def cell(cls: type, method: str) -> dict[str, object]:
    for owner in cls.__mro__[:-1]:
        if method not in vars(owner):
            continue
        value = vars(owner)[method]
        kind = type(value).__name__
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if not callable(value):
            return {"verdict": "attribute", "kind": kind}
        value = inspect.unwrap(value)
        code = value.__code__
        return {
            "verdict": verdict(value, code),
            "kind": kind,
            "defined_in": f"{owner.__module__}.{owner.__qualname__}",
            "file": code.co_filename,
            "lines": [code.co_firstlineno, max(n for *_, n in code.co_lines() if n)],
        }
    return {"verdict": "missing"}


def verdict(function: types.FunctionType, code: types.CodeType) -> str:
    steps = [s for s in dis.get_instructions(code) if s.opname != "RESUME"]
    if not any(s.argval == "NotImplementedError" for s in steps):
        plain = {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "NOP"}
        nothing = all(s.opname in plain for s in steps)
        constant = [s.argval for s in steps if s.opname != "RETURN_VALUE"]
        return "noop" if nothing and set(constant) <= {None} else "ok"
    arguments = inspect.signature(function).parameters.values()
    given = [
        None
        for p in arguments
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    named = {p.name: None for p in arguments if p.kind is p.KEYWORD_ONLY}
    try:
        function(*given, **named)  # `self` is None: a body that looks at it fails
    except NotImplementedError:
        return "raises"
    except Exception:
        return "raises-conditionally"
    return "raises-conditionally"


main()
