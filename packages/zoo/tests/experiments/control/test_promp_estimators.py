from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.promp_corners import EXPERIMENT as HOST
from mechlearn_zoo.experiments.control.promp_corners import estimators

EXPERIMENT = HOST.at("estimators")
SMALL = replace(EXPERIMENT.presets["estimators"].config, mdps=2, horizons=(2, 3))


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in estimators.run(replace(SMALL, seed=seed)))


def test_all_claims_hold(rows):
    assert {judge(claim, rows, "estimators").verdict for claim in EXPERIMENT.claims} == {"holds so far"}


def test_trajectories_are_all_there_are():
    world = estimators.draw(SMALL, torch.Generator().manual_seed(0))
    trajectories = estimators.listed(world, 3)
    assert trajectories.states.shape == (64, 3)
    assert float(trajectories.probability.sum()) == pytest.approx(1)
    paid = world.reward[trajectories.states, trajectories.actions].sum(1)
    assert float((trajectories.probability * paid).sum()) == pytest.approx(float(estimators.returns(world.theta, world, 3)))


def test_a_single_step_leaves_nothing_to_miss():
    """With one step there are no later returns: the low-variance curvature is exact, log pi still is not."""
    world = estimators.draw(SMALL, torch.Generator().manual_seed(0))
    found = {row["kind"]: row["error"] for row in estimators.measured(world, 1, 0.1)}
    assert found["lr"] < 1e-13
    assert found["dice"] < 1e-13
    assert found["log"] > 0.1


def test_rows_repeat_and_draw(rows):
    tiny = replace(SMALL, mdps=1, horizons=(2,))
    assert list(estimators.run(tiny)) == list(estimators.run(tiny)) != list(estimators.run(replace(tiny, seed=1)))
    assert list(EXPERIMENT.figures(rows)) == ["estimators"]
    assert EXPERIMENT.progress(SMALL, rows[-1])[0] == 1
