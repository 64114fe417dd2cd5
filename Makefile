# Two commands do everything on a machine with Python 3.11 and make:
#   make demo   install, run the main experiment, leave a report
#   make test   install, then linters, types, tests and the documentation's snippets
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test lint docs clean

demo: $(STAMP)
	$(BIN)/craik run spirals --preset quick --seeds 5 --out runs
	$(BIN)/craik report runs

test: lint
	$(BIN)/pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

# docs/claims.md is generated: what the recorded rows under results/ say today.
docs: $(STAMP)
	$(BIN)/craik report results --markdown docs/claims.md

clean:
	rm -rf $(VENV) runs

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[experiments,dev]'
	touch $@
