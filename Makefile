# Two commands do everything on a machine with Python 3.11 and make:
#   make demo   install, show agreement, skips and distill on one experiment each, leave a report with their pictures
#   make test   install, then linters, types, import floors, tests and the documentation's snippets
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# The three packages, editable, with the extras that a task wants of the last.
comma   := ,
three    = --editable 'packages/mechlearn[tables]' --editable packages/claimlab --editable 'packages/zoo[$(1)]'
CORES  ?= 2

# Where an environment forbids it, as some containers do, every process would compile anew what it imports: three times as long for
# the four systems together.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-library extras worlds launch versions lowest lint docs pages notebooks wheel matrix verify soak device clean

demo: $(STAMP)
	$(BIN)/mechlearn run spirals --seeds 3 --out runs
	$(BIN)/mechlearn run skips-timeline --seeds 1 --out runs
	$(BIN)/mechlearn run distill-xor --seeds 1 --methods no-teacher,ldt-fixed --inputs 128 --out runs
	$(BIN)/mechlearn report runs

# Each file has one worker (`loadfile`), so that what its tests share is made once; pytest 9.2 does not tell xdist 3.8 of groups.
# Tests that start processes find the source compiled: some of them may keep nothing that they compile.
test: lint
	$(BIN)/python -m compileall -q packages
	$(BIN)/pytest -n $(CORES) --dist loadfile --durations 20

# The library's own tests: what a contributor to it runs.
test-library: $(STAMP)
	$(BIN)/pytest -n $(CORES) --dist loadfile packages/mechlearn

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

# The tests that need an optional dependency, in an environment of their own that has them all; there a missing one fails.
# The peers of `mechlearn bench` are not among them: BackPACK brings torchvision, whose wheel does not load beside the CPU torch.
EXTRAS := .venv-extras
HAS    := test,paper,worlds,language,integrations,trl,cluster,tracking,postgres,frames,excel,mixed
EVERY   = --editable 'packages/mechlearn[tables,integrations,trl,excel,mixed]' --editable 'packages/claimlab[cluster,tracking,postgres,frames]' \
	--editable 'packages/zoo[test,paper,worlds,language]'
MARKED  = $(shell grep -rlF mark.extra packages docs --include='*.py')
LEAVE  ?=
extras: $(EXTRAS)/.installed
	MECHLEARN_EXTRAS=$(HAS) $(EXTRAS)/bin/pytest -n $(CORES) --dist loadfile -m extra --durations 10 $(filter-out $(LEAVE),$(MARKED))

# Those of them that CI has: evolution, VizDoom, car racing, recordings; without the paper's presets, which take minutes each.
worlds:
	$(MAKE) extras EXTRAS=build/worlds HAS=test,worlds EVERY="$(call three,test$(comma)worlds)" \
		LEAVE=packages/zoo/tests/experiments/every/test_paper_presets.py

# The recipes of docs/recipes, started by torchrun, Accelerate, Lightning and Transformers on some ranks of this machine; with more
# than two, also the test of ranks that `make test` has with one and two.
RANKS ?= 2
launch:
	$(MAKE) build/launch/.installed EXTRAS=build/launch \
		EVERY="--editable 'packages/mechlearn[tables,integrations,trl]' --editable packages/claimlab --editable 'packages/zoo[test]'"
	MECHLEARN_RANKS=$(RANKS) MECHLEARN_EXTRAS=test,integrations,trl build/launch/bin/pytest --durations 10 \
		docs/tests/test_recipes.py $(if $(filter 2,$(RANKS)),,packages/mechlearn/tests/agreement/distributed/test_agreement_on_ranks.py)

# The same build of torch as `make` has: what an extra asks for must not bring another one, such as one for CUDA.
$(EXTRAS)/.installed: $(STAMP)
	$(PYTHON) -m venv $(EXTRAS)
	$(BIN)/python -c "import torch; print('torch==' + torch.__version__)" > $(EXTRAS)/torch.txt
	$(EXTRAS)/bin/pip install --quiet --no-compile --constraint constraints.txt --constraint $(EXTRAS)/torch.txt \
		$(EVERY)
	$(EXTRAS)/bin/pip freeze | grep -qxF -f $(EXTRAS)/torch.txt
	touch $@

