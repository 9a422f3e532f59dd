# Needs only Python >= 3.11 (with venv and pip) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.ready-dev
CORES ?= all
# One more than cores: whole runs wait for files and servers now and then.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

.PHONY: run replay test lint format setup lock clean

## run: the whole pipeline on the embedded default; ends with the boards in results/
run: $(READY)
	@MAGISTER_PROGRESS=1 $(BIN)/snakemake --cores $(CORES) --quiet rules host
	@$(BIN)/magister board all
	@echo "The boards are in results/ and up to date with params.yaml."

## replay: the recorded run again, without network, keys and models; is it byte-identical?
replay: $(READY)
	@$(BIN)/magister replay --fetch --cores $(CORES)

## test: the whole suite
test: $(DEV)
	$(BIN)/python -m pytest --numprocesses $(WORKERS)

## lint: style, types and the workflow's form
lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/mypy

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules

## setup: a virtual environment with hash-checked dependencies, bytecode compiled
setup: $(DEV)

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(READY): requirements/run.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Magister needs Python 3.11 or newer, found " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements/run.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@# Without bytecode every job would compile its imports again.
	$(BIN)/python -m compileall -q src scripts
	touch $(READY)

$(DEV): $(READY) requirements/dev.lock
	$(PIP) --require-hashes --requirement requirements/dev.lock
	touch $(DEV)

## lock: resolve the dependencies anew (needs uv)
COMPILE := uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra build
lock:
	$(COMPILE) --extra dev pyproject.toml --output-file requirements/dev.lock
	$(COMPILE) --constraint requirements/dev.lock pyproject.toml --output-file requirements/run.lock

clean:
	rm -rf data/items data/teaching data/ablations data/arena data/models results logs .snakemake
