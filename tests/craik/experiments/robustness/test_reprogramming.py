"""Programs, at sizes of seconds."""

import pytest
import torch

from craik.experiments.robustness import reprogramming
from craik.experiments.robustness.reprogramming.run import Config, squares
from craik.lab import Rows, judge

CONFIG = Config(letters=64, host_steps=2, steps=2, batch=8, hosts=3)


@pytest.fixture(scope="module")
def rows():
    return [{**row, "seed": 100} for row in reprogramming.run.run(CONFIG)]


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    for claim in reprogramming.EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None, claim.id
    assert reprogramming.EXPERIMENT.figures(Rows(rows))


def test_every_host_state_and_task_is_there(rows):
    found = Rows(rows)
    assert len(found.where(kind="host")) == 3 * 3 * 2
    assert len(found.where(kind="shared")) == 3
    assert max(found.where(kind="host", host="linear")["shift"]) < 1e-4
    assert min(found.where(kind="host", host="mlp")["shift"]) > 1e-3


def test_squares_are_counted():
    found = squares(0, 50)
    assert found.x.shape == (50, 1, 8, 8)
    assert torch.equal(found.x.sum((1, 2, 3)) / 4 - 1, found.y.float())
