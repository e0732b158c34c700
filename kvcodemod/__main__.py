"""`python -m kvcodemod`: the same as the `kvcodemod` command."""

from kvcodemod.cli import main

if __name__ == "__main__":
    main()
