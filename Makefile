# Everything a person or a machine runs here. `make help` lists the targets.
# Each recipe is one job after another: prerequisites are an order here, also under -j.
.NOTPARALLEL:
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for candidate in python3 python3.11 python3.12 python3.13; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$candidate && break; done)
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq install
PIP_DOWNLOAD := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq download

digest = $(shell cat $(1) | sha256sum | cut -c1-16)
LOCAL_STAMP := $(VENV)/.local-$(call digest,requirements/local.txt)
DEV_STAMP := $(VENV)/.dev-$(call digest,requirements/dev.txt)
LAYER_WHEELS := $(VENV)/layer-wheels-$(call digest,layers/dependencies/requirements.txt)
PROJECT_STAMP := $(VENV)/.project-$(call digest,pyproject.toml)
NODE := tests/providers
NODE_STAMP := $(NODE)/node_modules/.lock-$(call digest,$(NODE)/package-lock.json)

SOURCES := $(wildcard functions layers/engine/python local tests bench examples)
SAM_ENV := SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1
# SAM builds the dependencies layer with the Python that is there, so the runtime follows it.
RUNTIME = PythonRuntime=$$($(BIN)/python -c 'import sys; print("python3.%d" % sys.version_info[1])')

.PHONY: help
help: ## List the targets.
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

# ---- environment ------------------------------------------------------------------------------
# A stamp carries the digest of what it was built from: the same files are never installed twice.

$(LOCAL_STAMP):
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed (make PYTHON=…)" >&2; exit 1; }
	@echo "building $(VENV) from requirements/local.txt with $(PYTHON)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP_INSTALL) --require-hashes --only-binary=:all: -r requirements/local.txt
	@touch $@

$(DEV_STAMP): | $(LOCAL_STAMP)
	@echo "adding requirements/dev.txt to $(VENV)"
	@$(PIP_INSTALL) --require-hashes --only-binary=:all: -r requirements/dev.txt
	@touch $@

$(PROJECT_STAMP): | $(LOCAL_STAMP)
	@$(PIP_INSTALL) --no-build-isolation --no-deps -e .
	@touch $@

# The dependencies layer is built from these, so that a build after the install needs no network.
$(LAYER_WHEELS): | $(LOCAL_STAMP)
	@$(PIP_DOWNLOAD) --require-hashes --only-binary=:all: --no-deps -d $@.part \
		-r layers/dependencies/requirements.txt
	@mv $@.part $@

# A model provider's wire, spoken by a server that tests start; `npm ci` begins with an empty folder.
$(NODE_STAMP):
	@command -v npm >/dev/null || { echo "npm, with Node 20 or newer, is needed for the tests" >&2; exit 1; }
	@echo "building $(NODE)/node_modules from $(NODE)/package-lock.json"
	@npm ci --prefix $(NODE) --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@

.PHONY: venv
venv: $(DEV_STAMP) $(PROJECT_STAMP) $(LAYER_WHEELS) $(NODE_STAMP) ## Build the whole environment in .venv.

.PHONY: lock
lock: $(DEV_STAMP) ## Write the lock files again (UPGRADE=--upgrade for newer versions).
	@lock() { $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
		--no-strip-extras --no-emit-index-url --no-emit-find-links --annotation-style line \
		--custom-compile-command "make lock" -q "$$@"; }; \
	lock --extra dev --group build $(UPGRADE) -o requirements/dev.txt; \
	lock --extra local --group build -c requirements/dev.txt -o requirements/local.txt; \
	lock --extra engine -c requirements/dev.txt $(LAMBDA_HAS:%=--no-emit-package %) -o layers/dependencies/requirements.txt

# What Lambda's Python runtimes bring along: boto3 and what it needs.
LAMBDA_HAS := boto3 botocore s3transfer python-dateutil six urllib3

# ---- running ----------------------------------------------------------------------------------

.PHONY: demo
demo: $(LOCAL_STAMP) $(PROJECT_STAMP) ## Start the local runtime on free ports and play the demo.
	@$(BIN)/everturn demo $(ARGS)

.PHONY: dev
dev: $(LOCAL_STAMP) $(PROJECT_STAMP) ## Run the local runtime until Ctrl-C.
	@$(BIN)/everturn dev $(ARGS)

.PHONY: bench
bench: $(LOCAL_STAMP) $(PROJECT_STAMP) ## Run the benchmarks.
	@$(BIN)/python -m bench $(ARGS)

# ---- checking ---------------------------------------------------------------------------------

.PHONY: test
test: venv environment lint types template build-trial core pytest ## Build the environment and run everything.

.PHONY: check
check: venv environment lint types template core pytest ## Format, lint, types, template and tests.

.PHONY: format
format: venv ## Rewrite the sources in the house's format.
	@$(BIN)/ruff check --fix-only -q $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

.PHONY: openapi
openapi: venv ## Write docs/openapi.json and the two schemas beside it.
	@$(BIN)/python -m everturn_local.openapi

.PHONY: environment
environment: venv
	@$(BIN)/python -m pip --disable-pip-version-check check

.PHONY: lint
lint: venv
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)

.PHONY: types
types: venv
	@$(BIN)/mypy $(SOURCES)

.PHONY: template
template: venv
	@$(SAM_ENV) $(BIN)/sam validate --lint
	@$(BIN)/cfn-lint --regions ALL_REGIONS -- template.yaml

# Asserts that the stack builds, beside whatever .aws-sam holds.
.PHONY: build-trial
build-trial: venv
	@echo "sam build for $$(uname -m)"; out=$$(mktemp -d); trap 'rm -rf "$$out"' EXIT; \
	PIP_NO_INDEX=1 PIP_FIND_LINKS=$(abspath $(LAYER_WHEELS)) $(SAM_ENV) $(BIN)/sam build --no-cached \
		--parameter-overrides "$(RUNTIME)" "Architecture=$$(uname -m | sed 's/aarch64/arm64/')" \
		--build-dir "$$out/build" >"$$out/log" 2>&1 || { cat "$$out/log"; exit 1; }

# The core's own tests reach every branch of it; what others happen to pass through does not count.
.PHONY: core
core: venv
	@$(BIN)/python -m pytest -q --cov=everturn.session --cov-report=term --cov-fail-under=100 \
		tests/unit/session

# A file of tests stays in one process, and files keep their order: those over sockets share a runtime.
.PHONY: pytest
pytest: venv
	@$(BIN)/python -m pytest --cov -n $(PROCESSES) --dist loadfile --no-loadscope-reorder $(RERUNS) $(ARGS)

PROCESSES ?= 2
# A test over sockets that met a busy machine is tried again, and the summary names it.
RERUNS ?= --reruns 2 --reruns-delay 2 -raR

# ---- deploying --------------------------------------------------------------------------------

.PHONY: build
build: venv ## Build the stack for AWS into .aws-sam, for this Python (PARAMETERS="Name=value …").
	@$(SAM_ENV) $(BIN)/sam build --parameter-overrides "$(RUNTIME)" $(PARAMETERS)

.PHONY: deploy
deploy: build ## Build, then deploy with sam for the same Python (PARAMETERS="Name=value …").
	@SAM_CLI_TELEMETRY=0 $(BIN)/sam deploy --guided --parameter-overrides "$(RUNTIME)" $(PARAMETERS)

.PHONY: clean
clean: ## Remove the environment and everything built.
	@rm -rf $(VENV) $(NODE)/node_modules .aws-sam .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
