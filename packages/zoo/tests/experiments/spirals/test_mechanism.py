from dataclasses import replace

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.spirals.mechanism import EXPERIMENT
from mechlearn_zoo.experiments.spirals.mechanism import run as mechanism
from mechlearn_zoo.experiments.spirals.mechanism.measures import slower
from mechlearn_zoo.learners.spirals import training

TINY = replace(
    EXPERIMENT.presets["quick"].config, environments=4, examples=64, shortcut_dims=4, hidden=16, layers=2, batch=16, epochs=3
)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in mechanism.run(replace(TINY, seed=seed)))


def test_rows_tell_curves_outcome_and_boundary_of_each_method(rows):
    kinds = [(row["method"], row["kind"]) for row in rows if row["seed"] == 0]
    assert kinds == [(m, k) for m in ("mean", "and-mask") for k in ["curve"] * 3 + ["final", "boundary"]]
    final = next(row for row in rows if row["kind"] == "final")
    assert final["step"] == final["steps"] == 12
    assert len(next(row for row in rows if row["kind"] == "boundary")["grid"]) == mechanism.BOUNDARY_SIZE**2


def test_the_test_set_is_measured_once_and_steers_nothing(monkeypatch):
    """Scrambling the test set's labels changes test accuracy and nothing else, unless the paper's rule is on."""
    make_data = training.make_data

    def scrambled(config):
        data = make_data(config)
        return data._replace(test=data.test._replace(y=1 - data.test.y))

    before = list(mechanism.run(TINY))
    monkeypatch.setattr(training, "make_data", scrambled)
    after = list(mechanism.run(TINY))
    for a, b in zip(before, after, strict=True):
        assert {k: v for k, v in a.items() if k != "test_accuracy"} == {k: v for k, v in b.items() if k != "test_accuracy"}
    assert [a for a in before if a["kind"] == "final"] != [b for b in after if b["kind"] == "final"]


def test_the_papers_rule_stops_and_says_so():
    config = replace(TINY, epochs=200, batch=64, methods=("mean",), shortcut_scale=3.0, stop_as_printed=True)
    final = next(row for row in mechanism.run(config) if row["kind"] == "final")
    assert final["train_accuracy"] > 0.97
    assert final["test_accuracy"] < 0.6
    assert final["step"] < final["steps"]
    assert "paper's rule" in str(final["stopped"])


def test_a_run_that_has_not_converged_says_so(rows):
    final = next(row for row in rows if row["kind"] == "final" and row["method"] == "and-mask")
    assert final["converged"] is (float(final["train_loss"]) < training.CONVERGED)
    unfinished = {**final, "train_loss": 0.5, "converged": False}
    assert "not converged, training loss 0.50" in mechanism.progress(TINY, unfinished)[1]


def test_progress_rises_to_one(rows):
    shares = [mechanism.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_figures_and_claims_read_rows_only(rows):
    assert set(EXPERIMENT.figures(rows)) == {"learning-curves", "decision-boundary", "outcomes"}
    judged = {claim.id: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}
    assert judged.pop("spirals.slower").verdict == "not measurable here"  # averaging does not fit in so few steps
    assert all(claim.n == 2 for claim in judged.values())


def test_the_path_to_a_fit_is_counted_in_steps_to_the_first_check_that_shows_it():
    def curve(method, *accuracies):
        found = enumerate(accuracies, start=1)
        return [{"seed": 0, "kind": "curve", "method": method, "step": 10 * at, "train_accuracy": value} for at, value in found]

    pooled = curve("mean", 0.5, 0.98, 0.9, 0.99)
    assert slower(Rows(pooled + curve("and-mask", 0.5, 0.5, 0.96, 0.97))) == pytest.approx(40 / 20)
    never = Rows(pooled + curve("and-mask", 0.5, 0.5, 0.6))
    assert slower(never) is None
    assert slower(Rows(curve("mean", 0.9) + curve("and-mask", 0.99))) is None


@pytest.mark.parametrize(("highest", "verdict"), [(0.55, "holds so far"), (0.95, "does not hold so far")])
def test_averaging_may_stop_at_its_best(rows, highest, verdict):
    first = [index for index, row in enumerate(rows) if row["kind"] == "curve" and row["method"] == "mean"][
        :: max(1, len(rows))
    ]
    changed = [{**row, "validation_accuracy": 0.5} if row["kind"] == "curve" else row for row in rows]
    for index in first:
        changed[index]["validation_accuracy"] = highest
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "spirals.stopped-early")
    one_seed = [row for row in changed if row["seed"] == changed[first[0]]["seed"]]
    assert judge(claim, one_seed, "quick").verdict == verdict
    stopped = [{**row, "stopped": "as printed"} if row["kind"] == "final" else row for row in one_seed]
    assert judge(claim, stopped, "quick").verdict == "not measurable here"


@pytest.mark.parametrize(("accuracy", "verdict"), [(0.99, "holds so far"), (0.9, "does not hold so far")])
def test_the_verdict_on_the_and_mask_is_computed(rows, accuracy, verdict):
    changed = [{**row, "test_accuracy": accuracy} if row["kind"] == "final" else row for row in rows]
    assert judge(EXPERIMENT.claims[0], changed, "quick").verdict == verdict
    assert judge(EXPERIMENT.claims[0], [], "quick").verdict == "not measured"
