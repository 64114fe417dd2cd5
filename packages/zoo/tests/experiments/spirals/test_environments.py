from dataclasses import replace

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.spirals.environments import EXPERIMENT
from mechlearn_zoo.experiments.spirals.environments import run as environments
from mechlearn_zoo.learners.spirals import training

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
    assert all(row["stopped_validation_accuracy"] >= row["validation_accuracy"] for row in rows)
    assert all(0 < row["stopped_at"] <= 1 and 0 <= row["stopped_test_accuracy"] <= 1 for row in rows)
    assert list(EXPERIMENT.figures(rows)) == ["environments"]
    assert environments.progress(TINY, rows[-1])[0] == 1


def made_up(method, stopped=None, **accuracies):
    """Rows of two seeds, the second of which fails everywhere; a training that is stopped has its end's accuracy or its own."""
    return [
        {
            "seed": seed,
            "method": method,
            "environments": int(name[1:]),
            "test_accuracy": value if seed == 0 else 0.5,
            "stopped_test_accuracy": (stopped or {}).get(name, value) if seed == 0 else 0.5,
        }
        for seed in (0, 1)
        for name, value in accuracies.items()
    ]


def judged(rows):
    return {claim.id.split(".")[1]: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}


@pytest.mark.parametrize(
    ("accuracies", "verdict"),
    [
        ({"n512": 0.6, "n1024": 0.95}, "holds so far"),
        ({"n512": 0.95, "n1024": 0.95, "n256": 0.6}, "does not hold so far"),
        ({"n512": 0.6, "n1024": 0.6}, "does not hold so far"),
        ({"n256": 0.6, "n1024": 0.95}, "not measurable here"),  # 512 was not run
    ],
)
def test_averaging_first_succeeds_at_the_printed_number(accuracies, verdict):
    found = judged(made_up("mean", **accuracies))["mean-1024"]
    assert found.verdict == verdict


@pytest.mark.parametrize(("masked", "verdict", "times"), [(0.95, "holds so far", 64), (0.6, "does not hold so far", 0)])
def test_the_mask_needs_a_tenth_at_most(masked, verdict, times):
    found = judged(made_up("mean", n16=0.5, n1024=0.95) + made_up("and-mask", n8=0.5, n16=masked))["mask-16"]
    assert (found.verdict, found.measured) == (verdict, times)


def test_the_mask_is_no_better_where_averaging_succeeds_as_early():
    found = judged(made_up("mean", n16=0.95) + made_up("and-mask", n16=0.95))["mask-16"]
    assert found.verdict == "does not hold so far"


def test_averaging_that_succeeds_where_it_is_stopped_refutes_what_its_end_says():
    masked = made_up("and-mask", n16=0.95)
    ends = judged(made_up("mean", n256=0.5, n512=0.6, n1024=0.95) + masked)
    assert {one.verdict for one in ends.values()} == {"holds so far"}
    stopped = judged(made_up("mean", {"n256": 0.93, "n512": 0.94}, n128=0.5, n256=0.5, n512=0.6, n1024=0.95) + masked)
    assert (stopped["mean-1024"].measured, stopped["mean-512"].measured, stopped["mean-256"].measured) == (256, 0.94, 0.93)
    assert stopped["mask-16"].parts[1].measured == 16
    assert {stopped[name].verdict for name in ("mean-1024", "mean-512", "mean-256")} == {"does not hold so far"}
    assert {name: one.parts[0].measured for name, one in stopped.items()} == {name: one.measured for name, one in ends.items()}


def test_rows_without_looks_are_not_judged():
    rows = made_up("mean", n512=0.6, n1024=0.95) + made_up("and-mask", n16=0.95)
    before = judged([{key: value for key, value in row.items() if key != "stopped_test_accuracy"} for row in rows])
    assert {before[name].verdict for name in ("mean-1024", "mean-512", "mask-16")} == {"not measurable here"}


def test_the_board_is_a_preset_of_spirals():
    with pytest.raises(TypeError, match="board"):
        replace(TINY, board="huge")
