"""Public doors given what they do not take: a sentence with the rule and what was found, and nothing is taken in silence.

The agreement room's own list is in `packages/mechlearn/tests/agreement/test_doors.py`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wrong_kinds
import wrong_tensors

SENTENCE = re.compile(r"(?s)[A-Z`'].*\bshould\b.*\bFound\b.*[.?]")

TAKEN = {
    "Trajectories[]: rows a list",  # positions that this batch of two does not have: Python's own IndexError
    "Part: elements a list",
}
"""What is right after all."""


@pytest.fixture(scope="module", params=[wrong_kinds, wrong_tensors], ids=["systems", "worlds"])
def found(request) -> list[dict]:
    """What all of them ended in, from a process of its own: without the type checker that these tests run under."""
    here = Path(request.param.__file__)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, here], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_right_is_taken(found):
    assert [one for one in found if one["name"].endswith(": right") and one["error"]] == []


def test_there_are_many(found):
    names = [one["name"] for one in found if not one["name"].endswith(": right")]
    assert len(names) == len(set(names)) >= 2000


def test_what_is_wrong_is_refused_in_a_sentence(found):
    wrong = [one for one in found if not one["name"].endswith(": right") and one["name"] not in TAKEN]
    odd = [f"{one['name']}: {one['error']}: {one['message']}" for one in wrong if not SENTENCE.fullmatch(one["message"])]
    assert len(odd) <= 0.01 * len(wrong), "\n".join(odd)
    assert [one["name"] for one in wrong if one["error"] is None] == []
