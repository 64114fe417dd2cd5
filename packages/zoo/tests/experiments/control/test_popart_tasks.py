from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.popart_tasks import EXPERIMENT
from mechlearn_zoo.experiments.control.popart_tasks import run as tasks
from mechlearn_zoo.learners.actor_critic import ActorCritic
from mechlearn_zoo.methods.control import collect

TINY = replace(EXPERIMENT.presets["quick"].config, updates=3, envs=2)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in tasks.run(replace(TINY, seed=seed)))


def test_claims_are_measured_and_an_untrained_model_bears_out_the_exact_one_alone(rows):
    verdicts = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts.pop("popart-tasks.preserved") == "holds so far"
    assert verdicts["popart-tasks.worst"] == verdicts["popart-tasks.clipping"] == "does not hold so far"
    assert "not measurable here" not in verdicts.values()


def test_the_other_method_is_read_where_it_is_best():
    curves = {"popart": (0.9, 0.9, 0.9, 0.8, 0.7), "none": (0.1, 0.5, 0.6, 0.4, 0.2)}
    found = Rows(
        {"seed": 0, "method": method, **{f"task_{task}": score - task / 100 for task in range(8)}}
        for method, curve in curves.items()
        for score in curve
    )
    claim = next(claim for claim in EXPERIMENT.claims if claim.id.endswith(".worst"))
    judged = judge(claim, found, "quick")
    assert [part.measured for part in judged.parts] == pytest.approx([0.8 - 0.4, 0.8 - 0.5])


def test_losses_of_tasks_weigh_the_same_with_popart_alone():
    config, generator, sizes = replace(TINY, envs=8), torch.Generator().manual_seed(0), {}
    envs, ids = tasks.catch(config), torch.arange(8).repeat_interleave(8)
    for name in ("none", "popart"):
        model = ActorCritic(envs.observation_shape, 3, 8, 16, generator)
        for _ in range(40):
            learned = tasks.learn(model, collect(envs, model.act, 9, generator), ids, tasks.METHODS[name], 0.2)
        by_task = learned.losses.detach().view(9, 8, 8).abs().mean((0, 2))
        sizes[name] = float(by_task.max() / by_task.min())
    assert sizes["none"] > 1e4
    assert sizes["popart"] < 100


def test_rows_repeat_and_draw(rows):
    short = replace(TINY, updates=1)
    assert list(tasks.run(short)) == list(tasks.run(short)) != list(tasks.run(replace(short, seed=1)))
    assert list(EXPERIMENT.figures(rows)) == ["tasks", "curves"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1


@pytest.mark.extra("paper", "ale_py")
def test_the_paper_preset_learns_from_games(monkeypatch):
    monkeypatch.setattr(tasks, "METHODS", {"popart": tasks.METHODS["popart"]})
    paper = replace(EXPERIMENT.presets["paper"].config, updates=2, envs=1, steps=3)
    assert [row["frames"] for row in tasks.run(paper)] == [24, 48]