# The tests on every Python that the project promises and this machine has, each in an environment of its own. Not CI: an hour on
# two cores. `make versions TESTS=packages/claimlab/tests` tries a part, `PYTHONS=/path/to/python3.13` one that is not on the path.
PYTHONS ?= python3.11 python3.12 python3.13
TESTS   ?= packages docs/tests
versions:
	@for python in $(PYTHONS); do \
		if ! $$python -c "" 2>/dev/null; then echo "$$python: not installed, not tried"; continue; fi; \
		venv=build/$$(basename $$python); echo "$$python, in $$venv:"; \
		$$python -m venv $$venv && \
		$$venv/bin/pip install --quiet --constraint constraints.txt $(call three,test) && \
		$$venv/bin/pytest -n $(CORES) --dist loadfile $(TESTS) || exit 1; \
	done

# The same with the lowest torch that pyproject.toml promises.
LOWEST := $(shell sed -n 's/.*"torch>=\([0-9.]*\).*/\1/p' packages/mechlearn/pyproject.toml)
lowest:
	$(PYTHON) -m venv build/lowest
	build/lowest/bin/pip install --quiet $(call three,test) 'torch==$(LOWEST).*'
	build/lowest/bin/pytest -n $(CORES) --dist loadfile $(TESTS)

# The site, from docs/, the docstrings and the experiments' READMEs, into site/; it needs no network and opens from disk.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What is generated from the recorded rows under results/: verdicts of the present claims, docs/claims.md, the READMEs' tables;
# and from the methods' files: the table of each field's page.
pages: $(STAMP)
	$(BIN)/mechlearn report packages/zoo/results --judge --pages --out runs/results.html
	$(BIN)/python docs/tables/papers.py
	$(BIN)/python docs/tables/seeds.py
	$(BIN)/python docs/tables/readings.py
	$(BIN)/python docs/tables/results.py
	$(BIN)/python docs/tables/guides.py

# The notebooks, from the pages that they repeat, executed.
notebooks: $(STAMP)
	$(BIN)/python docs/notebooks/make.py

# Wheels in environments that have no file of the checkout: the library alone trains and says what else to install, with [tables] it
# answers about a table, and with the other two it runs the main experiment.
wheel: $(STAMP)
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir build/wheel packages/mechlearn packages/claimlab packages/zoo
	$(BIN)/python packages/zoo/tests/wheels.py build/wheel $(PYTHON)

# Each package and extra, from wheel and from sdist, in an empty environment of each Python; every command is run there once.
matrix:
	$(PYTHON) tools/matrix.py build/matrix --python $(PYTHONS)

# Makes the first seed of every record again and says whether it still gives the recorded rows. Hours; it goes on where it was.
verify: $(STAMP)
	$(BIN)/mechlearn verify packages/zoo/results --minutes 20 --both

# What takes too long for `make test`: networks put together at random against one backward pass an environment (hours for
# 10,000; `make test` has a minute of it), and a thousand processes killed.
CASES ?= 10000
RUNS  ?= 200
FIRST ?= 0
soak: $(STAMP)
	PYTHONPATH=packages/mechlearn/tests/made_up $(BIN)/python packages/zoo/tests/soak/soak.py $(CASES) $(FIRST)
	PYTHONPATH=packages/mechlearn/tests/made_up:packages/mechlearn/tests/oracles $(BIN)/python \
		packages/mechlearn/tests/made_up/situations.py 120
	PYTHONPATH=packages/mechlearn/tests/made_up:packages/mechlearn/tests/oracles $(BIN)/python \
		packages/mechlearn/tests/made_up/traced_soak.py $(CASES) $(FIRST) $(RUNS) 60
	PYTHONPATH=$(subst $() $(),:,$(addprefix packages/,mechlearn/tests/oracles mechlearn/tests/made_up zoo/tests/oracles \
		zoo/tests/made_up zoo/tests/made_up/doors)) $(BIN)/python packages/zoo/tests/soak/calls.py $(CASES) $(FIRST)
	MECHLEARN_KILLS=1000 $(BIN)/pytest packages/claimlab/tests/running/test_kills.py -k random -s

# What computes, with its tensors on a device: "cuda" is a GPU, "pretended" needs none and finds what mixes devices.
DEVICE ?= pretended
device: $(STAMP)
	MECHLEARN_DEVICE=$(DEVICE) $(BIN)/pytest -n auto $(addprefix packages/zoo/tests/,methods nn) $(addprefix packages/mechlearn/tests/,skips nn surfaces trajectories)

clean:
	rm -rf $(VENV) $(EXTRAS) runs build site

$(STAMP): $(wildcard packages/*/pyproject.toml) constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt $(call three,dev)
	touch $@
