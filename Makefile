# Two commands do everything on a machine with Python 3.11 and make:
#   make demo   install, run the main experiment, leave a report
#   make test   install, then linters, types, import floors, tests and the documentation's snippets
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
CORES  ?= 2

.PHONY: demo test soak lint docs pages wheel verify clean

demo: $(STAMP)
	$(BIN)/craik run spirals --preset quick --seeds 5 --out runs
	$(BIN)/craik report runs

# Tests that start processes of their own share one worker (`loadgroup`), so that they do not starve each other.
test: lint
	$(BIN)/pytest -n $(CORES) --dist loadgroup --durations 20

# Networks put together at random against one backward pass an environment; about an hour for 10,000. `make test` has a minute of it.
CASES ?= 10000
FIRST ?= 0
soak: $(STAMP)
	$(BIN)/python tests/soak/soak.py $(CASES) $(FIRST)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

# The site, from docs/, the docstrings and the experiments' READMEs, into site/; it needs no network and opens from disk.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# What is generated from the recorded rows under results/: verdicts of the present claims, docs/claims.md, the READMEs' tables.
pages: $(STAMP)
	$(BIN)/craik report results --judge --pages --out runs/results.html

# A wheel installed in an empty environment, where no file of the checkout is at hand, runs the main experiment.
wheel: $(STAMP)
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/pip install --quiet --constraint constraints.txt "$$(ls build/wheel/*.whl)[experiments]"
	cd build/wheel && venv/bin/craik run spirals --seeds 1 --epochs 2 --examples 128 --environments 4 --out runs
	cd build/wheel && venv/bin/craik report runs
	cd build/wheel && venv/bin/python -c "import craik; craik.agreement.kernels.compiled"

# Makes the first seed of every record again and says whether it still gives the recorded rows. Hours; it goes on where it was.
verify: $(STAMP)
	$(BIN)/craik verify results --minutes 20

clean:
	rm -rf $(VENV) runs build site

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[experiments,dev]'
	touch $@
