from dataclasses import replace

import pytest
import torch

from craik.experiments.worlds import particle_language
from craik.experiments.worlds.particle_language.agents import Policy, views
from craik.experiments.worlds.particle_language.run import play
from craik.lab import Rows, judge
from craik.tasks.agents.particle_world import begin

EXPERIMENT = particle_language.EXPERIMENT
CONFIG = replace(EXPERIMENT.presets["quick"].config, steps=3, batch=4, test=16, time=3)


@pytest.fixture(scope="module")
def rows():
    return [{**row, "seed": 0} for row in EXPERIMENT.run(CONFIG)]


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    verdicts = {claim.id: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}
    assert all(found.measured is not None for found in verdicts.values())
    assert verdicts["particle-language.grounded"].verdict == "does not hold so far"  # untrained
    assert EXPERIMENT.figures(Rows(rows))
    assert all(0 <= EXPERIMENT.progress(CONFIG, row)[0] <= 1 for row in rows)


def test_gradients_go_through_world_and_symbols():
    policy = Policy(3, 8, torch.Generator().manual_seed(0))
    found = play(CONFIG, policy, 8, torch.Generator().manual_seed(1), "symbols")
    (found.path.mean() + found.auxiliary).backward()
    assert all(parameter.grad is not None and bool(parameter.grad.any()) for parameter in policy.parameters())
    policy.zero_grad()
    play(CONFIG, policy, 8, torch.Generator().manual_seed(1), "none").path.mean().backward()
    assert not policy.hear.weight.grad.any()  # nothing is heard


def test_views():
    world = begin(2, 2, 3, torch.Generator().manual_seed(0))
    goals = torch.tensor([[0, 2], [1, 1]])
    marks, goal = views(world, goals)
    assert marks.shape == (2, 2, 3, 5)
    way = world.landmarks[0, 2] - world.places[0, 1]
    torch.testing.assert_close(goal[0, 1], world.frames[0, 1] @ way)
