from dataclasses import replace

import pytest
import torch

from craik.experiments.worlds import forward_models
from craik.experiments.worlds.forward_models.models import scene
from craik.experiments.worlds.forward_models.run import area, make, windows
from craik.tasks.agents.stag_hunt import Hunt, hunts
from tiny import check_measured_and_drawn, rows_of

EXPERIMENT = forward_models.EXPERIMENT
SMALL = {
    "episodes": 3,
    "steps": 2,
    "batch": 2,
    "window": 3,
    "hidden": 4,
    "teams": 2,
    "team_episodes": 2,
    "team_steps": 1,
    "test": 2,
}


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, **SMALL)


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    check_measured_and_drawn(EXPERIMENT, rows)
    config = EXPERIMENT.presets["quick"].config
    assert all(0 <= EXPERIMENT.progress(config, row)[0] <= 1 for row in rows)


def test_no_model_sees_what_it_predicts():
    hunt = Hunt(agents=3, targets=2, steps=4)
    play = hunts(0, 2, hunt)
    other = play._replace(actions=torch.cat([play.actions[:, :-1], (play.actions[:, -1:] + 1) % 5], 1))
    assert torch.equal(scene(play, 12).nodes, scene(other, 12).nodes)
    config = replace(EXPERIMENT.presets["quick"].config, **SMALL)
    for name in forward_models.run.MODELS:
        model = make(name, config, hunt)
        assert torch.equal(model(play, 12).logits, model(other, 12).logits)


def test_who_is_alone_sees_no_other():
    hunt = Hunt(agents=3, targets=2, steps=2)
    play = hunts(0, 2, hunt)
    places = play.places.clone()
    places[:, :, 1] = 0
    config = replace(EXPERIMENT.presets["quick"].config, **SMALL)
    for name, sees in (("each alone", False), ("relational", True)):
        model = make(name, config, hunt)
        same = torch.equal(model(play, 12).logits[:, :, 0], model(play._replace(places=places), 12).logits[:, :, 0])
        assert same != sees


def test_windows_and_areas():
    play = hunts(0, 4, Hunt(steps=6))
    some = windows(play, torch.tensor([2, 0]), 3, torch.Generator().manual_seed(0))
    assert some.actions.shape == (2, 3, 4)
    assert area(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([False, False, True, True])) == 0.75
    assert area(torch.tensor([1.0, 1.0]), torch.tensor([False, True])) == 0.5
