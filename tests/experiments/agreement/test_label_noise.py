from dataclasses import replace

import pytest

from craik.experiments.agreement.label_noise import run as label_noise
from craik.experiments.agreement.memorisation import run as memorisation
from craik.lab import judge

TINY = replace(label_noise.PRESETS["quick"], examples=80, epochs=3, thresholds=(0.2, 0.3), learning_rates=(1e-3, 5e-3))


@pytest.fixture(scope="module")
def rows(request):
    small = replace(memorisation.PRESETS["quick"], batch=40)
    patch = pytest.MonkeyPatch()
    patch.setitem(memorisation.PRESETS, "quick", small)
    yield [{"seed": seed, **row} for seed in (1,) for row in label_noise.run(replace(TINY, seed=seed))]
    patch.undo()


def test_curves_of_each_method_threshold_and_learning_rate(rows):
    found = [(row["method"], row["threshold"], row["learning_rate"], row["epoch"], row["kind"]) for row in rows]
    ends = ((1, "curve"), (2, "curve"), (3, "final"))
    settings = (("mean", 0.0), ("and-mask", 0.2), ("and-mask", 0.3))
    assert found == [(*setting, rate, *end) for setting in settings for rate in (1e-3, 5e-3) for end in ends]


def test_selection_reads_validation_images_alone(rows):
    crowned = [
        {
            **row,
            "validation_accuracy": float(row["learning_rate"] == 5e-3) + float(row["threshold"] == 0.3),
            "test_accuracy": float(row["learning_rate"] == 1e-3),
        }
        for row in rows
    ]
    assert {row["learning_rate"] for row in label_noise.selected(crowned, "mean")} == {5e-3}
    chosen = label_noise.selected(crowned, "and-mask")
    assert {(row["threshold"], row["learning_rate"], row["method"]) for row in chosen} == {(0.3, 5e-3, "and-mask")}


def test_decline_is_peak_less_end():
    rows = [
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
    ]
    assert label_noise.decline("mean", rows).value == pytest.approx(0.2)


def test_claims_and_figure(rows):
    assert all(judge(claim, rows, "quick").verdict != "not measured" for claim in label_noise.CLAIMS)
    assert list(label_noise.figures(rows)) == ["label-noise"]
    assert label_noise.progress(TINY, rows[-1])[0] == 1


@pytest.mark.parametrize(
    "changes", [{"noise": 0.0}, {"training": "huge"}, {"data": "mnist"}, {"learning_rates": ()}, {"thresholds": (2.0,)}]
)
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match=r"should|must"):
        replace(TINY, **changes)
