import importlib
import importlib.util
import os
import signal
import threading
import zlib
from pathlib import Path

# Read when SciPy and scikit-learn are loaded, and by the workers of xdist: on small matrices and trees the threads of OpenBLAS
# and OpenMP wait for each other where cores are busy, up to forty times as long as they work (results/bench/tests-cpu.jsonl).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import jaxtyping
import pytest
import torch
from hypothesis import settings

# Two slow cores and a torch start-up make single examples take long now and then; the number of examples is the budget.
# Where a tensor lies does not depend on its numbers: where a device is pretended, which is slow, a few examples show it.
EXAMPLES = 5 if os.environ.get("MECHLEARN_DEVICE") == "pretended" else 50
settings.register_profile("mechlearn", deadline=None, max_examples=EXAMPLES, derandomize=True)
settings.load_profile("mechlearn")

# On tensors this small threads cost more than they bring, most of all where other work keeps the cores busy.
torch.set_num_threads(1)

# A shell has its background jobs ignore Ctrl-C, and nohup a closed terminal; what tests start would inherit it and never end.
# We go on ignoring the terminal: a function that does nothing is not inherited.
if threading.current_thread() is threading.main_thread():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, frame: None)

LIMIT = max(600, 30 * int(os.environ.get("MECHLEARN_KILLS", "0")))
"""Seconds after which a test has hung: it fails, and says where it waited. On an idle machine the longest takes fifteen, but in
`make soak`, which kills as many processes as the variable says."""

TOGETHER = (
    "packages/mechlearn/tests/cli",
    "packages/mechlearn/tests/tables/reports",
    "packages/zoo/tests/benchmarks",
    "packages/zoo/tests/experiments",
    "docs/tests",
)
"""Where whole runs go through what has tests of its own: shapes are not looked at there, which would take half of the time.
MECHLEARN_SHAPES=1 looks at them there, too."""

OFF = jaxtyping.config.jaxtyping_disable
"""Whether they are looked at nowhere, as JAXTYPING_DISABLE=1 asks for."""

EVERYWHERE = bool(os.environ.get("MECHLEARN_SHAPES"))

EXTRAS = os.environ.get("MECHLEARN_EXTRAS", "").split(",")
"""The extras that `make extras` has installed: a missing package of theirs fails there, elsewhere it skips."""


def pytest_configure(config):
    config.addinivalue_line("markers", "extra(name, *modules): needs the packages of an optional dependency; see `make extras`")
    if os.environ.get("MECHLEARN_DEVICE"):
        from on_device import OnDevice, Pretended  # found by pytest's own path, and asked for by few

        asked = os.environ["MECHLEARN_DEVICE"]
        device = Pretended() if asked == "pretended" else OnDevice(asked)
        device.__enter__()
        config.add_cleanup(lambda: device.__exit__(None, None, None))


def pytest_runtest_setup(item):
    """Skip what needs a missing extra; weights that a test draws without a generator are its own ones, whatever ran before."""
    torch.manual_seed(zlib.crc32(item.nodeid.encode()))
    for mark in item.iter_markers("extra"):
        missing = [name for name in mark.args[1:] if importlib.util.find_spec(name) is None]
        if missing:
            sentence = f"needs the extra {mark.args[0]!r}: {', '.join(missing)} cannot be imported"
            pytest.fail(sentence) if mark.args[0] in EXTRAS else pytest.skip(sentence)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Look at shapes or not, and end what waits for ever, such as a cluster that does not come up."""
    here = Path(__file__).parent
    together = any(item.path.is_relative_to(here / place) for place in TOGETHER)
    jaxtyping.config.update("jaxtyping_disable", OFF or (together and not EVERYWHERE))
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return (yield)

    def late(number, frame):
        pytest.fail(f"{item.nodeid} has run for {LIMIT} s, and a test must come to an end; see where it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT, LIMIT)  # again, should its end hang too
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pytest_ignore_collect(collection_path):
    """Pass over sources without an example: pytest would import each, and look at all of its names for doctests.

    The others are imported here, as pytest makes a second module of what a package imports itself.
    """
    within = collection_path.relative_to(Path(__file__).parent).parts
    if collection_path.suffix != ".py" or within[2:3] != ("src",):
        return None
    if ">>> " not in collection_path.read_text(encoding="utf-8"):
        return True
    importlib.import_module(".".join(within[3:]).removesuffix(".py").removesuffix(".__init__"))
    return None


@pytest.fixture
def as_installed():
    """Turn the tests' own checks of annotations off: a user meets ours."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
