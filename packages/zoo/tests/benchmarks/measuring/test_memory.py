import json
import subprocess
import sys

import pytest
from mechlearn_zoo_benchmarks.measuring import memory

from claimlab import LabError

pytestmark = pytest.mark.skipif(not memory.supported(), reason="this system has no high-water mark to reset")

HOLD_AND_PEAK = """
import json, sys
from claimlab.cli.bench import load_package
load_package("mechlearn_zoo")
from mechlearn_zoo_benchmarks.measuring.memory import peak_level
mib = 2**20
kept = []
def prepare():
    kept.append(b"x" * (32 * mib))  # a model, as it were
    waste = b"x" * (200 * mib)  # what building it took is in no step
    del waste
    return lambda: len(b"x" * (64 * mib)), lambda: None
print(json.dumps(peak_level(lambda: len(b"x" * (16 * mib)), prepare, warm_ups=1) / mib))
"""


def test_a_level_is_what_is_held_and_what_a_step_adds_and_no_more():
    done = subprocess.run([sys.executable, "-c", HOLD_AND_PEAK], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == pytest.approx(96, abs=8)


ADDED = """
import json, sys
from claimlab.cli.bench import load_package
load_package("mechlearn_zoo")
from mechlearn_zoo_benchmarks.measuring.memory import added_peak
mib = 2**20
kept = []
def prepare():
    kept.append(b"x" * (32 * mib))  # a model: it was there before the step
    return lambda: len(b"x" * (64 * mib))
print(json.dumps(added_peak(prepare, warm_ups=1) / mib))
"""


def test_what_a_step_adds_is_without_what_was_there():
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == pytest.approx(64, abs=8)


def probe(**changes):
    arguments = {"workload": "mlp-34", "method": "plain", "chunk": 0, "warm_ups": 1, "threads": 1, "seed": 0, "small": True}
    return memory.in_fresh_process("agreement", arguments | changes)


def test_a_stack_of_gradients_shows():
    plain, stacked = (probe(method=method, small=False) for method in ("plain", "authors_loop"))
    gradients = 32 * 140_801 * 4
    assert stacked - plain > gradients


def test_a_probe_that_fails_is_a_sentence():
    with pytest.raises(LabError, match=r"The probe should end well\. Found KeyError: 'mlp-35'"):
        probe(workload="mlp-35")


def test_there_is_memory_left():
    assert memory.available() > 2**20
