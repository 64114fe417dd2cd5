from dataclasses import asdict, replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn.agreement import AndMask
from mechlearn_zoo.experiments.spirals.baselines import EXPERIMENT, ranges
from mechlearn_zoo.experiments.spirals.baselines import run as baselines
from mechlearn_zoo.learners.spirals import training

TINY = replace(
    EXPERIMENT.presets["quick"].config, environments=3, examples=16, shortcut_dims=2, epochs=2, units=(8,), layers=(1,)
)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in baselines.run(replace(TINY, seed=seed)))


def test_draws_stay_in_the_printed_ranges():
    paper = EXPERIMENT.presets["paper"].config
    for method in baselines.METHODS:
        trials = [baselines.draw(method, replace(paper, seed=seed)) for seed in range(60)]
        rates = {1e-3, 1e-2, 1e-1} | ({1.0} if method == "irm" else set())
        assert {trial.learning_rate for trial in trials} == rates
        assert {trial.batch for trial in trials} == {64, 128, 256}
        assert {trial.hidden for trial in trials} == {256, 512}
        assert {trial.layers for trial in trials} == ({2} if method == "dann" else {3, 5})
        on = {
            "dropout": {trial.dropout for trial in trials} == {0.5},
            "l1": {trial.l1 for trial in trials} == set(baselines.L1),
            "l2": {trial.l2 for trial in trials} == set(baselines.L2),
            "irm": {trial.penalty for trial in trials} == set(baselines.PENALTIES),
            "batch-norm": all(trial.batch_norm for trial in trials),
            "dann": False,
        }
        # The AND-mask with L2, as the texts found it most robust and as in `spirals`.
        expected = {"l2"} if method == "and-mask" else {method} - {"dann"}
        assert {name for name, is_on in on.items() if is_on} == expected


def test_the_board_and_the_learning_rates_drops_are_those_of_spirals():
    """There the AND-mask succeeds; on a weaker board every method fails and the claims say nothing."""
    for preset in ("quick", "paper"):
        ours, theirs = EXPERIMENT.presets[preset].config, training.TRAININGS[preset]
        for name in ("environments", "examples", "shortcut_dims", "shortcut_scale", "drops"):
            assert getattr(ours, name) == getattr(theirs, name)


def test_the_and_mask_is_trained_as_in_spirals(rows):
    config = replace(TINY, seed=1)
    trial = baselines.draw("and-mask", config)
    settings = replace(
        training.TRAININGS["quick"],
        **{name: getattr(config, name) for name in ("seed", "environments", "examples", "shortcut_dims", "epochs")},
        **{name: getattr(trial, name) for name in ("batch", "hidden", "layers", "optimizer", "learning_rate", "l2")},
    )
    data = training.make_data(replace(settings, seed=config.data_seed))
    model = training.make_model(settings)
    *_, last = training.train(settings, model, AndMask(1.0, rescale=True), data.train, every=config.examples // trial.batch)
    (row,) = (row for row in rows if row["seed"] == 1 and row["method"] == "and-mask")
    assert (row["train_loss"], row["train_accuracy"]) == (last.train_loss, last.train_accuracy)
    assert row["test_accuracy"] == training.accuracy(model, data.test)


def test_one_row_a_method_and_the_global_generator_is_left_alone(rows):
    assert [row["method"] for row in rows if row["seed"] == 0] == list(baselines.METHODS)
    state = torch.get_rng_state()
    again = [{"seed": 1, **row} for row in baselines.run(replace(TINY, seed=1))]
    assert torch.equal(state, torch.get_rng_state())
    assert again == [row for row in rows if row["seed"] == 1]


def test_selection_is_by_held_out_environments(rows):
    fit = [{**row, "train_accuracy": 1.0} for row in rows]
    best = {"validation_accuracy": 0.9, "test_accuracy": 0.42, "stopped_validation_accuracy": 0.9}
    crowned = [{**row, **best, "stopped_test_accuracy": 0.41} if row["seed"] == 1 else row for row in fit]
    judged = {claim.id: judge(claim, crowned, "quick") for claim in EXPERIMENT.claims}
    finished = [row for row in crowned if row["outcome"] == "finished" and row["seed"] == 1]
    assert finished
    for row in finished:
        assert judged[f"spirals-baselines.{row['method']}"].measured == 0.42
    assert list(EXPERIMENT.figures(rows)) == ["baselines"]
    assert baselines.progress(TINY, rows[-1])[0] == 1


def test_that_a_method_fails_is_asked_where_its_trials_are_stopped_too():
    """Each time of the trial that is best on held-out environments then."""
    accuracies = [(0.6, 0.5, 0.7, 0.55), (0.5, 0.52, 0.8, 0.7)]
    names = ("validation_accuracy", "test_accuracy", "stopped_validation_accuracy", "stopped_test_accuracy")
    rows = [
        {"seed": seed, "method": "l1", "outcome": "finished", "train_accuracy": 1.0, **dict(zip(names, one, strict=True))}
        for seed, one in enumerate(accuracies)
    ]
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == "spirals-baselines.l1"]
    found = judge(claim, rows, "quick")
    assert (found.measured, found.verdict) == (0.7, "does not hold so far")
    assert [one.measured for one in found.parts] == [0.5, 0.7]


