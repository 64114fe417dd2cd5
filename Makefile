# Two commands do everything on a machine with Python 3.11 and make:
#   make demo   install, run the main experiment, leave a report
#   make test   install, then linters, types, import floors, tests and the documentation's snippets
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
CORES  ?= 2

# Where an environment forbids it, as some containers do, every process would compile anew what it imports: three times as long for
# the four systems together.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test extras worlds versions lowest lint docs pages wheel verify soak device clean

demo: $(STAMP)
	$(BIN)/craik run spirals --preset quick --seeds 5 --out runs
	$(BIN)/craik report runs

# Tests that start processes of their own share one worker (`loadgroup`), so that they do not starve each other. These
# find the source compiled: some of them may keep nothing that they compile.
test: lint
	$(BIN)/python -m compileall -q src
	$(BIN)/pytest -n $(CORES) --dist loadgroup --durations 20

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

# The tests that need an optional dependency, in an environment of their own that has them all; there a missing one fails.
# The peers of `craik bench` are not among them: BackPACK brings torchvision, whose wheel does not load beside the CPU torch.
EXTRAS := .venv-extras
EVERY  := experiments,sklearn,test,rl,worlds,language,cluster,tracking,recipes
MARKED  = $(shell grep -rlF mark.extra tests --include='*.py')
LEAVE  ?=
extras: $(EXTRAS)/.installed
	CRAIK_EXTRAS=$(EVERY) $(EXTRAS)/bin/pytest -n $(CORES) --dist loadgroup -m extra --durations 10 $(filter-out $(LEAVE),$(MARKED))

# Those of them that CI has: evolution, VizDoom, car racing, recordings; without the paper's presets, which take minutes each.
worlds:
	$(MAKE) extras EXTRAS=build/worlds EVERY=experiments,sklearn,test,worlds \
		LEAVE=tests/craik/experiments/every/test_paper_presets.py

# The same build of torch as `make` has: what an extra asks for must not bring another one, such as one for CUDA.
$(EXTRAS)/.installed: $(STAMP)
	$(PYTHON) -m venv $(EXTRAS)
	$(BIN)/python -c "import torch; print('torch==' + torch.__version__)" > $(EXTRAS)/torch.txt
	$(EXTRAS)/bin/pip install --quiet --no-compile --constraint constraints.txt --constraint $(EXTRAS)/torch.txt \
		--editable '.[$(EVERY)]'
	$(EXTRAS)/bin/pip freeze | grep -qxF -f $(EXTRAS)/torch.txt
	touch $@

# The tests on every Python that the project promises and this machine has, each in an environment of its own. Not CI: an hour on
# two cores. `make versions TESTS=tests/craik/lab` tries a part, `PYTHONS=/path/to/python3.13` one that is not on the path.
PYTHONS ?= python3.11 python3.12 python3.13
TESTS   ?= tests
versions:
	@for python in $(PYTHONS); do \
		if ! $$python -c "" 2>/dev/null; then echo "$$python: not installed, not tried"; continue; fi; \
		venv=build/$$(basename $$python); echo "$$python, in $$venv:"; \
		$$python -m venv $$venv && \
		$$venv/bin/pip install --quiet --constraint constraints.txt --editable '.[experiments,sklearn,test]' && \
		$$venv/bin/pytest -n $(CORES) --dist loadgroup $(TESTS) || exit 1; \
	done

# The same with the lowest torch that pyproject.toml promises, and a NumPy of its time: that torch's Triton does not run in its
# interpreter beside NumPy 2.4, which no longer makes numbers of arrays of one element.
LOWEST := $(shell sed -n 's/.*"torch>=\([0-9.]*\).*/\1/p' pyproject.toml)
lowest:
	$(PYTHON) -m venv build/lowest
	build/lowest/bin/pip install --quiet --editable '.[experiments,sklearn,test]' 'torch==$(LOWEST).*' 'numpy<2.4'
	build/lowest/bin/pytest -n $(CORES) --dist loadgroup $(TESTS)

# The site, from docs/, the docstrings and the experiments' READMEs, into site/; it needs no network and opens from disk.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What is generated from the recorded rows under results/: verdicts of the present claims, docs/claims.md, the READMEs' tables;
# and from the methods' files: the table of each field's page.
pages: $(STAMP)
	$(BIN)/craik report results --judge --pages --out runs/results.html
	$(BIN)/python docs/tables/papers.py
	$(BIN)/python docs/tables/sections.py
	$(BIN)/python docs/tables/slopes.py

# A wheel installed in an empty environment, where no file of the checkout is at hand, runs the main experiment.
wheel: $(STAMP)
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/pip install --quiet --no-compile --constraint constraints.txt "$$(ls build/wheel/*.whl)[experiments]"
	cd build/wheel && venv/bin/craik run spirals --seeds 1 --epochs 2 --examples 128 --environments 4 --out runs
	cd build/wheel && venv/bin/craik report runs
	cd build/wheel && venv/bin/python -c "import craik; craik.agreement.kernels.compiled"

# Makes the first seed of every record again and says whether it still gives the recorded rows. Hours; it goes on where it was.
verify: $(STAMP)
	$(BIN)/craik verify results --minutes 20 --both

# What takes too long for `make test`: networks put together at random against one backward pass an environment (about an hour
# for 10,000; `make test` has a minute of it), and a thousand processes killed.
CASES ?= 10000
FIRST ?= 0
soak: $(STAMP)
	$(BIN)/python tests/soak/soak.py $(CASES) $(FIRST)
	CRAIK_KILLS=1000 $(BIN)/pytest tests/craik/lab/running/test_kills.py -k random -s

# What computes, with its tensors on a device: "cuda" is a GPU, "pretended" needs none and finds what mixes devices.
DEVICE ?= pretended
device: $(STAMP)
	CRAIK_DEVICE=$(DEVICE) $(BIN)/pytest -n auto $(addprefix tests/craik/,methods skips nn surfaces trajectories)

clean:
	rm -rf $(VENV) $(EXTRAS) runs build site

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable '.[experiments,sklearn,dev]'
	touch $@
