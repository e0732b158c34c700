"""Import the target's modules, and say in plain words why that is not possible."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.metadata
import sys
import traceback
import types
from pathlib import Path
from typing import Any


class Problem(Exception):
    """Something that keeps the proof from being run, as an event for the parent."""

    def __init__(self, kind: str, message: str, **more: str) -> None:
        """Keep the event's fields."""
        super().__init__(message)
        self.event: dict[str, Any] = {"kind": kind, "message": message, **more}


def torch_versions() -> dict[str, Any]:
    """Import torch and triton; their versions, and whether a GPU can be used.

    Raises:
        Problem: one of them is missing or broken.
    """
    try:
        import torch
    except Exception as error:
        raise _explained(error, None) from error
    triton = _version("triton")
    if triton is None:
        raise Problem(
            "missing-dependency",
            "triton is not installed there",
            dependency="triton",
        )
    return {
        "cuda": torch.cuda.is_available(),
        "torch": torch.__version__,
        "triton": triton,
        "python": sys.version.split()[0],
    }


def wrapper_class(wrapper: dict[str, Any], package: Path) -> Any:
    """The class that a request names, imported from the package of the request.

    Raises:
        Problem: it cannot be imported, or another SGLang was imported in its place.
    """
    name, place = wrapper["module"], wrapper["place"]
    module = _import(name, package)
    where = Path(getattr(module, "__file__", None) or "").resolve()
    if package.resolve() not in where.parents:
        raise Problem(
            "wrong-package",
            f"{name} was imported from {where}, not from {package}: another "
            "SGLang is ahead of it on that Python's path",
        )
    found: Any = module
    for part in wrapper["qualname"].split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise Problem(
            "import-error",
            f"{place}: after import, {name} has no class {wrapper['qualname']}",
        )
    return found


def _import(name: str, package: Path) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "torch_npu":
            raise _explained(error, package) from error
    except (Exception, SystemExit) as error:
        raise _explained(error, package) from error
    # Only the writers of the NPU pools call torch_npu; a move must work without it.
    sys.modules["torch_npu"] = _stub("torch_npu")
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _explained(error, package) from error


def _stub(name: str) -> types.ModuleType:
    module = types.ModuleType(name, "A stand-in: building NPU pools needs no NPU.")
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    return module


def _explained(error: BaseException, package: Path | None) -> Problem:
    """The problem behind an import that failed, naming what a person can change."""
    parts = package.name if package else "sglang"
    if isinstance(error, ModuleNotFoundError) and error.name:
        top = error.name.split(".")[0]
        if top != parts:
            where = f" (imported at {_line(error, package)})" if package else ""
            return Problem(
                "missing-dependency",
                f"the module {error.name!r} is not installed there{where}",
                dependency=_distribution(top),
                **_required(_distribution(top)),
            )
    if isinstance(error, SyntaxError):
        return Problem("import-error", f"{error.filename}:{error.lineno}: {error.msg}")
    text = f"{type(error).__name__}: {error}"
    outside = _foreign(error, package)
    if outside is not None:
        return Problem(
            "unsuitable-dependency",
            f"importing the tree failed at {_line(error, package)} with {text}",
            dependency=outside,
            version=_version(outside) or "",
            **_required(outside),
        )
    return Problem("import-error", f"{_line(error, package)}: {text}")


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen")
    ]


def _line(error: BaseException, package: Path | None) -> str:
    """The innermost line of the target that led to the error."""
    inside = [
        frame
        for frame in _frames(error)
        if package and Path(frame.filename).is_relative_to(package)
    ]
    frame = (inside or _frames(error))[-1]
    return f"{frame.filename}:{frame.lineno}"


def _foreign(error: BaseException, package: Path | None) -> str | None:
    """The installed distribution at fault: it raised, or it lacks a name."""
    if isinstance(error, ImportError) and error.name:
        top = error.name.split(".")[0]
        if package is None or top != package.name:
            return _distribution(top)
    last = Path(_frames(error)[-1].filename)
    if package is None or last.is_relative_to(package):
        return None
    for root in sorted((Path(p).resolve() for p in sys.path if p), reverse=True):
        if last.resolve().is_relative_to(root):
            top = last.resolve().relative_to(root).parts[0].removesuffix(".py")
            return _distribution(top) if _is_distributed(top) else None
    return None


_RENAMED = {
    "PIL": "pillow",
    "zmq": "pyzmq",
    "IPython": "ipython",
    "sgl_kernel": "sglang-kernel",
    "tvm_ffi": "apache-tvm-ffi",
    "yaml": "pyyaml",
    "partial_json_parser": "partial-json-parser",
    "compressed_tensors": "compressed-tensors",
}
"""Import names whose distribution is called otherwise."""


def _distribution(top: str) -> str:
    known = importlib.metadata.packages_distributions().get(top)
    return known[0] if known else _RENAMED.get(top, top.replace("_", "-"))


def _is_distributed(top: str) -> bool:
    return top in importlib.metadata.packages_distributions()


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _required(distribution: str) -> dict[str, str]:
    """The requirement that this SGLang itself states, where its metadata is at hand."""
    try:
        lines = importlib.metadata.requires("sglang") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    for line in lines:
        text = line.split(";")[0].strip()
        name = text
        for mark in "=<>!~[ (":
            name = name.split(mark)[0]
        if name.replace("_", "-").lower() == distribution.replace("_", "-").lower():
            return {"required": text}
    return {}
