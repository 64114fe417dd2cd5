from dataclasses import replace

import pytest

from craik.experiments import label_noise, memorisation
from craik.harness.claims import judge

TINY = replace(label_noise.PRESETS["quick"], epochs=3, learning_rates=(1e-3, 5e-3))


@pytest.fixture(scope="module")
def rows(request):
    small = replace(memorisation.PRESETS["quick"], examples=16, batch=8)
    patch = pytest.MonkeyPatch()
    patch.setitem(memorisation.PRESETS, "quick", small)
    yield [{"seed": seed, **row} for seed in (1,) for row in label_noise.run(replace(TINY, seed=seed))]
    patch.undo()


def test_curves_of_each_method_and_learning_rate(rows):
    found = [(row["method"], row["learning_rate"], row["epoch"], row["kind"]) for row in rows if row["seed"] == 1]
    ends = ((1, "curve"), (2, "curve"), (3, "final"))
    assert found == [(m, rate, *end) for m in label_noise.METHODS for rate in (1e-3, 5e-3) for end in ends]


def test_selection_reads_validation_images_alone(rows):
    crowned = [
        {
            **row,
            "validation_accuracy": float(row["learning_rate"] == 5e-3),
            "test_accuracy": float(row["learning_rate"] == 1e-3),
        }
        for row in rows
    ]
    assert {row["learning_rate"] for row in label_noise.selected(crowned, "mean")} == {5e-3}


def test_decline_is_peak_less_end():
    rows = [
        {"seed": 0, "method": "mean", "learning_rate": 1e-3, "kind": kind, "validation_accuracy": 0.5, "test_accuracy": value}
        for kind, value in (("curve", 0.6), ("curve", 0.9), ("final", 0.7))
    ]
    assert label_noise.decline("mean", rows).value == pytest.approx(0.2)


def test_claims_and_figure(rows):
    assert all(judge(claim, rows, "quick").verdict != "not measured" for claim in label_noise.CLAIMS)
    assert list(label_noise.figures(rows)) == ["label-noise"]
    assert label_noise.progress(TINY, rows[-1])[0] == 1


@pytest.mark.parametrize("changes", [{"noise": 0.0}, {"training": "huge"}, {"data": "mnist"}, {"learning_rates": ()}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        replace(TINY, **changes)
