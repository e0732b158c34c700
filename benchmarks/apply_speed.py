"""How long `kvcodemod apply --check` takes, beside parsing one file with libcst.

Prints the ratio of the whole command on a real release (planning over the whole tree,
editing, checking) to a bare Python process that parses and renders `memory_pool.py`:

    python benchmarks/apply_speed.py [VERSION] [ROUNDS]

Both run in turns, so that what else the machine does falls on both; medians are
compared. The aim is a ratio of at most 3.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from releases import pristine

BARE = """\
import sys
from pathlib import Path
import libcst
text = Path(sys.argv[1]).read_text()
assert libcst.parse_module(text).code == text
"""
AIM = 3.0


def seconds(command: list[str], code: int) -> tuple[float, float]:
    """Wall time and processor time of one run of a command."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode != code:
        raise SystemExit(f"{command}: ended with {done.returncode}, not {code}")
    used = after.children_user + after.children_system
    return wall, used - before.children_user - before.children_system


def main(version: str = "0.5.23", rounds: str = "9") -> int:
    package = pristine(version) / "sglang"
    file = package / "srt" / "mem_cache" / "memory_pool.py"
    commands = {
        "parse and render memory_pool.py": ([sys.executable, "-c", BARE, str(file)], 0),
        "kvcodemod apply --check": (
            [sys.executable, "-m", "kvcodemod", "apply", "--check", str(package)],
            1,
        ),
    }
    walls: dict[str, list[float]] = {name: [] for name in commands}
    cpus: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(int(rounds) + 1):
        for name, (command, code) in commands.items():
            wall, cpu = seconds(command, code)
            if turn:  # the first fills the caches
                walls[name].append(wall)
                cpus[name].append(cpu)
    print(f"SGLang {version}, medians of {rounds} runs in turns")
    for name in commands:
        wall, cpu = statistics.median(walls[name]), statistics.median(cpus[name])
        print(f"  {name:34} {wall:6.2f} s   (processor {cpu:.2f} s)")
    bare, whole = (statistics.median(walls[name]) for name in commands)
    bare_cpu, whole_cpu = (statistics.median(cpus[name]) for name in commands)
    ratio = whole / bare
    print(f"  ratio {ratio:.2f} (processor {whole_cpu / bare_cpu:.2f}; aim {AIM:.0f})")
    return 0 if ratio <= AIM else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
