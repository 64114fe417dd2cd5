from dataclasses import asdict, replace

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.spirals import baselines
from mechlearn_zoo.experiments.spirals.baselines import search
from mechlearn_zoo.learners.spirals.training import Training

EXPERIMENT = baselines.EXPERIMENT.at("search")
QUICK = EXPERIMENT.presets["search"].config


def test_trial_zero_is_the_printed_best_setting():
    settings = search.draw(EXPERIMENT.presets["search-paper"].config)
    assert (settings.environments, settings.examples, settings.shortcut_dims, settings.epochs) == (32, 1280, 32, 93)
    printed = {"optimizer": "adam", "learning_rate": 1e-2, "batch": 128, "l2": 1e-4, "l1": 0.0, "hidden": 256, "layers": 3}
    assert {key: asdict(settings)[key] for key in printed} == printed


def test_draws_stay_in_the_printed_ranges_and_never_combine_l1_and_l2():
    drawn = [search.draw(replace(QUICK, seed=seed)) for seed in range(1, 80)]
    assert {s.l2 for s in drawn} == {0.0, *search.L2}
    assert {s.l1 for s in drawn} == {0.0, *search.L1}
    assert all(s.l1 == 0 or s.l2 == 0 for s in drawn)
    assert {s.batch for s in drawn} == {64, 128, 256}
    assert {s.learning_rate for s in drawn} == {1e-3, 1e-2, 1e-1}
    assert len({s.seed for s in drawn}) == 1  # data, weights and batches are the same for all trials


def test_no_row_knows_the_test_set(monkeypatch):
    tiny = Training(environments=3, examples=32, hidden=8, layers=1, epochs=2, batch=16)
    monkeypatch.setattr(search, "draw", lambda config: tiny)
    rows = Rows({"seed": 0, **row} for row in search.run(QUICK))
    assert rows[-1]["kind"] == "trial"
    assert rows[-1]["outcome"] == "finished"
    assert not any("test" in key for row in rows for key in row)
    assert list(EXPERIMENT.figures(rows)) == ["trials"]


def test_penalties_are_compared_with_none_over_drawn_trials():
    drawn = [(0.0, 1e-4, 0.1), (1e-5, 0.0, 0.9), (1e-5, 0.0, 0.8), (0.0, 1e-4, 0.5), (0.0, 0.0, 0.5), (0.0, 0.0, 0.6)]
    rows = [
        {"kind": "trial", "seed": seed, "l1": l1, "l2": l2, "validation_accuracy": value}
        for seed, (l1, l2, value) in enumerate(drawn)  # trial 0 was not drawn
    ]
    found = {claim.id.split(".")[1]: judge(claim, rows, "search-paper") for claim in EXPERIMENT.claims}
    assert [one.measured for one in found["l1"].parts] == [pytest.approx(0.3)] * 2
    assert found["l1"].verdict == "holds so far"
    assert (found["l2"].measured, found["l2"].verdict) == (pytest.approx(-0.05), "does not hold so far")


def test_a_trial_that_diverged_counts_as_chance_whatever_its_last_look_said():
    def measured(outcome):
        rows = [
            {"kind": "trial", "seed": seed, "l1": l1, "l2": 0.0, "validation_accuracy": 0.6, "outcome": said}
            for seed, l1, said in ((1, 1e-5, outcome), (2, 1e-5, "finished"), (3, 0.0, "finished"))
        ]
        return judge(EXPERIMENT.claims[0], rows, "search-paper").measured

    assert (measured("finished"), measured("diverged: Every loss should be finite.")) == pytest.approx((0.0, -0.05))


def test_penalties_are_compared_where_validation_stops_each_trial_too():
    """The trials without a penalty are as good at the best of their looks, and one of them diverged after it."""
    drawn = [(1e-5, (0.5, 0.9), "finished"), (0.0, (0.9, 0.5), "finished"), (0.0, (0.9,), "diverged: at last")]
    rows = [
        {"kind": kind, "seed": seed, "l1": l1, "l2": 0.0, "validation_accuracy": value, "outcome": said}
        for seed, (l1, looks, said) in enumerate(drawn, start=1)
        for kind, value in [*(("curve", look) for look in looks), ("trial", looks[-1])]
    ]
    found = judge(EXPERIMENT.claims[0], rows, "search-paper")
    assert (found.measured, found.verdict) == (pytest.approx(0.0), "does not hold so far")
    assert [one.measured for one in found.parts] == pytest.approx([0.4, 0.0])


def test_a_trial_that_diverges_is_recorded(monkeypatch):
    wild = Training(environments=3, examples=32, epochs=40, batch=16, learning_rate=1e30, optimizer="sgd")
    monkeypatch.setattr(search, "draw", lambda config: wild)
    *_, last = search.run(QUICK)
    assert last["kind"] == "trial"
    assert str(last["outcome"]).startswith("diverged: Every loss should be finite")
