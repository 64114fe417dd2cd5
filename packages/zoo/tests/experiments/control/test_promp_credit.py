from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.promp_corners import EXPERIMENT as HOST
from mechlearn_zoo.experiments.control.promp_corners import credit
from mechlearn_zoo.experiments.control.promp_corners import run as corners
from mechlearn_zoo.methods.control import Batch, exploration_credit

EXPERIMENT = HOST.at("credit")
TINY = replace(EXPERIMENT.presets["credit"].config, tasks=2, trajectories=3, horizon=4, iterations=2, meta_steps=2)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in credit.run(replace(TINY, seed=seed)))


def test_claims_are_measured(rows):
    verdicts = {judge(claim, rows, "credit").verdict for claim in EXPERIMENT.claims}
    assert verdicts <= {"holds so far", "does not hold so far"}
    assert list(EXPERIMENT.figures(rows)) == ["credit"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1


def test_formulation_one_is_promp(rows):
    ours, theirs = (row for row in rows if row["seed"] == 0 and row["method"] == "one"), corners.run(replace(TINY, seed=0))
    same = [{**row, "seed": 0, "method": "one"} for row in theirs if row["method"] == "promp"]
    assert same == list(ours)


def test_credit_is_the_score_of_all_trajectories_times_what_the_task_paid():
    """One step from the policy that acted: the gradients with and without credit differ by the literal score."""
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(2, 4, 3, *shape, generator=generator)  # noqa: E731
    learner = corners.Learner(replace(TINY, meta_steps=1), corners.Method("log", credit=0.5), generator)
    observations, actions = draw(2), draw(2)
    before = Batch(observations, actions, learner.log_probability(learner.params, observations, actions), draw())
    after = before._replace(advantages=draw())
    found = []
    for weight in (0.5, 0.0):
        learner.credit = weight
        learner.step(torch.optim.SGD(learner.model.parameters(), 0.0), before, after, torch.tensor([1.0, 4.0]))
        found.append([value.grad.clone() for value in learner.model.parameters()])
    log_pi = learner.log_probability(dict(learner.model.named_parameters()), observations, actions)
    score = 0.5 * (log_pi.sum((1, 2)) * torch.tensor([-1.0, 1.0])).mean()
    for with_, without, wanted in zip(*found, torch.autograd.grad(score, list(learner.model.parameters())), strict=True):
        torch.testing.assert_close(without - with_, wanted, rtol=1e-4, atol=1e-4)
    assert float(exploration_credit(before.log_old[0], before.log_old[0], torch.tensor(2.0))) == 6
