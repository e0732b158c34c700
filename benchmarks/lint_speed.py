"""How long `kvcodemod lint` takes beside ruff's trivial pass over the same tree.

Both run in turns on the same two cores, so that a busy machine slows both. Prints the
median and the best of each, and the ratios: cold (no cache) and warm (nothing changed).

    python benchmarks/lint_speed.py [VERSION or PATH] [--runs N] [--double]

`--double` also measures a tree with as many unrelated files again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kvcodemod.tree.ahead import core_count
from kvcodemod.tree.locate import find_package

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

RUFF = "check --isolated --no-cache --quiet --exit-zero --select E9,F821"
LINT = "-m kvcodemod lint --output-format concise --fail-on never"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", nargs="?", default="0.5.23")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    two_cores()
    tree = Path(args.tree)
    if not tree.exists():
        from releases import pristine

        tree = pristine(args.tree)
    tree = find_package(tree).parent
    measure(tree, args.runs)
    if args.double:
        with tempfile.TemporaryDirectory() as folder:
            measure(doubled(tree, Path(folder)), args.runs)


def two_cores() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def doubled(tree: Path, folder: Path) -> Path:
    """The tree and copies of its models, layers and configs, as many files again."""
    target = folder / "sglang"
    shutil.copytree(tree / "sglang", target, symlinks=True)
    files = sum(1 for _ in target.rglob("*.py"))
    sources = [target / "srt" / name for name in ("models", "layers", "configs")]
    count = copy = 0
    while count < files:
        for source in sources:
            into = target / "unrelated" / f"{source.name}_{copy}"
            shutil.copytree(source, into)
            count += sum(1 for _ in into.rglob("*.py"))
        copy += 1
    return folder


def measure(tree: Path, runs: int) -> None:
    files = sum(1 for _ in (tree / "sglang").rglob("*.py"))
    ruff = [sys.executable, "-m", "ruff", *RUFF.split(), str(tree / "sglang")]
    binary = Path(sys.executable).with_name("ruff")
    if binary.exists():
        ruff = [str(binary), *RUFF.split(), str(tree / "sglang")]
    lint = [sys.executable, *LINT.split(), str(tree)]
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "XDG_CACHE_HOME": home}
        cases = {
            "ruff": ruff,
            "lint, cold": [*lint, "--no-cache"],
            "lint, warm": lint,
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for command in cases.values():  # file system and bytecode caches
            timed(command, env)
        for _ in range(runs):
            for name, command in cases.items():
                times[name].append(timed(command, env))
    print(f"{tree} ({files} files), {runs} runs on {core_count()} cores")
    base = times["ruff"]
    for name, values in times.items():
        ratio = statistics.median(v / r for v, r in zip(values, base, strict=True))
        print(
            f"  {name:11} median {statistics.median(values):6.3f} s   "
            f"best {min(values):6.3f} s   {ratio:5.2f} x ruff"
        )


def timed(command: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
