"""The worker's run: import the target, then one case after another, told as events."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Send = Callable[[dict[str, Any]], None]

EXIT_DONE, EXIT_PROBLEM = 0, 1


def run(request: dict[str, Any], send: Send) -> int:
    """Answer one request; every outcome, good or bad, is an event."""
    from . import worker_imports as imports

    try:
        device = _prepare(request)
        send({"event": "stage", "text": "importing torch"})
        versions = imports.torch_versions()
        device = device or ("cuda" if versions.pop("cuda") else "cpu")
        versions.pop("cuda", None)
        if device == "cpu":
            os.environ["TRITON_INTERPRET"] = "1"
        send({"event": "start", "device": device, **versions})
        classes = []
        for wrapper in request["wrappers"]:
            send({"event": "stage", "text": f"importing {wrapper['module']}"})
            cls = imports.wrapper_class(wrapper, Path(request["package"]))
            classes.append((wrapper, cls))
    except imports.Problem as problem:
        send({"event": "problem", **problem.event})
        return EXIT_PROBLEM

    import torch

    from .worker_cases import Case, plan

    torch.set_num_threads(1)
    cases: list[Case] = []
    for wrapper, cls in classes:
        cases += plan(wrapper, cls, device, request)
    send({"event": "plan", "cases": len(cases)})
    for case in cases:
        start = time.perf_counter()
        send({"event": "case-start", "name": case.name, "wrapper": case.wrapper})
        result = case.run()
        send({"event": "case", **result, "seconds": time.perf_counter() - start})
    send({"event": "done"})
    return EXIT_DONE


def _prepare(request: dict[str, Any]) -> str | None:
    """Set what must be set before torch is imported; the device, when it is given."""
    package = Path(request["package"])
    sys.path[:0] = [str(package.parent), *request["extra_path"]]
    device: str = request["device"]
    if device == "cpu":
        # SGLang asks torch which platform this is: without this it finds the GPU.
        for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
            os.environ[name] = ""
    gpu = any(Path(p).exists() for p in ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg"))
    if device == "cpu" or not gpu:
        os.environ["TRITON_INTERPRET"] = "1"
    return None if device == "auto" else device
