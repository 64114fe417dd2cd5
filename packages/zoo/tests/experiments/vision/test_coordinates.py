from dataclasses import replace

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.vision import coordinates
from mechlearn_zoo.experiments.vision.coordinates import networks
from mechlearn_zoo.experiments.vision.coordinates.measures import best_plain, gain_over_best
from mechlearn_zoo.experiments.vision.coordinates.run import fit_digits, make, scores
from mechlearn_zoo.experiments.vision.coordinates.squares import draw_squares, squares
from mechlearn_zoo.learners.evaluation import parameters
from tiny import check_measured_and_drawn, rows_of

EXPERIMENT = coordinates.EXPERIMENT
SMALL = {
    "side": 16, "steps": 8, "plain_steps": 8, "find_steps": 8, "batch": 4, "width": 8, "digit_steps": 2, "gan_steps": 1,
    "gan_side": 8,
}  # fmt: skip


def claim_of(name):
    (claim,) = (one for one in EXPERIMENT.claims if one.id == name)
    return claim


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, **SMALL)


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    covers = EXPERIMENT.claims.index(claim_of("coordinates.gan-covers"))  # no GAN paints a square after one step
    measurable = replace(EXPERIMENT, claims=EXPERIMENT.claims[:covers] + EXPERIMENT.claims[covers + 1 :])
    check_measured_and_drawn(measurable, rows, ("quick", "gan"))
    assert set(EXPERIMENT.figures(Rows(rows))) == {"places", "training", "gan"}


def test_the_gan_alone():
    some = rows_of(EXPERIMENT, config=EXPERIMENT.presets["gan"].config, gan_steps=1, gan_side=8)
    assert {str(row["kind"]) for row in some} == {"gan"}
    assert set(EXPERIMENT.figures(some)) == {"gan"}
    assert all(0 <= EXPERIMENT.progress(EXPERIMENT.presets["gan"].config, row)[0] <= 1 for row in some)


def test_places_count_where_both_gans_paint_squares():
    def judged(*shares):
        """Of seeds with this share of pictures with a square, and as many places, without coordinates."""
        made = [
            {"seed": seed, "kind": "gan", "network": network, "squares": share, "covered": share}
            for seed, plain in enumerate(shares)
            for network, share in (("coordinates", 0.9), ("plain", plain))
        ]
        return judge(claim_of("coordinates.gan-covers"), Rows(made), "gan")

    assert judged(0.0, 0.1).measured is None
    some = judged(0.0, 0.5)
    assert (some.measured, some.n) == (pytest.approx(0.4), 1)


def test_digits_are_looked_at_and_the_looks_change_nothing(rows, monkeypatch):
    config = replace(EXPERIMENT.presets["quick"].config, **SMALL)
    looked = fit_digits(config, coordinates=True)
    assert {"stopped_accuracy", "stopped_at"} < looked.keys()
    assert {**looked, "kind": "digits", "network": "coordinates", "seed": 0} in list(rows)
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    assert fit_digits(config, coordinates=True) == {"accuracy": looked["accuracy"]}


def test_those_without_coordinates_count_at_their_best():
    def made(task, ours, end, *looks):
        ends = (("coordinates", ours), ("plain", end))
        some = {"seed": 0, "task": task, "division": "quadrant"}
        rows = [{**some, "kind": "final", "network": network, "test": test} for network, test in ends]
        return Rows(rows + [{**some, "kind": "curve", "network": "plain", "score": look} for look in looks])

    higher, lower = made("paint", 0.9, 0.2, 0.5, 0.3), made("find", 1.0, 4.0, 6.0, 3.0)
    assert gain_over_best("paint", "quadrant")(higher).value == pytest.approx(0.4)
    assert gain_over_best("find", "quadrant")(lower).value == pytest.approx(-2.0)
    assert best_plain("find", "quadrant")(lower).value == 3.0
    assert best_plain("paint", "quadrant")(made("paint", 0.9, 0.6, 0.5)).value == 0.6  # at the end
    assert best_plain("paint", "quadrant")(made("paint", 0.9, 0.6)) is None  # no looks


def test_an_untrained_network_fails_the_claims(rows):
    judged = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert judged["coordinates.classifies"] == "does not hold so far"
    assert judged["coordinates.extrapolates-regression"] == "does not hold so far"


def test_scores_of_perfect_answers():
    config = replace(EXPERIMENT.presets["quick"].config, **SMALL)
    data = squares(0, 16, 9)

    class Painted(torch.nn.Module):
        def forward(self, x):
            return draw_squares(((x + 1) * 7.5).round().long(), 16, 9) - 0.5

    class Found(torch.nn.Module):
        def forward(self, x):
            return 2 * networks.positions(x) / 15 - 1 + torch.tensor([2 / 63, 0.0])

    assert torch.equal(scores("paint", Painted(), data), torch.ones(64))
    torch.testing.assert_close(scores("find", Found(), data), torch.ones(64))
    assert parameters(make(config, "point", "coordinates")) == 1249
