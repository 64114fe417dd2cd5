from dataclasses import replace

import pytest
import torch

from craik.experiments import coloured_digits as experiment
from craik.harness.claims import judge
from craik.tasks.coloured_digits import coloured_digits

TINY = replace(experiment.PRESETS["quick"], trials=2, steps=3, hidden=8)


@pytest.fixture(scope="module")
def rows():
    return [{"seed": seed, **row} for seed in (0, 1) for row in experiment.run(replace(TINY, seed=seed, trials=1))]


def test_every_method_has_the_same_budget_and_the_same_draws(rows):
    assert [row["method"] for row in rows if row["seed"] == 0] == list(experiment.METHODS)
    assert len({row["learning_rate"] for row in rows if row["seed"] == 0}) == 1
    assert experiment.draw(0, 0) != experiment.draw(0, 1)


def test_methods_differ_from_plain_training_and_from_each_other():
    """With two environments every method takes another step; with one, all but DANN's network take the same."""
    # A flat SAND-mask: a steep one weighs agreeing gradients by 1, as the AND-mask does.
    data, trial = coloured_digits(0), replace(experiment.draw(0, 0), annealing=0.0)
    single = experiment.of(data.train, data.train.environments == 0)

    def weights(method, split):
        strength = 1e-6 if method == "sand-mask" else 100.0
        model = experiment.train(method, split, replace(trial, strength=strength), TINY)
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    methods = [method for method in experiment.METHODS if method != "dann"]
    both = {method: weights(method, data.train) for method in methods}
    assert all(not torch.equal(both[a], both[b]) for a in methods for b in methods if a < b)
    alone = [weights(method, single) for method in methods]
    assert all(torch.equal(found, alone[0]) for found in alone)


def test_leaving_one_out_is_done_once_for_methods_that_train_alike(rows):
    data, trial, config = coloured_digits(0), experiment.draw(0, 0), replace(TINY, seed=0, trials=1)
    for row in rows[: len(experiment.METHODS)]:
        assert row["leave-one-out"] == experiment.leave_one_out(row["method"], data, trial, config)


def test_selection_looks_at_its_own_column():
    rows = [
        {"seed": 0, "method": "erm", "training-domain": a, "leave-one-out": b, "oracle": c, "test_accuracy": test}
        for a, b, c, test in ((0.9, 0.1, 0.2, 0.3), (0.1, 0.9, 0.1, 0.4), (0.2, 0.2, 0.9, 0.5))
    ]
    assert [experiment.selected(rows, "erm", rule) for rule in experiment.SELECTIONS] == [[0.3], [0.4], [0.5]]


def test_claims_figure_and_progress(rows):
    assert all(judge(claim, rows, "quick").verdict != "not measured" for claim in experiment.CLAIMS)
    assert list(experiment.figures(rows)) == ["methods"]
    assert experiment.progress(replace(TINY, trials=1), rows[-1])[0] == 1


def test_rows_repeat(rows):
    again = next(experiment.run(replace(TINY, seed=1, trials=1)))
    assert {"seed": 1, **again} == next(row for row in rows if row["seed"] == 1)


@pytest.mark.parametrize("changes", [{"agreement": (0.9,)}, {"trials": 0}, {"steps": 0}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        replace(TINY, **changes)
