# Two commands set everything up on a fresh machine: `make demo` and `make test`.
# Both need Python 3.10 or newer, git and the package index.

PYTHON ?= python3
SGLANG ?= 0.5.23
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := .demo/sglang-$(SGLANG)
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test check clean

# Install, fetch a real SGLang release, show the diff, rewrite it, prove it.
demo: $(VENV)/.verify
	@echo "== fetching SGLang $(SGLANG) from the package index (about 40 MB)"
	@rm -rf .demo && mkdir -p .demo
	@$(PIP) download --quiet --no-deps --only-binary=:all: --dest .demo "sglang==$(SGLANG)" 2>.demo/pip.log || (cat .demo/pip.log; false)
	@$(BIN)/python -m zipfile -e .demo/sglang-$(SGLANG)-*.whl $(DEMO)
	@echo "== kvcodemod apply --diff: what would change"
	@$(BIN)/kvcodemod apply $(DEMO) --diff
	@echo "== kvcodemod apply: the rewrite"
	@$(BIN)/kvcodemod apply $(DEMO)
	@echo "== kvcodemod verify: every wrapper is built and moved on this CPU; about a minute"
	@$(BIN)/kvcodemod verify $(DEMO)

# Install what the tests need and run all of them.
test: $(VENV)/.test
	@echo "== running the tests: real SGLang releases are fetched on first use, about 20 minutes"
	@$(BIN)/python -m pytest -n 2 --dist worksteal $(PYTEST_ARGS)

# Lint, format, types and the direction of imports, as the pre-commit hooks have them.
check: $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "kvcodemod needs Python 3.10 or newer; name one: make PYTHON=python3.12")'
	@echo "== making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.verify: $(VENV)/bin/python pyproject.toml
	@echo "== installing kvcodemod and what SGLang's pool modules import (torch is large: a few minutes)"
	@$(PIP) install --quiet --editable '.[verify]' 2>$(VENV)/pip.log || (cat $(VENV)/pip.log; false)
	@touch $@

$(VENV)/.test: $(VENV)/.verify
	@echo "== installing what the tests need"
	@$(PIP) install --quiet --editable '.[verify,test]' 2>$(VENV)/pip.log || (cat $(VENV)/pip.log; false)
	@touch $@

clean:
	rm -rf $(VENV) .demo build dist *.egg-info
