"""Of 500 wrong calls drawn at random, 97 of 100 that are refused are refused in a sentence; `make soak` draws 10,000."""

import json
import os
import subprocess
import sys
from pathlib import Path


def test_wrong_calls_drawn_at_random_are_refused_in_a_sentence():
    """In a process of its own: without the type checker that these tests run under."""
    path = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, Path(__file__).with_name("calls.py"), "500", str(10**6)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["share"] >= 0.97, "\n".join(found["which"])
    assert found["sentence"] > 350