def test_in_data_sets_a_seed_has_the_trials_of_quick_on_data_of_its_own(rows):
    quick, preset = (EXPERIMENT.presets[name].config for name in ("quick", "data-sets"))
    assert replace(preset, trials=None, data_seed=quick.data_seed) == quick
    assert preset.trials == EXPERIMENT.presets["quick"].seeds
    assert quick.data_seed < preset.data_seed
    made = list(baselines.run(replace(TINY, trials=2)))
    assert [{"seed": row["trial"], **{key: row[key] for key in row if key != "trial"}} for row in made] == list(rows)
    shares = [baselines.progress(replace(TINY, trials=2), row)[0] for row in made]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_each_seed_adds_a_data_set(monkeypatch):
    monkeypatch.setattr(baselines, "METHODS", ("l2",))
    of = {
        (seed, data): [row["test_accuracy"] for row in baselines.run(replace(TINY, trials=2, seed=seed, data_seed=data))]
        for seed, data in ((0, 7), (1, 6), (1, 7))
    }
    assert of[0, 7] == of[1, 6]
    assert of[0, 7] != of[1, 7]


def trials_of(method, *data_sets):
    """Rows of several data sets: of each trial its accuracy on held-out environments, on test data, and in training."""
    return [
        {"seed": seed, "trial": trial, "method": method, "outcome": "finished"}
        | {"validation_accuracy": held_out, "test_accuracy": test, "train_accuracy": fit}
        | {"stopped_validation_accuracy": held_out, "stopped_test_accuracy": test + 0.01}
        for seed, trials in enumerate(data_sets)
        for trial, (held_out, test, fit) in enumerate(trials)
    ]


def judged(method, rows, preset="data-sets"):
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == f"spirals-baselines.{method}"]
    return judge(claim, rows, preset)


def test_of_several_data_sets_the_median_counts_with_its_whole_interval():
    """Each data set selects its own trial; one on which no trial fits is left out."""
    chosen = [0.4, 0.42, 0.44, 0.46, 0.48, 0.5]
    some = [((0.6, test, 1.0), (0.5, 0.9, 1.0), (0.7, 0.9, 0.9)) for test in chosen]
    found = judged("l1", trials_of("l1", *some, ((0.6, 0.9, 0.9),)))
    assert (found.n, found.verdict) == (6, "holds")
    assert [one.measured for one in found.parts] == pytest.approx([0.45, 0.46])
    assert 0.4 <= found.low < found.measured < found.high <= 0.5
    # Three of six above the bound leave the median below it, and its interval not.
    found = judged("l1", trials_of("l1", *some[:3], *(((0.6, 0.7, 1.0),) for _ in range(3))))
    assert found.measured < 0.6 < found.high
    assert found.verdict == "does not hold"


def test_the_and_mask_is_at_chance_on_a_data_set_that_none_of_its_trials_fits():
    wins, fails = ((0.9, 1.0, 1.0),), ((0.9, 1.0, 0.9),)
    found = judged("and-mask", trials_of("and-mask", *[wins] * 6))
    assert (found.measured, found.low, found.n, found.verdict) == (1, 1, 6, "holds")
    found = judged("and-mask", trials_of("and-mask", *[wins] * 5, fails))
    assert (found.measured, found.low, found.n, found.verdict) == (1, 0.75, 6, "does not hold")


