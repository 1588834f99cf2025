# Relume, from a clone: `make demo`, `make test`. Needs Python >= 3.11 and make; the rest it gets itself.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

BIN := .venv/bin
ENV := .venv/stamp
TORCH := .venv-torch/stamp

# Parallel test processes.
WORKERS ?= 2
# What to do about real servers that tests need: `install` them where this is root on apt, else
# skip; `skip`: install nothing; `require`: install where possible and fail instead of skipping.
RELUME_TEST_SERVERS ?= install
export RELUME_TEST_SERVERS
# Benches to run (`relume bench list`), and what to give each of them, such as `--data FOLDER`.
BENCH ?=
BENCH_OPTIONS ?=
# `make lock LOCK_OPTIONS=--upgrade` moves every pin; without it only what pyproject.toml asks for.
LOCK_OPTIONS ?=

.PHONY: help
help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \t\2/p' $(MAKEFILE_LIST) | expand -t 22

.PHONY: env
env: $(ENV) ## Make or update the environment .venv

$(ENV): requirements.lock pyproject.toml scripts/environment.sh
	@scripts/environment.sh

.PHONY: demo
demo: $(ENV) ## Run the main job on made-up logs and print the report
	@$(BIN)/relume demo

.PHONY: demo-slurm
demo-slurm: $(ENV) $(TORCH) ## Show a restart on a real Slurm (installs it if this is root on apt)
	@$(BIN)/python -m relume.benchmarks.loop.demo

.PHONY: torch
torch: $(TORCH) ## Make or update .venv-torch, for demo-slurm and the bench loop

$(TORCH): scripts/torch-environment.sh | $(ENV)
	@scripts/torch-environment.sh

.PHONY: test
test: lint rules suite ## Run everything that CI runs

.PHONY: lint
lint: $(ENV) ## Check style, types, layers and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src/relume tests notebooks
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell
	$(BIN)/validate-pyproject pyproject.toml

.PHONY: rules
rules: $(ENV) ## Check every sample of every signature
	$(BIN)/relume rules test

.PHONY: suite
suite: $(ENV) ## Run the tests with branch coverage
	$(BIN)/pytest -n $(WORKERS) --hypothesis-profile=ci --cov --cov-report=term

.PHONY: fmt
fmt: $(ENV) ## Format, and mend what can be mended safely
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: notebook
notebook: $(ENV) ## Open the first notebook; LAKE=FOLDER shows yours
	$(BIN)/marimo edit notebooks/first_look.py $(if $(LAKE),-- --lake $(LAKE))

.PHONY: bench
bench: $(ENV) ## Run benches, e.g. make bench BENCH="cases healthy" (without: list them)
ifeq ($(strip $(BENCH)),)
	$(BIN)/relume bench list
else
	set -e; for id in $(BENCH); do $(BIN)/relume bench run $$id $(BENCH_OPTIONS); done
endif

# The machine's own indexes, mirrors and wheel folders must leave no trace in the lock, so uv reads
# none of them; a URL in the result is an error.
.PHONY: lock
lock: $(ENV) ## Pin what pyproject.toml asks for in requirements.lock
	cp requirements.lock .venv/new.lock
	env -u UV_INDEX -u UV_INDEX_URL -u UV_DEFAULT_INDEX -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS \
	  $(BIN)/uv pip compile pyproject.toml --quiet --no-config --group dev --all-extras --universal \
	  --python-version 3.11 --generate-hashes --no-annotate --no-header $(LOCK_OPTIONS) -o .venv/new.lock
	! grep -n '://' .venv/new.lock
	mv .venv/new.lock requirements.lock

.PHONY: clean
clean: ## Remove everything that make and the tools made, .venv included
	rm -rf .venv .venv-torch .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* dist build relume-demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
