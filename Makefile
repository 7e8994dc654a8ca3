# Dragoman's commands: `make help` lists them. Nothing but python3 (3.11 or newer, with venv), make and a network or a
# local index of packages is needed. pip reads its own settings: where the usual index gives a CUDA build of torch and a
# CPU one will do, say  PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make setup

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest
CACHES := .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* build dist
MEASURED := $(CURDIR)/build/coverage
# File by file in their order: files of few tests can be long, and would otherwise come last, when one process has no more.
SPREAD := -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Tests start hundreds of processes, each of which would compile all of Dragoman anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo atlas bench test check lint site slow fuzz coverage format clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | expand -t 12

setup: $(VENV)/.installed  ## make .venv with the dragoman command (again only when pyproject.toml or constraints.txt change)

demo: setup  ## train on the built-in phrasebook, evaluate, translate; writes runs/demo
	$(BIN)/dragoman demo
	@echo 'Before you type a dragoman command, once in each terminal: source $(BIN)/activate'

atlas: setup  ## train every kind of attention and write docs/atlas; EVBNEWS=folder adds EVBNews; resumes
	$(BIN)/python -m benchmarks.atlas $(if $(EVBNEWS),--evbnews "$(EVBNEWS)")

bench: $(VENV)/.developing  ## measure beside peers; PART=train DATA=folder of Multi30k; or PART=quality DATA=your folder FROM=en TO=vi
ifneq ($(FROM)$(TO),)
	$(if $(and $(filter quality,$(PART)),$(DATA),$(FROM),$(TO)),,$(error FROM and TO need PART=quality, DATA and each other))
	$(BIN)/python -m benchmarks.quality --files "$(DATA)" --from $(FROM) --to $(TO) --work .bench/quality $(OPTIONS)
else
	$(BIN)/python -m benchmarks.speed $(if $(PART),--part $(PART)) $(if $(DATA),--data "$(DATA)") $(OPTIONS)
endif

test: $(VENV)/.developing  ## pass every check: format, lint, types, tests, doctests
	$(MAKE) --jobs 2 lint site
	OMP_NUM_THREADS=1 $(PYTEST) $(SPREAD) -m "not slow"

check: test  ## the same as test

lint: $(VENV)/.developing  ## check format, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --num-workers 2

site: $(VENV)/.developing  ## build the documentation into build/site, in English and Vietnamese; a warning is an error
	$(BIN)/python tools/site.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/site/index.html"

slow: $(VENV)/.developing  ## run the tests that take minutes
	OMP_NUM_THREADS=1 $(PYTEST) $(SPREAD) -m slow

fuzz: $(VENV)/.developing  ## give damaged files to what reads them; TARGET=runs, MINUTES=10 (targets: tests/fuzz/targets.py); goes on
	$(INSTALL) --quiet --editable ".[fuzz]"
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(or $(TARGET),runs) --minutes $(or $(MINUTES),10)

coverage: $(VENV)/.developing  ## measure which lines the tests reach, in Python and C++
	rm -rf $(MEASURED) .coverage .coverage.*
	mkdir -p $(MEASURED)
	OMP_NUM_THREADS=1 XDG_CACHE_HOME="$(MEASURED)/cache" CXX="$${CXX:-g++} --coverage -dumpdir $(MEASURED)/" \
		$(BIN)/coverage run -m pytest $(SPREAD) -m "not slow"
	$(BIN)/coverage combine --quiet
	$(BIN)/python tests/native_coverage.py $(MEASURED)
	$(BIN)/coverage report --skip-covered --show-missing

format: $(VENV)/.developing  ## format the code and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove .venv, caches and builds; runs stay
	rm -rf $(VENV) $(CACHES)
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing Dragoman into $(VENV); the first time takes a few minutes."
	$(INSTALL) --editable ".[serve]"
	@touch $@

$(VENV)/.developing: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing Dragoman and its developers' tools into $(VENV); the first time takes a few minutes."
	$(INSTALL) --editable ".[dev]"
	@touch $(VENV)/.installed $@

$(BIN)/pip:
	@$(PYTHON) -c "" 2>/dev/null || { \
		echo "There is no $(PYTHON): install Python 3.11 or newer, or name one: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
		echo "Dragoman needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1); name a newer one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c "import venv, ensurepip" 2>/dev/null || { \
		echo "$(PYTHON) lacks the module venv: install it (Debian and Ubuntu: apt install python3-venv), then try again" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
