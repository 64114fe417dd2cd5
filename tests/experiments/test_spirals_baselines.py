from dataclasses import replace

import pytest
import torch

from craik.experiments import spirals_baselines as experiment
from craik.harness.claims import judge

TINY = replace(experiment.PRESETS["quick"], environments=3, examples=16, shortcut_dims=2, epochs=2, units=(8,), layers=(1,))


@pytest.fixture(scope="module")
def rows():
    return [{"seed": seed, **row} for seed in (0, 1) for row in experiment.run(replace(TINY, seed=seed))]


def test_draws_stay_in_the_printed_ranges():
    paper = experiment.PRESETS["paper"]
    for method in experiment.METHODS:
        trials = [experiment.draw(method, replace(paper, seed=seed)) for seed in range(60)]
        rates = {1e-3, 1e-2, 1e-1} | ({1.0} if method == "irm" else set())
        assert {trial.learning_rate for trial in trials} == rates
        assert {trial.batch for trial in trials} == {64, 128, 256}
        assert {trial.hidden for trial in trials} == {256, 512}
        assert {trial.layers for trial in trials} == ({2} if method == "dann" else {3, 5})
        on = {
            "dropout": {trial.dropout for trial in trials} == {0.5},
            "l1": {trial.l1 for trial in trials} == set(experiment.L1),
            "l2": {trial.l2 for trial in trials} == set(experiment.L2),
            "irm": {trial.penalty for trial in trials} == set(experiment.PENALTIES),
            "batch-norm": all(trial.batch_norm for trial in trials),
            "dann": False,
        }
        assert {name for name, is_on in on.items() if is_on} == {method} - {"dann"}


def test_one_row_a_method_and_the_global_generator_is_left_alone(rows):
    assert [row["method"] for row in rows if row["seed"] == 0] == list(experiment.METHODS)
    state = torch.get_rng_state()
    again = [{"seed": 1, **row} for row in experiment.run(replace(TINY, seed=1))]
    assert torch.equal(state, torch.get_rng_state())
    assert again == [row for row in rows if row["seed"] == 1]


def test_selection_is_by_held_out_environments(rows):
    crowned = [{**row, "validation_accuracy": 0.9, "test_accuracy": 0.42} if row["seed"] == 1 else row for row in rows]
    judged = {claim.id: judge(claim, crowned, "quick") for claim in experiment.CLAIMS}
    finished = [row for row in crowned if row["outcome"] == "finished" and row["seed"] == 1]
    assert finished
    for row in finished:
        assert judged[f"spirals-baselines.{row['method']}"].measured == 0.42
    assert list(experiment.figures(rows)) == ["baselines"]
    assert experiment.progress(TINY, rows[-1])[0] == 1


def test_a_trial_that_diverges_is_recorded_and_never_selected(monkeypatch):
    wild = experiment.Trial("sgd", 1e30, 8, 8, 1)
    monkeypatch.setattr(experiment, "draw", lambda method, config: wild)
    rows = [{"seed": 0, **row} for row in experiment.run(TINY)]
    assert all(str(row["outcome"]).startswith("diverged") for row in rows)
    assert judge(experiment.CLAIMS[0], rows, "quick").verdict == "not measured"


@pytest.mark.parametrize("changes", [{"environments": 1}, {"epochs": 0}, {"units": ()}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        replace(TINY, **changes)
