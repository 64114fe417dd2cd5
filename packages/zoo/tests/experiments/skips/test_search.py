from dataclasses import replace

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.skips.accuracy import EXPERIMENT as SKIPS_ACCURACY
from mechlearn_zoo.experiments.skips.search import EXPERIMENT, measures
from mechlearn_zoo.experiments.skips.search import run as skips_search

QUICK = EXPERIMENT.presets["quick"].config
ACCURACIES = ("validation_accuracy", "test_accuracy", "stopped_validation_accuracy", "stopped_test_accuracy")


def test_trial_zero_has_the_settings_of_skips_accuracy():
    settings = skips_search.draw(QUICK)
    printed = SKIPS_ACCURACY.presets["quick"].config
    assert all(getattr(settings, name) == getattr(printed, name) for name in (*skips_search.RANGES["quick"], "batch"))
    assert settings.seed == QUICK.data_seed != printed.seed


@pytest.mark.parametrize("size", ["quick", "paper"])
def test_draws_stay_in_their_ranges_and_reach_all_of_them(size):
    drawn = [skips_search.draw(replace(QUICK, size=size, seed=seed)) for seed in range(1, 60)]
    for name, some in skips_search.RANGES[size].items():
        assert {getattr(settings, name) for settings in drawn} == set(some)
    assert len({settings.seed for settings in drawn}) == 1  # episodes, weights and batches are the same for all trials


def test_a_trial_spends_the_same_on_every_method(tmp_path):
    tiny = replace(
        QUICK, seed=3, methods=("asi", "fixed-3"), evaluations=40, episodes=4, validation_episodes=2, test_episodes=2
    )
    rows = list(skips_search.run(replace(tiny, cache=str(tmp_path))))
    assert [row["method"] for row in rows] == ["asi", "fixed-3"]
    assert all(row["kind"] == "trial" and row["evaluations"] >= 40 for row in rows)
    assert len({tuple(row[name] for name in skips_search.RANGES["quick"]) for row in rows}) == 1
    for row in rows:
        assert row["stopped_validation_accuracy"] >= row["validation_accuracy"]
        assert {"stopped_at", "stopped_test_accuracy"} <= row.keys()
    assert skips_search.progress(tiny, rows[-1])[0] == 1.0
    assert list(EXPERIMENT.figures(Rows({"seed": 3, **row} for row in rows))) == ["trials"]


def test_looks_change_nothing_of_the_training(tmp_path, monkeypatch):
    tiny = replace(QUICK, seed=3, methods=("fixed-3",), evaluations=60, episodes=4, validation_episodes=2, test_episodes=2)
    config, state = replace(tiny, cache=str(tmp_path)), torch.get_rng_state()
    (looked,) = skips_search.run(config)
    assert torch.equal(torch.get_rng_state(), state)
    monkeypatch.setattr(EarlyStopping, "due", lambda stopping, share: False)
    (alone,) = skips_search.run(config)
    assert alone["stopped_at"] == 1.0  # nothing but the end was looked at
    former = {name: value for name, value in alone.items() if not name.startswith("stopped_")}
    assert {name: looked[name] for name in former} == former


def trials(method, accuracies, stopped=None):
    return [
        {"kind": "trial", "seed": seed, "method": method, "validation_accuracy": valid, "test_accuracy": test, "horizon": 20}
        | {"task": "funnel-board"}
        | {"stopped_validation_accuracy": best, "stopped_test_accuracy": there}
        for seed, ((valid, test), (best, there)) in enumerate(zip(accuracies, stopped or accuracies, strict=True))
    ]


def test_a_lead_is_asked_of_the_best_look_of_all_trials_too():
    ours = trials("asi", [(0.9, 0.9), (0.5, 0.5)], [(0.9, 0.9), (0.6, 0.99)])
    theirs = trials("fixed-2", [(0.7, 0.7), (0.6, 0.6)], [(0.7, 0.7), (0.95, 0.93)])
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id.endswith("above-2"))
    found = judge(claim, ours + theirs, "quick")
    assert found.verdict == "does not hold so far"
    assert [part.measured for part in found.parts] == pytest.approx([0.2, -0.03])
    former = [{name: row[name] for name in row if not name.startswith("stopped_")} for row in ours + theirs]
    assert judge(claim, former, "quick").verdict == "not measurable here"


def test_the_horizon_is_asked_of_stopped_trials_too():
    rows = [{**row, "horizon": 21 + 4 * row["seed"]} for row in trials("asi", [(0.9, 0.9), (0.5, 0.5)], [(0.9, 0.9)] * 2)]
    rows[1]["stopped_validation_accuracy"] = 0.95
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "skips-search.horizon")
    found = judge(claim, rows, "quick")
    assert (found.measured, found.verdict) == (25, "does not hold so far")
    assert found.parts[0].measured == 21


def test_validation_selects_and_test_is_compared():
    rows = Rows(trials("asi", [(0.2, 0.99), (0.9, 0.8), (0.5, 0.1)]) + trials("fixed-1", [(0.3, 0.2), (0.1, 0.9), (0.2, 0.9)]))
    assert measures.advantage("fixed-1")(rows).value == pytest.approx(0.6)
    assert measures.advantage("fixed-2")(rows) is None


