from dataclasses import replace

import pytest

from claimlab import Rows, UsageError, judge
from claimlab.fields import parse_value, settings_of
from mechlearn.agreement import GeometricMean
from mechlearn_zoo.experiments.agreement.label_noise import EXPERIMENT
from mechlearn_zoo.experiments.agreement.label_noise import run as label_noise
from mechlearn_zoo.experiments.agreement.label_noise.measures import chosen, decline, over_early_stopping, selected

TINY = replace(EXPERIMENT.presets["quick"].config, examples=80, epochs=3, thresholds=(0.2, 0.3), learning_rates=(1e-3, 5e-3))


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": 1, **row} for row in label_noise.run(replace(TINY, seed=1)))


def test_curves_of_each_method_threshold_and_learning_rate(rows):
    found = [(row["method"], row["threshold"], row["learning_rate"], row["epoch"], row["kind"]) for row in rows]
    ends = ((1, "curve"), (2, "curve"), (3, "final"))
    settings = (("mean", 0.0), ("and-mask", 0.2), ("and-mask", 0.3))
    assert found == [(*setting, rate, *end) for setting in settings for rate in (1e-3, 5e-3) for end in ends]


def test_selection_reads_validation_images_alone(rows):
    crowned = Rows(
        {
            **row,
            "validation_accuracy": float(row["learning_rate"] == 5e-3) + float(row["threshold"] == 0.3),
            "test_accuracy": float(row["learning_rate"] == 1e-3),
        }
        for row in rows
    )
    assert {row["learning_rate"] for row in selected(crowned, "mean")} == {5e-3}
    chosen = selected(crowned, "and-mask")
    assert {(row["threshold"], row["learning_rate"], row["method"]) for row in chosen} == {(0.3, 5e-3, "and-mask")}


def ends(accuracies):
    """Final rows of averaging: by seed, the validation accuracy at each learning rate."""
    return Rows(
        {"seed": seed, "method": "mean", "kind": "final", "threshold": 0.0, "learning_rate": rate, "validation_accuracy": one}
        for seed, by_rate in enumerate(accuracies)
        for rate, one in by_rate.items()
    )


def test_each_seed_selects_its_own_setting():
    rows = ends([{1e-3: 0.99, 5e-3: 0.1}, {1e-3: 0.7, 5e-3: 0.8}, {1e-3: 0.7, 5e-3: 0.8}])
    found = chosen("mean", "learning_rate")(rows)
    assert (found.value, found.low, found.high) == (5e-3, 1e-3, 5e-3)
    assert {row["learning_rate"] for row in selected(rows, "mean")} == {1e-3}  # one good seed has the better mean


def test_of_two_rates_that_are_level_the_lower_is_taken():
    rows = ends([{5e-3: 0.5, 1e-3: 0.5}])
    assert chosen("mean", "learning_rate")(rows).value == 1e-3
    assert {row["learning_rate"] for row in selected(rows, "mean")} == {1e-3}


def test_decline_is_peak_less_end():
    rows = Rows(
        {
            "seed": 0,
            "method": "mean",
            "threshold": 0.0,
            "learning_rate": 1e-3,
            "kind": kind,
            "validation_accuracy": 0.5,
            "test_accuracy": value,
        }
        for kind, value in (("curve", 0.6), ("curve", 0.9), ("final", 0.7))
    )
    assert decline(rows) == pytest.approx(0.2)


def test_averaging_stops_where_validation_images_say_so():
    def row(method, rate, kind, valid, test):
        settings = {"seed": 0, "method": method, "threshold": 0.2 * (method == "and-mask"), "learning_rate": rate}
        return {**settings, "kind": kind, "validation_accuracy": valid, "test_accuracy": test}

    rows = Rows(
        [
            row("mean", 1e-3, "curve", 0.9, 0.8),  # the best epoch of all
            row("mean", 1e-3, "final", 0.6, 0.5),
            row("mean", 5e-3, "curve", 0.7, 0.95),
            row("mean", 5e-3, "final", 0.8, 0.9),  # the best end
            row("and-mask", 1e-3, "final", 0.8, 0.85),
        ]
    )
    assert over_early_stopping(rows).value == pytest.approx(0.85 - 0.8)


def test_chance_is_not_well_below_chance(rows):
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == "label-noise.mask-ignores"]
    found = judge(claim, [{**row, "fitted_wrong": 0.08} for row in rows], "quick")
    assert (found.measured, found.verdict) == (0.08, "does not hold so far")


def test_claims_and_figure(rows):
    elsewhere = {claim.id.split(".")[1] for claim in EXPERIMENT.claims if judge(claim, rows, "quick").measured is None}
    assert elsewhere == {"geometric", "geometric-learns"}
    assert list(EXPERIMENT.figures(rows)) == ["label-noise"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1


@pytest.mark.parametrize(("name", "word"), [("training", "huge"), ("data", "mnist")])
def test_a_word_that_is_no_choice_is_refused(name, word):
    setting = next(setting for setting in settings_of(EXPERIMENT.config) if setting.name == name)
    with pytest.raises(UsageError, match=rf"must be one of .*{word}"):
        parse_value(setting, word)


def test_the_geometric_mean_beside_the_mask():
    preset = EXPERIMENT.presets["geometric"].config
    config = replace(preset, examples=80, epochs=1)
    rows = Rows({"seed": 1, **row} for row in label_noise.run(config))
    assert [(row["method"], row["threshold"]) for row in rows] == [("mean", 0.0), ("and-mask", 0.3), ("geometric", 0.3)]
    assert label_noise.rule_of("geometric", 0.3) == GeometricMean(0.3)
    assert list(EXPERIMENT.figures(rows)) == ["label-noise"]
    assert chosen("and-mask", "threshold")(rows) is None  # there was no choice

    def judged(geometric, wrong):
        made_up = Rows(
            {**row, "seed": seed, "test_accuracy": accuracy, "fitted_wrong": wrong, "validation_accuracy": accuracy}
            for seed in range(6)
            for row, accuracy in zip(rows, (0.8, 0.96, geometric), strict=True)
        )
        claims = {claim.id.split(".")[1]: claim for claim in EXPERIMENT.claims}
        names = ("geometric", "geometric-learns")
        return [judge(claims[name], made_up, "geometric").verdict for name in names]

    assert judged(0.95, 0.04) == ["holds"] * 2
    assert judged(0.5, 0.9) == judged(0.2, 0.2) == ["does not hold"] * 2
