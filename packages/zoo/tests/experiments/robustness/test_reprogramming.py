"""Programs, at sizes of seconds."""

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.robustness import reprogramming
from mechlearn_zoo.experiments.robustness.reprogramming import residual
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


@pytest.fixture(scope="module")
def residual_rows():
    small = residual.Config(seed=100, letters=64, host_steps=2, steps=2, batch=8)
    return [{**row, "seed": 100} for row in residual.run(small)]


def test_residual_hosts_can_be_judged_and_drawn(residual_rows):
    (part,) = reprogramming.EXPERIMENT.parts
    for claim in part.claims:
        assert judge(claim, residual_rows, "residual").measured is not None, claim.id
    assert part.figures(Rows(residual_rows))
    assert [row["state"] for row in residual_rows] == list(residual.STATES)


def test_a_picture_of_a_row_is_what_the_host_was_shown(residual_rows):
    shown = residual.pixels(residual_rows[0]["shown"])
    assert shown.shape == (24, 24, 3)
    test = residual.digits(100)[1]
    middle = 2 * shown[6:18, 6:18].permute(2, 0, 1) - 1
    torch.testing.assert_close(middle, test.x[0].expand(3, 12, 12), atol=1 / 9 + 1e-6, rtol=0)
    assert residual_rows[0]["digit"] == int(test.y[0])


def test_an_untrained_host_is_as_pytorch_leaves_it_and_the_rescaled_one_has_the_trained_one_s_spread():
    config = residual.Config(seed=100, letters=64, host_steps=2, steps=2, batch=8)
    letters = residual.coloured(0, 100)
    found = residual.hosts(config, letters)
    blank = [one for one in found["untrained"].modules() if isinstance(one, torch.nn.BatchNorm2d)]
    assert all(not one.running_mean.any() and bool((one.running_var == 1).all()) for one in blank)
    spreads = [residual.logits_spread(found[name], letters) for name in ("trained", "rescaled")]
    assert spreads[0] == pytest.approx(spreads[1], rel=1e-4)
    pairs = zip(found["untrained"].parameters(), found["rescaled"].parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not any(one.training for host in found.values() for one in host.modules() if one is not found["rescaled"])


def test_letters_have_a_colour_that_differs_from_their_ground():
    found = residual.coloured(3, 50)
    assert found.x.shape == (50, 3, 24, 24)
    assert float(found.x.abs().max()) <= 1
    assert float((found.x.amax((2, 3)) - found.x.amin((2, 3))).sum(1).min()) > 0.8
