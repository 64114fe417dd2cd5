import importlib.util
import os
from pathlib import Path

import jaxtyping
import pytest
import torch
from hypothesis import settings

# Two slow cores and a torch start-up make single examples take long now and then; the number of examples is the budget.
settings.register_profile("craik", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("craik")

# On tensors this small threads cost more than they bring, most of all where other work keeps the cores busy.
torch.set_num_threads(1)

PROCESSES = ("lab/running", "lab/sweeping", "lab/showing", "cli", "agreement/machines")
"""Where tests start processes of their own: all on one worker of xdist, so that they do not starve each other."""


EXTRAS = os.environ.get("CRAIK_EXTRAS", "").split(",")
"""The extras that `make extras` has installed: a missing package of theirs fails there, elsewhere it skips."""


def pytest_configure(config):
    config.addinivalue_line("markers", "extra(name, *modules): needs the packages of an optional dependency; see `make extras`")


def pytest_runtest_setup(item):
    for mark in item.iter_markers("extra"):
        missing = [name for name in mark.args[1:] if importlib.util.find_spec(name) is None]
        if missing:
            sentence = f"needs the extra {mark.args[0]!r}: {', '.join(missing)} cannot be imported"
            pytest.fail(sentence) if mark.args[0] in EXTRAS else pytest.skip(sentence)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent / "craik"
    for item in items:
        if any(item.path.is_relative_to(here / place) for place in PROCESSES):
            item.add_marker(pytest.mark.xdist_group("processes"))


@pytest.fixture
def as_installed():
    """Turn the tests' own checks of annotations off: a user meets ours."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
