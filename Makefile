# Each target does its own set-up in .venv. `make demo` and `make test` are all that a newcomer needs.
# Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: help demo test lint types docs examples wheel sanitize ci bench fuzz coverage format clean oldest

help:
	@echo "make demo      classify the bundled decode sweep and show the answer"
	@echo "make test      run every test that this machine can run"
	@echo "make lint      ruff: rules and format          make types     mypy, strict"
	@echo "make docs      check and regenerate reference  make examples  run every example"
	@echo "make wheel     build both wheels, try each in an empty environment"
	@echo "make sanitize  the tests of the compiled scanner, on a build that stops at any fault"
	@echo "make coverage  tests with branch coverage      make oldest    tests with the oldest numpy, pyarrow"
	@echo "make bench     ratios against peers, and memory"
	@echo "make fuzz      search for inputs that break a promise, FUZZ_SECONDS=3600 long"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 10) and "nsightlens needs Python 3.10 or newer; this is %d.%d. Try: make PYTHON=python3.12 ..." % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

SCANNER := nsightlens/ncurep/_scanner.c

# The core alone: what a user installs.
$(VENV)/.core: $(VENV)/.made pyproject.toml setup.py $(SCANNER)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@$(BIN)/python -m compileall -q nsightlens
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/nsightlens demo

# One process per processor; the tests of a file stay together, with what they made.
test: $(VENV)/.test
	$(BIN)/python -m pytest -n logical --dist loadfile

coverage: $(VENV)/.test
	$(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage report --skip-covered --fail-under=90
	$(BIN)/python -m coverage report --include='nsightlens/analysis/*,nsightlens/metrics/*,nsightlens/units.py'

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/python scripts/make_reference.py
	$(BIN)/python scripts/make_engines_page.py
	$(BIN)/python scripts/make_failures_page.py

examples: $(VENV)/.test
	@set -e; for script in examples/*.py; do echo "== $$script"; $(BIN)/python $$script > /dev/null; done
	@set -e; for notebook in examples/*.ipynb; do echo "== $$notebook"; $(BIN)/jupyter-execute $$notebook --output=$(CURDIR)/$(VENV)/executed.ipynb; done

wheel: $(VENV)/.dev
	rm -rf dist build
	CC=false $(BIN)/python -m build --quiet --wheel
	@rm dist/*-none-any.whl || { echo "where no compiler works, the wheel is not a pure one"; exit 1; }
	NSIGHTLENS_PURE=1 $(BIN)/python -m build --quiet --wheel
	$(BIN)/python -m build --quiet --wheel
	@test $$(ls dist | wc -l) -eq 2 || { echo "one of the two wheels is missing: is there a C compiler?"; exit 1; }
	PYTHON=$(PYTHON) scripts/try_wheel.sh dist/*.whl

# The strictest warnings here, where they stop us and not a user whose compiler is newer.
SANITIZED := build/sanitize/_scanner.so
$(SANITIZED): $(SCANNER) $(VENV)/.made
	@mkdir -p $(@D)
	$(CC) -std=c11 -O1 -g -Wall -Wextra -Wpedantic -Werror \
	  -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -fPIC -shared \
	  -isystem $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))') $< -o $@

# In the first run the bytes that it scans lie in memory of their own, which ends where they end.
# Leaks are for a test to find: the interpreter itself leaves much behind.
WITH_SANITIZED := LD_PRELOAD="$$($(CC) -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 \
  PYTHONPATH=tests NSIGHTLENS_OTHER_SCANNER=$(SANITIZED)
sanitize: $(SANITIZED) $(VENV)/.test
	PYTHONMALLOC=malloc $(WITH_SANITIZED) $(BIN)/python -m pytest -q -p support.other_scanner \
	  tests/unit/ncurep/test_scanner.py
	$(WITH_SANITIZED) NSIGHTLENS_LABELLED_MUTANTS=300 $(BIN)/python -m pytest -q -p support.other_scanner \
	  -m "not slow" -k "twins or without_label" tests/property

# The oldest numpy and pyarrow that pyproject.toml promises (they exist up to Python 3.11), and the
# pure-Python scanner, which must pass the same tests as the compiled one.
.venv-oldest/.made: pyproject.toml
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check "numpy==1.24.*" "pyarrow==14.*" -e ".[test]"
	@touch $@

oldest: .venv-oldest/.made
	NSIGHTLENS_SCANNER=python .venv-oldest/bin/python -m pytest -q -m "not slow" tests/unit tests/integration

# NVIDIA's own reader is the peer: proprietary, optional, and left out where it cannot be installed.
bench: $(VENV)/.test
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check ncu-report
	$(BIN)/python -m benchmarks $(ARGS)

# atheris has wheels from Python 3.11 on.
.venv-fuzz/.made: pyproject.toml
	$(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check -e ".[fuzz]"
	@touch $@

FUZZ_SECONDS ?= 3600
fuzz: .venv-fuzz/.made
	.venv-fuzz/bin/python -m fuzz --seconds $(FUZZ_SECONDS)

ci:
	.ci/run

clean:
	rm -rf $(VENV) .venv-oldest .venv-fuzz build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov nsightlens/ncurep/*.so
