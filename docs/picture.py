"""Writes docs/terminal.svg: the command at work on a small tree, in a real terminal.

`python docs/picture.py` writes it, `--check` exits 1 if it would come out differently.
The tree is a fixture of `apply` with a speculative worker beside it, all of it ours.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import tempfile
from html import unescape
from pathlib import Path

from rich.console import Console
from rich.text import Text

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from terminals import on_a_terminal

DOCS = Path(__file__).parent
PICTURE = DOCS / "terminal.svg"
TREE = DOCS.parent / "fixtures" / "apply" / "params" / "sglang"
WIDTH = 104
COMMANDS = (
    "kvcodemod lint .",
    "kvcodemod apply . 2>&1 | tail -n 2",
    "kvcodemod lint .",
)
WORKER = """\
class DraftWorker:
    def verify(self, batch, accepted):
        keep_accepted(batch.token_to_kv_pool_allocator, accepted)


def keep_accepted(token_to_kv_pool_allocator, accepted):
    token_to_kv_pool_allocator.get_kvcache().move_kv_cache(accepted.to, accepted.at)
"""


def main() -> None:
    """Draw the picture, or say that the one there is old."""
    new = drawn()
    if "--check" in sys.argv[1:]:  # another rich may draw the same words otherwise
        sys.exit(words(PICTURE.read_text(encoding="utf-8")) != words(new))
    PICTURE.write_text(new, encoding="utf-8")


def drawn() -> str:
    """The picture of a run that happens now."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(TREE, Path(folder, "sglang"))
        worker = Path(folder, "sglang/srt/speculative/draft_worker.py")
        worker.parent.mkdir()
        worker.write_text(WORKER)
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            console.print(Text.from_ansi(_run(command, Path(folder))))
    return console.export_svg(title="kvcodemod", unique_id="kvcodemod")


def words(picture: str) -> str:
    """What is written in a picture."""
    return unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)<", picture)))


def _run(command: str, cwd: Path) -> str:
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    env |= {
        "TERM": "xterm-256color",
        "COLUMNS": str(WIDTH),
        "XDG_CACHE_HOME": str(cwd / "cache"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}",
    }
    return on_a_terminal(["bash", "-c", command], env, cwd).replace("\r\n", "\n")


if __name__ == "__main__":
    main()
