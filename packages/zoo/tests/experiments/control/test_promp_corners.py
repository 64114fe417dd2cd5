from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.promp_corners import EXPERIMENT
from mechlearn_zoo.experiments.control.promp_corners import run as corners
from mechlearn_zoo.experiments.control.promp_corners.corners import Corners
from mechlearn_zoo.experiments.control.promp_corners.measures import less
from mechlearn_zoo.methods.control import collect

TINY = replace(EXPERIMENT.presets["quick"].config, tasks=2, trajectories=3, horizon=4, iterations=2, meta_steps=2)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in corners.run(replace(TINY, seed=seed)))


def test_claims_are_measured(rows):
    verdicts = {judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts <= {"holds so far", "does not hold so far"}


def test_advantages_belong_to_their_task():
    """What one task is paid changes no other task's advantages, and each has mean 0 and deviation 1."""
    config, goals = TINY, torch.arange(2).repeat_interleave(3)
    world, generator = Corners(goals, torch.Generator(), 4, quiet=0.0), torch.Generator().manual_seed(0)
    learner = corners.Learner(config, corners.METHODS["promp"], generator)
    shared = {name: value.expand(2, *value.shape) for name, value in learner.params.items()}
    rollout = collect(world, lambda x, g: learner.act(shared, x, g), 4, generator)
    richer = replace(rollout, rewards=torch.cat((rollout.rewards[:, :3], 50 * rollout.rewards[:, 3:]), 1))
    one, other = corners.batches(rollout, config), corners.batches(richer, config)
    assert torch.equal(one.advantages[0], other.advantages[0])
    torch.testing.assert_close(one.advantages[1], other.advantages[1], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(one.advantages.mean((1, 2)), torch.zeros(2), rtol=0, atol=1e-5)
    log_pi = learner.log_probability(learner.params, one.observations, one.actions)
    torch.testing.assert_close(log_pi, one.log_old)


def test_the_inner_step_helps_where_its_trajectories_were():
    """After a step the surrogate of the same trajectories is larger than before it, in every task."""
    learner = corners.Learner(TINY, corners.METHODS["promp"], torch.Generator().manual_seed(0))
    goals = torch.arange(2).repeat_interleave(3)
    shared = {name: value.expand(2, *value.shape) for name, value in learner.params.items()}
    generator = torch.Generator().manual_seed(1)
    rollout = collect(Corners(goals, torch.Generator(), 4), lambda x, g: learner.act(shared, x, g), 4, generator)
    batch = corners.batches(replace(rollout, rewards=torch.randn(4, 6, generator=generator)), TINY)
    own = learner.adapted(batch)
    for k in range(2):
        mine = {name: value[k] for name, value in own.items()}
        log_pi = learner.log_probability(mine, batch.observations[k], batch.actions[k])
        gain = ((log_pi - batch.log_old[k]).exp() * batch.advantages[k]).sum(0).mean() - batch.advantages[k].sum(0).mean()
        assert gain > 0


def test_rows_repeat_and_draw(rows):
    short = replace(TINY, iterations=1)
    assert list(corners.run(short)) == list(corners.run(short)) != list(corners.run(replace(short, seed=1)))
    assert list(EXPERIMENT.figures(rows)) == ["curves", "paths"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1


def test_the_paper_preset_runs_bodies():
    paper = replace(EXPERIMENT.presets["paper"].config, tasks=2, trajectories=2, horizon=3, iterations=1, meta_steps=1)
    found = list(corners.run(paper))
    assert [row["method"] for row in found] == ["promp", "maml"]
    assert all(abs(row["before"]) > 1e-4 for row in found)


def test_a_difference_over_all_reports_is_not_that_of_the_last_ones():
    numbers = {"promp": [0.0, 0.0, 0.0, 0.6, 0.6, 0.6], "maml": [0.8, 0.8, 0.8, 0.3, 0.3, 0.3]}
    made = Rows({"seed": 0, "kind": "curve", "method": name, "visited": one} for name, all_ in numbers.items() for one in all_)
    assert less("visited")(made).value == pytest.approx(0.3)
    assert less("visited", 0)(made).value == pytest.approx(-0.25)
