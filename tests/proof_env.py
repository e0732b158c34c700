"""What the proof of a real release needs: packages ahead on the path, and subjects."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from releases import cache_dir, copy_of, wheel_of

from kvcodemod.verify.subject import CallSite, Wrapper

OLDER = (
    "transformers==5.12.1",
    "huggingface-hub<2",
    "tokenizers==0.22.2",
    "kernels==0.14.1",
)
"""0.5.15 to 0.5.19 do not import with a current transformers, nor with its kernels."""

GRAMMAR = ("xgrammar==0.2.1",)
"""0.5.16 to 0.5.20 import it, on the way to the pools or in a pool's writer."""


def extra_path(version: str) -> list[Path]:
    """Folders for the proof's `extra_path`; made on first use, cached outside the tree.

    Raises:
        RuntimeError: the package index has them not, or cannot be reached.
    """
    number = int(version.split(".")[2])
    found = (
        [_installed("transformers-5.12.1-kernels-0.14.1", OLDER)] if number < 20 else []
    )
    if 16 <= number <= 20:
        found.append(_installed("xgrammar-0.2.1", GRAMMAR))
    return found


def importable_copy(version: str, into: Path) -> Path:
    """A private copy of a release that can be imported; returns its `sglang/` folder.

    On import some releases look for the folders of their kernels' C++ sources, which
    `copy_of` leaves out.
    """
    package = copy_of(version, into)
    with zipfile.ZipFile(wheel_of(f"sglang=={version}")) as archive:
        names = [n for n in archive.namelist() if "/csrc/" in n or "/include/" in n]
        archive.extractall(into, [n for n in names if n.startswith("sglang/")])
        meta = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        archive.extractall(into, meta)
    return package


def _installed(name: str, requirements: tuple[str, ...]) -> Path:
    home = cache_dir() / f"{name}-py{sys.version_info[0]}{sys.version_info[1]}"
    if home.exists():
        return home
    partial = home.with_name(f"{home.name}.partial.{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--target", str(partial), *requirements]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(partial, ignore_errors=True)
        text = f"cannot install {' '.join(requirements)}: {done.stderr[-800:]}"
        raise RuntimeError(text)
    try:
        partial.rename(home)
    except OSError:  # another worker was first
        shutil.rmtree(partial, ignore_errors=True)
    return home


PLAIN, NPU, NVFP4 = (
    "MiniMaxSparseKVPool",
    "NPUMiniMaxSparseKVPool",
    "MiniMaxM3Nvfp4KVPool",
)

_FILES = {
    PLAIN: "srt/mem_cache/memory_pool.py",
    NPU: "srt/hardware_backend/npu/memory_pool_npu.py",
    NVFP4: "srt/mem_cache/minimax_m3_nvfp4_pool.py",
}

_CALLERS = (
    "srt/mem_cache/kv_cache_configurator.py",
    "srt/model_executor/model_runner_kv_cache_mixin.py",
)


def subjects(package: Path) -> list[Wrapper]:
    """The wrappers of a real release and their call sites, for the proof's own tests.

    Written by hand for the family's files, so that these tests judge the proof and not
    the static analysis that gives it its subjects elsewhere.
    """
    calls = _calls(package)
    found = []
    for name, path in _FILES.items():
        file = package / path
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        at = [i for i, line in enumerate(lines, 1) if line.startswith(f"class {name}(")]
        if at:
            module = "sglang." + path.removesuffix(".py").replace("/", ".")
            where = f"sglang/{path}"
            own = [call for built, call in calls if name in built]
            found.append(Wrapper(module, name, where, at[0], tuple(own)))
    return found


def _calls(package: Path) -> list[tuple[tuple[str, ...], CallSite]]:
    """Calls that pass `idx_head_dim`, which nothing but this family takes."""
    found = []
    for path in _CALLERS:
        file = package / path
        if not file.exists():
            continue
        for node in ast.walk(ast.parse(file.read_bytes())):
            if not isinstance(node, ast.Call):
                continue
            names = tuple(k.arg for k in node.keywords if k.arg)
            if "idx_head_dim" not in names:
                continue
            called = ast.unparse(node.func)
            built = (PLAIN, NVFP4) if called == "pool_cls" else (called,)
            more = len(names) < len(node.keywords)
            where = f"sglang/{path}"
            call = CallSite(where, node.lineno, names, len(node.args), more)
            found.append((built, call))
    return found
