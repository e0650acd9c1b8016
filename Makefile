# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[demo,test,dev]'
	@touch $@

install: $(VENV)/.installed ## create .venv and install everything

demo: install ## compile a ResNet-50 and run it on a modelled Ascend310P3
	$(BIN)/python -m graph_engine.tools.demo

test: install ## all tests on all cores: lit, then pytest
	$(BIN)/lit -q test
	$(BIN)/python -m pytest -n auto --dist loadfile test

lint: install ## ruff, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: install ## rewrite the code to the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install ## rewrite what the documentation takes from the code
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/resnet50_tasks.py

bench: install ## ratios beside onnxruntime, and growth of every pass
	$(BIN)/python bench/spine.py
	$(BIN)/python bench/growth.py

clean: ## remove the virtual environment and build products
	rm -rf $(VENV) build dist src/*.egg-info

.PHONY: help install demo test lint format docs bench clean
