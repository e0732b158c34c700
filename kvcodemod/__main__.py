"""`python -m kvcodemod`: the same as the `kvcodemod` command."""

from kvcodemod.cli import run

if __name__ == "__main__":
    run()
