from dataclasses import replace

import pytest
import torch
from torch import nn

from claimlab import Rows, judge
from mechlearn_zoo.experiments.distill.noisy_labels import EXPERIMENT
from mechlearn_zoo.experiments.distill.noisy_labels import calibration as _calibration
from mechlearn_zoo.experiments.distill.noisy_labels import run as distill_noisy_labels
from mechlearn_zoo.tasks.boards.noisy_labels import CLASSES, noisy_labels
from tiny_settings import tiny

_, TINY = tiny("distill-noisy-labels")


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in distill_noisy_labels.run(replace(TINY, seed=seed)))


def test_every_student_has_curve_summary_and_calibration(rows):
    labels = list(dict.fromkeys(row["label"] for row in rows))
    assert labels == ["beta 0", "beta 1", "LDT, fresh moments", "LDT, student moments"]
    for label in labels:
        kinds = [row["kind"] for row in rows if row["label"] == label and row["seed"] == 0]
        assert kinds[:3] == ["curve", "curve", "final"]
        assert set(kinds[3:]) == {"calibration"}


def test_a_redrawn_split_changes_who_has_a_teacher_and_nobody_else(rows):
    redrawn = Rows({"seed": 0, **row} for row in distill_noisy_labels.run(replace(TINY, splitting="redrawn")))
    for label in ("beta 0", "LDT, student moments"):
        one, other = (some.where(kind="curve", seed=0, label=label)["test"] for some in (rows, redrawn))
        assert (one == other) == (label == "beta 0")


class Knowing(nn.Module):
    """Returns the logarithms of what it is told are the probabilities."""

    def __init__(self, probabilities):
        super().__init__()
        self.logits = probabilities.log()

    def forward(self, x):
        return self.logits


def test_who_knows_the_odds_is_calibrated_and_who_is_sure_is_not():
    found = noisy_labels(0, inputs=5, examples=2, logit_scale=3.0, test=20_000)
    right = _calibration.calibration(Knowing(found.test_probabilities), found)
    assert _calibration.calibration_error(right) < 0.01
    assert sum(place["share"] for place in right) == pytest.approx(1)
    for place in right:
        assert place["truth"] == pytest.approx(place["confidence"], abs=1e-5)
    sure = (found.test_probabilities**5).clamp(min=1e-9)
    too_sure = _calibration.calibration(Knowing(sure / sure.sum(1, keepdim=True)), found)
    assert _calibration.calibration_error(too_sure) > 0.1


def test_entropy_by_hand():
    assert float(distill_noisy_labels.entropy(torch.zeros(1, CLASSES))) == pytest.approx(1.3862944)
    assert float(distill_noisy_labels.entropy(torch.tensor([[50.0, 0, 0, 0]]))) == pytest.approx(0, abs=1e-6)


def test_verdicts_are_computed(rows):
    made_up = {
        "beta 0": (2.0, 0.3),
        "beta 1": (1.4, 0.1),
        "LDT, fresh moments": (1.3, 0.06),
        "LDT, student moments": (1.5, 0.0),
    }
    changed = [
        {**row, "selected": made_up[row["label"]][0], "last": made_up[row["label"]][0], "bayes": 1.27, "as_printed": 1.3}
        | {"calibration_error": made_up[row["label"]][1]}
        for row in rows
        if row["kind"] == "final"
    ]
    curves = rows.where(kind="curve")
    last = max(row["step"] for row in curves)
    changed += [{**row, "training": 0.001 if row["step"] == last and row["label"] == "beta 0" else 1.0} for row in curves]
    judged = {claim.id.split(".")[1]: judge(claim, changed, "quick") for claim in EXPERIMENT.claims}
    assert judged["ldt-below-entropy"].measured == pytest.approx(0.1)  # with the student's moments
    assert judged["baselines-ill-calibrated"].measured == pytest.approx(0.1)  # of beta 1, the lesser
    assert {name: claim.verdict for name, claim in judged.items()} == {
        "ldt-below-entropy": "does not hold so far", "ldt-stays-low": "does not hold so far", "fresh-moments": "holds so far",
        "baselines-ill-calibrated": "holds so far", "baselines-overfit": "holds so far", "fits": "holds so far",
        "ldt-calibrated": "holds so far",
    }  # fmt: skip
    assert judged["ldt-calibrated"].measured == 0.0  # with the student's moments
    assert judged["baselines-overfit"].measured == pytest.approx(0.1)  # of beta 1, the lesser
    plain = [row for row in changed if row["method"] == "no-teacher"]
    verdicts = {claim.id.split(".")[1]: judge(claim, plain, "quick").verdict for claim in EXPERIMENT.claims}
    assert {verdicts.pop(name) for name in ("baselines-overfit", "baselines-ill-calibrated", "fits")} == {"holds so far"}
    assert set(verdicts.values()) == {"not measurable here"}


def test_figures_and_progress(rows):
    assert set(EXPERIMENT.figures(rows)) == {"test-losses", "calibration"}
    shares = [distill_noisy_labels.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
