"""Sphinx's configuration: `sphinx-build -W docs build/docs`; the pages are MyST."""

from kvcodemod import __version__

project = "kvcodemod"
author = "the kvcodemod authors"
copyright = "the kvcodemod authors"
release = version = __version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "kvcodemod"
