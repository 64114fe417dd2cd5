from dataclasses import replace

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.agreement import label_noise
from mechlearn_zoo.experiments.agreement.label_noise import early_stopping
from mechlearn_zoo.experiments.agreement.label_noise.early_stopping_measures import added, over, saved, stopped

EXPERIMENT = label_noise.EXPERIMENT.at("early-stopping")
TINY = replace(EXPERIMENT.presets["early-stopping"].config, sizes=(80,), noises=(0.25, 0.5), epochs=3, thresholds=(0.2,))


@pytest.fixture(scope="module")
def rows():
    config = replace(TINY, seed=1, mask_rates=(5e-3,), mean_rates=(1e-3, 5e-3))
    return Rows({"seed": 1, **row} for row in early_stopping.run(config))


def row(method, kind, *, clean, test, noisy=0.5, seed=0, noise=0.25):
    place = {"seed": seed, "images": 240, "noise": noise, "method": method, "kind": kind}
    return {**place, "clean": clean, "noisy": noisy, "test": test}


def test_both_methods_have_equally_many_trials():
    for preset in EXPERIMENT.presets.values():
        methods = [method for method, _, _ in preset.config.trials()]
        assert methods.count("mean") == methods.count("and-mask")


def test_curves_of_each_cell_and_trial(rows):
    found = [(row["noise"], row["method"], row["learning_rate"], row["epoch"], row["kind"]) for row in rows]
    ends = ((1, "curve"), (2, "curve"), (3, "final"))
    settings = (("mean", 1e-3), ("mean", 5e-3), ("and-mask", 5e-3))
    assert found == [(noise, *setting, *end) for noise in (0.25, 0.5) for setting in settings for end in ends]


def test_stops_where_the_validation_images_say_so():
    rows = Rows(
        [
            row("mean", "curve", clean=0.9, test=0.7, noisy=0.1),
            row("mean", "final", clean=0.6, test=0.9, noisy=0.2),
            row("and-mask", "curve", clean=0.8, test=0.75, noisy=0.3),
            row("and-mask", "final", clean=0.7, test=0.85, noisy=0.4),
        ]
    )
    assert stopped(rows, "mean", "clean")[0]["test"] == 0.7
    assert stopped(rows, "mean", "noisy")[0]["test"] == 0.9
    assert stopped(rows, "mean", "clean", to_the_end=True)[0]["test"] == 0.9
    assert added(rows, "clean")[240, 0.25][0] == pytest.approx(0.75 - 0.7)
    assert over(rows, "noisy").value == pytest.approx(0.85 - 0.9)
    assert saved(rows).value == pytest.approx(0.7 - 0.9)


def test_cells_weigh_the_same():
    some = [row("mean", "final", clean=1, test=0.5, noise=noise) for noise in (0.25, 0.5)]
    some += [row("and-mask", "final", clean=1, test=test, noise=noise) for noise, test in ((0.25, 0.6), (0.5, 0.9))]
    assert over(Rows(some), "clean").value == pytest.approx(0.25)
    assert over(Rows(some), "clean", 0.5).value == pytest.approx(0.4)


def test_claims_and_figure(rows):
    missing = {claim.id.split(".")[1] for claim in EXPERIMENT.claims if judge(claim, rows, "early-stopping").measured is None}
    assert missing == {"most-wrong"}
    assert list(EXPERIMENT.figures(rows)) == ["early-stopping"]
    config = replace(TINY, mask_rates=(5e-3,), mean_rates=(1e-3, 5e-3))
    assert EXPERIMENT.progress(config, rows[-1])[0] == 1
