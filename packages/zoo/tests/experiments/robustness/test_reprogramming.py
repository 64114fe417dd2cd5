"""Programs, at sizes of seconds."""

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.robustness import reprogramming
from mechlearn_zoo.experiments.robustness.reprogramming.run import Config, squares, tasks

CONFIG = Config(letters=64, host_steps=2, steps=2, batch=8)


@pytest.fixture(scope="module")
def rows():
    return [{**row, "seed": 100} for row in reprogramming.run.run(CONFIG)]


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    for claim in reprogramming.EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None, claim.id
    assert reprogramming.EXPERIMENT.figures(Rows(rows))
    assert all({"stopped_at", "stopped_accuracy"} <= row.keys() for row in rows)
    before = [{key: value for key, value in row.items() if not key.startswith("stopped_")} for row in rows]
    for claim in reprogramming.EXPERIMENT.claims:  # of a record before there were looks
        assert (judge(claim, before, "quick").measured is None) == ("trained-over" in claim.id)


def test_looks_change_nothing_of_a_program(rows, monkeypatch):
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    alone = list(reprogramming.run.run(CONFIG))
    assert [{key: row[key] for key in other} for row, other in zip(rows, alone, strict=True)] == alone


def test_digits_to_stop_on_are_others():
    read = tasks(0)["digits"]
    sizes = [len(part.y) for part in read]
    assert sizes == [1000, 700, 96]
    assert len(torch.cat([part.x for part in read]).flatten(1).unique(dim=0)) == sum(sizes)


def test_every_host_state_and_task_is_there(rows):
    found = Rows(rows)
    assert len(found.where(kind="host")) == 3 * 3 * 2
    assert max(found.where(kind="host", host="linear")["shift"]) < 1e-4
    assert min(found.where(kind="host", host="mlp")["shift"]) > 1e-3


def test_squares_are_counted():
    found = squares(0, 50)
    assert found.x.shape == (50, 1, 8, 8)
    assert torch.equal(found.x.sum((1, 2, 3)) / 4 - 1, found.y.float())