def test_few_data_sets_are_judged_so_far_and_one_as_trials_on_one_are():
    some = trials_of("irm", *[((0.6, 0.5, 1.0),)] * 2)
    assert (judged("irm", some).n, judged("irm", some).verdict) == (2, "holds so far")
    alone = [{key: value for key, value in row.items() if key != "trial"} for row in trials_of("irm", ((0.6, 0.5, 1.0),))]
    alone.append(alone[0] | {"seed": 1, "validation_accuracy": 0.5, "test_accuracy": 0.97, "stopped_test_accuracy": 0.5})
    found = judged("irm", alone, "quick")
    assert (found.measured, found.high, found.n, found.verdict) == (0.5, 0.5, 1, "holds so far")


def test_the_figure_fills_one_trial_of_each_data_set():
    some = Rows(trials_of("l1", *[((0.6, 0.5, 1.0), (0.5, 0.9, 1.0))] * 3))
    axes = EXPERIMENT.figures(some)["baselines"].axes[0]
    filled = [line for line in axes.lines if line.get_marker() == "o" and line.get_markerfacecolor() != "none"]
    assert [len(line.get_xdata()) for line in filled] == [3]


@pytest.mark.parametrize("method", ["batch-norm", "dropout", "dann"])
def test_a_look_changes_nothing(method, rows, monkeypatch):
    monkeypatch.setattr(baselines.EarlyStopping, "due", lambda self, share: False)
    plain = baselines.tried(method, baselines.draw(method, TINY), TINY, baselines.board(TINY))
    assert "stopped_at" not in plain
    (looked,) = rows.where(method=method, seed=0)
    assert looked["outcome"] == "finished"
    assert looked["stopped_validation_accuracy"] >= looked["validation_accuracy"]
    assert {key: looked[key] for key in plain} == plain


def test_a_trial_that_diverges_is_recorded_and_never_selected(monkeypatch):
    wild = baselines.Trial("sgd", 1e30, 8, 8, 1)
    monkeypatch.setattr(baselines, "draw", lambda method, config: wild)
    rows = [{"seed": 0, **row} for row in baselines.run(TINY)]
    assert all(str(row["outcome"]).startswith("diverged") for row in rows)
    assert all(judge(claim, rows, "quick").verdict == "not measurable here" for claim in EXPERIMENT.claims)


def test_rows_without_the_and_mask_still_draw_and_leave_its_claim_open(rows):
    """Runs that were recorded before it was added."""
    some = Rows({**row, "train_accuracy": 1.0} for row in rows if row["method"] != "and-mask")
    verdicts = {claim.id: judge(claim, some, "quick").verdict for claim in EXPERIMENT.claims}
    assert [name for name, verdict in verdicts.items() if verdict == "not measurable here"] == ["spirals-baselines.and-mask"]
    assert list(EXPERIMENT.figures(some)) == ["baselines"]


def test_a_trial_that_does_not_fit_its_data_says_nothing(rows):
    loose = [{**row, "train_accuracy": 0.6} for row in rows]
    judged = [judge(claim, loose, "quick") for claim in EXPERIMENT.claims]
    assert {one.verdict for one in judged} == {"not measurable here"}


@pytest.mark.parametrize("method", baselines.METHODS)
def test_a_sweep_trains_as_the_experiment_does_and_draws_from_its_ranges(rows, method):
    trial = asdict(baselines.draw(method, TINY))
    swept = EXPERIMENT.ranges["quick"]
    single = swept.single.config(TINY)
    fields = {**trial, **swept.methods[method], "depth": trial["layers"]}
    del fields["layers"]
    (row,) = ranges.run_one(replace(single, **fields))
    assert row == {key: value for key, value in rows.where(method=method, seed=0)[0].items() if key != "seed"}
    paper = EXPERIMENT.ranges["paper"]
    drawn = {name: set(one.values) for name, one in paper.drawn(method).items()}
    trials = [baselines.draw(method, replace(EXPERIMENT.presets["paper"].config, seed=seed)) for seed in range(60)]
    for name, values in drawn.items():
        found = {getattr(one, "layers" if name == "depth" else name) for one in trials}
        assert found - {1.0} == values - {1.0}, name