def test_the_interval_is_that_of_all_equally_likely_samples_of_trials():
    rows = Rows(trials("asi", [(0.1, 0.5), (0.2, 0.7)]) + trials("fixed-1", [(0.2, 0.4), (0.1, 0.3)]))
    # Samples 00, 01, 10, 11 select: 0.5 - 0.4, 0.7 - 0.4 (twice), 0.7 - 0.3.
    found = measures.advantage("fixed-1")(rows)
    assert (found.value, found.low, found.high, found.n) == (pytest.approx(0.3), pytest.approx(0.1), pytest.approx(0.4), 1)


def test_claims_hold_where_the_whole_interval_is_above_zero():
    better = trials("asi", [(0.9, 0.9)] * 3) + trials("fixed-1", [(0.5, 0.5)] * 3) + trials("fixed-2", [(0.9, 0.9)] * 3)
    verdicts = {claim.id: judge(claim, better, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts == {
        "skips-search.above-2": "does not hold so far",
        "skips-search.above-3": "not measurable here",
        "skips-search.exploration": "not measurable here",
        "skips-search.horizon": "holds so far",
        "skips-search.architectures": "not measurable here",
    }
    other = [{**row, "task": "room-runner"} for row in better]
    again = {claim.id: judge(claim, other, "quick").verdict for claim in EXPERIMENT.claims}
    assert again["skips-search.horizon"] == "not measurable here"


def test_a_horizon_at_the_end_of_what_is_drawn_is_not_about_twenty():
    rows = [{**row, "horizon": 25 - 5 * row["seed"]} for row in trials("asi", [(0.9, 0.9), (0.5, 0.5)])]
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == "skips-search.horizon"]
    found = judge(claim, rows, "quick")
    assert (found.measured, found.verdict) == (25, "does not hold so far")


def test_architectures_are_compared_by_their_best_trials():
    some = trials("asi", [(0.9, 0.9), (0.2, 0.9), (0.7, 0.1)])
    rows = [{**row, "architecture": name} for row, name in zip(some, ("simple", "simple", "dilated"), strict=True)]
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id.endswith("architectures"))
    found = judge(claim, rows, "paper")
    assert (found.measured, found.n, found.verdict) == (pytest.approx(0.8), 1, "does not hold so far")
    assert judge(claim, rows[:2], "paper").verdict == "not measurable here"  # one architecture


def test_a_trial_trains_each_architecture_asked_for_on_the_same_draw(tmp_path):
    preset = EXPERIMENT.presets["architectures"].config
    tiny = replace(preset, seed=3, kernels=2, evaluations=40, episodes=4, validation_episodes=2, test_episodes=2)
    rows = list(skips_search.run(replace(tiny, cache=str(tmp_path))))
    assert [row["architecture"] for row in rows] == ["simple", "strided", "dilated"]
    assert len({tuple(row[name] for name in skips_search.RANGES["quick"]) for row in rows}) == 1
    assert [skips_search.progress(tiny, row)[0] for row in rows] == pytest.approx([1 / 3, 2 / 3, 1])
    settings = skips_search.draw(tiny)
    assert [one.kernels for one in skips_search.networks(tiny, settings)] == [2, 2, 2]
    assert skips_search.networks(QUICK, settings) == [settings]


def test_an_opponent_none_of_whose_trials_learnt_does_not_count():
    ours = trials("asi", [(0.9, 0.9)] * 6)
    rows = (
        ours + trials("fixed-3", [(0.0, 0.0)] * 5 + [(0.065, 0.065)]) + trials("fixed-2", [(0.0, 0.0)] * 3 + [(0.5, 0.6)] * 3)
    )
    judged = {claim.id.split(".")[1]: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}
    untrained, trained = judged["above-3"], judged["above-2"]
    assert untrained.verdict == "not measurable here"
    assert (trained.verdict, trained.measured) == ("holds so far", pytest.approx(0.3))


def test_architectures_are_alike_only_if_draws_of_settings_say_so_too():
    networks = {"simple": [0.9, 0.8, 0.0], "strided": [0.85, 0.8, 0.9], "dilated": [0.82, 0.3, 0.0]}
    rows = [
        {"kind": "trial", "seed": seed, "method": "asi", "architecture": name} | dict.fromkeys(ACCURACIES, value)
        for name, values in networks.items()
        for seed, value in enumerate(values)
    ]
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id.endswith("architectures"))
    found = judge(claim, rows, "architectures")
    assert (found.measured, found.n) == (pytest.approx(0.08), 1)  # n counts data sets, neither draws nor networks
    assert (found.low, found.high) == (pytest.approx(0.08), pytest.approx(0.9))  # a sample of the third draw alone: 0.9 - 0
    assert found.verdict == "does not hold so far"


def test_networks_that_learn_nothing_are_not_said_to_be_alike():
    def rows(*accuracies):
        return Rows(
            {"kind": "trial", "seed": 0, "method": "asi", "architecture": name} | dict.fromkeys(ACCURACIES, value)
            for name, value in zip(("simple", "strided", "dilated"), accuracies, strict=True)
        )

    assert measures.architectures(rows(0.0, 0.01, 0.0)) is None
    assert measures.architectures(rows(0.5, 0.45, 0.52)).value == pytest.approx(0.07)
