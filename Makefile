# Everything runs in the virtual environment .venv; nothing outside this folder changes.
# FWKMEANS_PYTHON chooses the interpreter (3.11 or newer).
FWKMEANS_PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# compiled files are kept: dozens of tests start a Python of their own
unexport PYTHONDONTWRITEBYTECODE
SOURCES := $(shell find src CMakeLists.txt pyproject.toml -type f \( -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt -o -name pyproject.toml \))

.PHONY: help demo test lint format-core tidy types records mutants fuzz bench bench-quick survey docs clean setup test-long test-gpu test-oldest test-clang test-aarch64 wheel
help:  ## show this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1\t/' | expand -t 22

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
	$(BIN)/python -m pytest -n 4  # some tests wait, so more processes than two cores

test-long: $(VENV)/.dev  ## what make test leaves out: pages in a browser, the gallery, the reference
	$(BIN)/python -m pytest -n 2 -m long

test-gpu: $(VENV)/.dev  ## the kernels for a GPU: on one, or in Triton's interpreter (minutes)
	$(BIN)/python -m pip install --quiet torch triton
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 -m 'long or not long' tests/device

CPP := $(shell git ls-files '*.hpp' '*.cpp')
lint: $(VENV)/.dev  ## run ruff, clang-format, import-linter and codespell
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs benchmarks examples README.md CONTRIBUTING.md CHANGELOG.md

format-core: $(VENV)/.dev  ## lay out the C++ of the core
	$(BIN)/clang-format -i $(CPP)

tidy: $(VENV)/.installed  ## look for bugs and lost time in the core (Debian: clang-tidy; minutes)
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -G Ninja -S . -B build/tidy -Dpython_module=OFF -Dkernel_tests=ON \
	  -Dquick=ON -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
	run-clang-tidy -quiet -p build/tidy 'src/fwkmeans/_core/|tests/_core/'

types: $(VENV)/.dev  ## run mypy --strict
	$(BIN)/mypy

records: $(VENV)/.dev  ## compare fits to the bit with what tests/records/records.txt says (minutes)
	$(BIN)/python tests/records/run.py

mutants: $(VENV)/.dev  ## plant small faults in a copy; the tests must catch all (ONLY=name: one)
	$(BIN)/python tests/mutants/plant.py --only '$(or $(ONLY),*)'

fuzz: $(VENV)/.dev  ## random and damaged input for SECONDS (240); seeds are printed
	$(BIN)/python tests/fuzz/run.py --seconds $(or $(SECONDS),240)

bench: $(VENV)/.dev  ## compare speed and memory with peers; writes docs/performance.rst (a quiet machine)
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python benchmarks/suite.py

bench-quick: $(VENV)/.dev  ## print the ratios that must not fall, in four minutes
	$(BIN)/python benchmarks/suite.py --quick

survey: $(VENV)/.installed  ## run the survey's whole experiment and write its report
	$(BIN)/fwkmeans survey
	$(BIN)/fwkmeans survey report

# the lowest versions that pyproject.toml allows
test-oldest:  ## the tests with the oldest versions of what the package needs
	$(FWKMEANS_PYTHON) -m venv --clear build/oldest
	build/oldest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	build/oldest/bin/python tests/oldest.py > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet --constraint build/oldest/constraints.txt '.[all]' --group test
	build/oldest/bin/python -m pytest -n 2

# an environment that borrows the packages of .venv and has a core of its own
PURELIB := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
test-clang: $(VENV)/.dev  ## the core built by Clang, warnings are errors, and its tests
	$(BIN)/python -m venv --clear build/clang
	realpath "$$($(BIN)/python $(PURELIB))" > "$$(build/clang/bin/python $(PURELIB))/borrowed.pth"
	PATH="$(CURDIR)/$(BIN):$$PATH" CXX=clang++ build/clang/bin/python -m pip install --quiet --no-deps --no-build-isolation \
	  --config-settings build-dir=build/clang/core --config-settings cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON .
	build/clang/bin/python -m pytest tests/_core

# Debian: g++-aarch64-linux-gnu, qemu-user
test-aarch64: $(VENV)/.installed  ## the kernels cross-built for aarch64 and tested in an emulator
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -G Ninja -S . -B build/aarch64 -Dpython_module=OFF -Dkernel_tests=ON \
	  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	  "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/aarch64
	$(BIN)/ctest --test-dir build/aarch64 --output-on-failure

WHEEL_PYTHONS ?= python3.11 python3.12 python3.13 python3.14
wheel:  ## wheels in dist/, audited and run where no compiler is
	.ci/wheel $(WHEEL_PYTHONS)

docs: $(VENV)/.docs  ## build the documentation into docs/_build
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:  ## remove everything that was built
	rm -rf $(VENV) build dist docs/_build docs/api docs/gallery docs/survey/report docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
