"""Cloning by rules over levels: equal budgets and batches, selection on held-out levels."""

from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.agreement.cloning import EXPERIMENT, claims
from mechlearn_zoo.experiments.agreement.cloning.run import METHODS, draw, run, shuffled, train
from mechlearn_zoo.tasks.pictures.textured_grid.recording import record

TINY = replace(
    EXPERIMENT.presets["quick"].config, levels=4, states=4, held_out=5, test=5, together=3, batch=2, steps=8, trials=1
)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(TINY, seed=seed)))


def test_every_method_takes_the_same_steps_at_the_same_settings(rows):
    looks = rows.where(kind="look", seed=1000)
    assert len(looks) == 8 * len(TINY.methods)
    assert {(row["learning_rate"], row["weight_decay"], row["trial"]) for row in looks} == {
        (looks[0]["learning_rate"], looks[0]["weight_decay"], 0)
    }
    assert set(rows.where(kind="look", method="averaging")["kept"]) == {1.0}
    assert all(0 <= share < 1 for share in rows.where(kind="look", method="AND-mask")["kept"])


def test_held_out_levels_select():
    of = {"averaging": ((0.5, 0.8), (0.4, 1.0)), "AND-mask": ((0.3, 0.9), (0.6, 0.1))}
    looks = [
        {"kind": "look", "seed": 1, "method": method, "held_out": held_out, "test": test}
        for method, values in of.items()
        for held_out, test in values
    ]
    found = claims.saved(("AND-mask",))(Rows(looks))
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert claims.saved(("AND-mask",))(Rows()) is None


def test_claims_are_judged_and_drawn(rows):
    unread = [claim.id for claim in EXPERIMENT.claims if judge(claim, rows, "quick").verdict == "not measurable here"]
    assert unread == ["cloning-conflict.again", "cloning-conflict.not-decay"]
    assert list(EXPERIMENT.figures(rows)) == ["divergence"]


@pytest.mark.parametrize(("name", "value"), [("together", 5), ("batch", 5)])
def test_a_step_draws_without_repetition(name, value):
    with pytest.raises(ValueError, match=f"{name} should be at most .* Found 5. Take fewer"):
        replace(TINY, **{name: value})


def test_a_placebo_masks_as_much_as_the_rule_and_elsewhere():
    mask = torch.arange(12).view(3, 4) < 5
    found = shuffled(mask, torch.Generator().manual_seed(0))
    assert (int(found.sum()), found.shape) == (5, mask.shape)
    assert not torch.equal(found, mask)
    config = replace(TINY, methods=("Gail-Simon", "placebo"), seed=1000)
    data = record(1000, None, config.levels, config.states, config.held_out, config.test)
    ends = [next(iter(train(config, data, METHODS[name], draw(1000, 0)))) for name in config.methods]
    assert ends[0][2] == ends[1][2] < 1  # after one step as much is kept
    assert [row["method"] for row in run(replace(config, methods=("placebo",))) if row["kind"] == "look"] == ["placebo"] * 8
