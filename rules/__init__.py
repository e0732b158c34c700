"""The built-in rules, one a file; found through the entry points `kvcodemod.rules`."""
