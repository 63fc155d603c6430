# Two commands do everything from nothing: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-web test-cluster lint format bench torture soak reference docs clean help

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: $(VENV)/.core   ## a workspace of handwritten digits: a table and a report
	$(BIN)/vbcgcd demo

test: $(VENV)/.dev lint   ## lint, types, import contracts, tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

test-web: $(VENV)/.web   ## the pages in a real browser; installs Playwright, and Debian's Chromium where there is none
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/browser

test-cluster: $(VENV)/.cluster   ## a Ray cluster of two nodes on this machine, one of them killed; installs Ray
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/cluster

lint: $(VENV)/.dev   ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev   ## let ruff rewrite the layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev   ## accuracy, speed and memory (set VBCGCD_DATA for the real embeddings)
	$(BIN)/python benchmarks/base_session.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/discovery.py
	$(BIN)/python benchmarks/mixes.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/judge.py
	$(BIN)/python benchmarks/head.py
	$(BIN)/python benchmarks/observe.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/against_released.py
	$(BIN)/python benchmarks/embedding_rate.py
	$(BIN)/python benchmarks/everyday.py --rates
	$(BIN)/python benchmarks/finetune.py

torture: $(VENV)/.dev   ## attack everything: kills, faults, damage, hostile input; a table of counts
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m torture

soak: $(VENV)/.dev   ## 2,000 sessions in one workspace
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/soak.py

reference: $(VENV)/.dev   ## write docs/cli.md and docs/schemas.json from the program
	$(BIN)/python -m typer vbcgcd.cli utils docs --name vbcgcd --output docs/cli.md
	$(BIN)/python -m vbcgcd schema > docs/schemas.json

docs: $(VENV)/.docs   ## the documents as a site, in build/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/docs
	@echo "The site is at build/docs/index.html."

clean:           ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[workspace]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@ $(VENV)/.core

$(VENV)/.cluster: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet -e '.[cluster]'
	@touch $@

$(VENV)/.web: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet 'playwright>=1.45'
	@command -v chromium google-chrome >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium >/dev/null)
	@touch $@
