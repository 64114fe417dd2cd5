from dataclasses import replace

import pytest

from craik.experiments.spirals import training
from craik.experiments.spirals.environments import EXPERIMENT
from craik.experiments.spirals.environments import run as environments
from craik.lab import Rows, judge

TINY = replace(EXPERIMENT.presets["quick"].config, mean_counts=(2, 8), mask_counts=(2, 4), examples=64, per_step=16, epochs=2)


@pytest.fixture(scope="module")
def rows():
    patch = pytest.MonkeyPatch()
    patch.setitem(training.TRAININGS, "quick", replace(training.TRAININGS["quick"], hidden=8, layers=1, shortcut_dims=2))
    yield Rows({"seed": seed, **row} for seed in (0, 1) for row in environments.run(replace(TINY, seed=seed)))
    patch.undo()


@pytest.mark.parametrize("preset", EXPERIMENT.presets)
def test_every_trial_sees_as_much_data_in_as_many_steps(preset):
    config = EXPERIMENT.presets[preset].config
    trials = [environments.training_of(config, count) for count in (*config.mean_counts, *config.mask_counts)]
    assert {trial.environments * trial.examples for trial in trials} == {config.examples}
    assert {trial.environments * trial.batch for trial in trials} == {config.per_step}
    assert len({training.steps_of(trial) for trial in trials}) == 1


def test_rows(rows):
    found = [(row["method"], row["environments"], row["steps"]) for row in rows if row["seed"] == 1]
    assert found == [("mean", 2, 8), ("mean", 8, 8), ("and-mask", 2, 8), ("and-mask", 4, 8)]
    assert list(EXPERIMENT.figures(rows)) == ["environments"]
    assert environments.progress(TINY, rows[-1])[0] == 1


@pytest.mark.parametrize(("accuracies", "verdict"), [((0.5, 0.95), "holds so far"), ((0.5, 0.6), "does not hold so far")])
def test_the_best_run_counts(accuracies, verdict):
    rows = [
        {"seed": seed, "method": "mean", "environments": 1024, "test_accuracy": value} for seed, value in enumerate(accuracies)
    ]
    assert judge(EXPERIMENT.claims[0], rows, "quick").verdict == verdict
    assert judge(EXPERIMENT.claims[2], rows, "quick").verdict == "not measurable here"


@pytest.mark.parametrize("changes", [{"mean_counts": (1,)}, {"mask_counts": (17,)}, {"per_step": 128}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        replace(TINY, **changes)


def test_the_board_is_a_preset_of_spirals():
    with pytest.raises(TypeError, match="board"):
        replace(TINY, board="huge")
