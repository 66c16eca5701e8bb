# Everything runs in the virtual environment .venv; nothing outside this folder changes.
# FWKMEANS_PYTHON chooses the interpreter (3.11 or newer).
FWKMEANS_PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src CMakeLists.txt pyproject.toml -type f \( -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt -o -name pyproject.toml \))

.PHONY: help demo test lint types bench survey docs clean setup
help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

$(BIN)/python:
	$(FWKMEANS_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set FWKMEANS_PYTHON.")'
	$(FWKMEANS_PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

# an editable install: Python files are used in place, the core is rebuilt when its sources change
$(VENV)/.installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.4" ninja cmake
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[all]'
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

setup: $(VENV)/.dev  ## install the package and its tools into .venv

demo: $(VENV)/.installed  ## run every algorithm on bundled data and write a report
	$(BIN)/fwkmeans demo

test: $(VENV)/.dev  ## check style and types, and run the fast tests
	$(MAKE) --no-print-directory lint types
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.dev  ## run ruff, import-linter and codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs benchmarks examples README.md CONTRIBUTING.md CHANGELOG.md

types: $(VENV)/.dev  ## run mypy --strict
	$(BIN)/mypy

bench: $(VENV)/.dev  ## compare speed and memory with scikit-learn and others (on a quiet machine)
	$(BIN)/python benchmarks/bench_iteration.py
	$(BIN)/python benchmarks/bench_starts.py
	$(BIN)/python benchmarks/bench_memory.py
	$(BIN)/python benchmarks/bench_contention.py
	$(BIN)/python benchmarks/bench_minkowski.py
	$(BIN)/python benchmarks/bench_roots.py
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python benchmarks/bench_mixed.py

survey: $(VENV)/.installed  ## run the survey's whole experiment and write its report
	$(BIN)/fwkmeans survey
	$(BIN)/fwkmeans survey report

docs: $(VENV)/.docs  ## build the documentation into docs/_build
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:  ## remove everything that was built
	rm -rf $(VENV) build docs/_build docs/api docs/gallery docs/survey/report docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
