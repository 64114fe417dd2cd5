import numpy as np
import pytest
import torch

from mechlearn_zoo.methods.language.sampling import sample
from mechlearn_zoo.methods.language.step_model import RecurrentModel, log_probabilities
from mechlearn_zoo.methods.language.temperature import Point, dominance, sweep


def curve(*pairs):
    return tuple(Point(float(t), quality, diversity) for t, (quality, diversity) in enumerate(pairs))


def test_a_curve_does_not_dominate_itself_and_a_better_one_does():
    one = curve((1.0, 3.0), (2.0, 2.0), (4.0, 1.0))
    assert dominance(one, one).share == 0.0
    better = curve((0.5, 3.0), (1.5, 2.0), (3.5, 1.0))
    found = dominance(better, one)
    assert found.share == 1.0
    assert found.gap == pytest.approx(0.5)
    assert (found.low, found.high) == (1.0, 3.0)
    assert dominance(one, better).share == 0.0


def test_crossing_curves_share_the_range():
    found = dominance(curve((0.0, 0.0), (1.0, 1.0)), curve((0.5, -1.0), (0.5, 2.0)))
    assert found.share == pytest.approx(0.5, abs=2e-3)
    assert (found.low, found.high) == (0.0, 1.0)


def test_of_two_temperatures_with_one_diversity_the_better_counts():
    back = curve((0.0, 2.0), (5.0, 1.0), (9.0, 2.0))
    assert dominance(back, curve((8.0, 1.9), (8.5, 2.0))).share == 1.0


def test_no_common_range_is_no_verdict():
    assert dominance(curve((1.0, 0.0), (1.0, 1.0)), curve((1.0, 2.0), (1.0, 3.0))) is None


def test_a_sweep_shares_its_random_numbers():
    model = RecurrentModel(6, 4, 6, torch.Generator().manual_seed(0), spread=1.0)
    seen = {}

    def quality(samples, tempered):
        seen[tempered.temperature] = samples
        return -float(log_probabilities(tempered, samples).mean())

    points = sweep(model, [2.0, 1.0, 0.25], quality, lambda s, m: float(len(s.unique(dim=0))), count=40, length=4, seed=5)
    assert [point.temperature for point in points] == [0.25, 1.0, 2.0]
    assert points[0].quality < points[1].quality < points[2].quality
    assert points[0].diversity < points[2].diversity
    assert torch.equal(seen[1.0], sample(model, 40, 4, torch.Generator().manual_seed(5)))


def test_bad_input():
    model = RecurrentModel(3, 2, 2, torch.Generator().manual_seed(0))

    def measure(samples, tempered):
        return 0.0

    with pytest.raises(ValueError, match="temperature"):
        sweep(model, [0.0], measure, measure, count=2, length=2, seed=0)
    with pytest.raises(ValueError, match="at least one"):
        sweep(model, [], measure, measure, count=2, length=2, seed=0)
    with pytest.raises(TypeError, match="quality"):
        sweep(model, [1.0], 3, measure, count=2, length=2, seed=0)
    with pytest.raises(ValueError, match="two points"):
        dominance(curve((1.0, 1.0)), curve((1.0, 1.0)))


@pytest.mark.parametrize("bad", [(float("nan"), 1.0), (float("inf"), 1.0), (1.0, float("nan"))])
def test_costs_that_are_no_numbers_are_refused(bad):
    fine, broken = curve((1.0, 3.0), (2.0, 1.0)), curve((1.0, 3.0), bad, (2.0, 1.0))
    with pytest.raises(ValueError, match=r"`other` should have finite costs\. Found Point\(temperature=1\.0.*Leave that"):
        dominance(fine, broken)
    with pytest.raises(ValueError, match="`one` should have finite costs"):
        dominance(broken, fine)


@pytest.mark.parametrize("end", [0, 1])
def test_of_a_vertical_piece_both_ends_are_reached(end):
    """From (1, 1) the last temperature leads to (0, 1): the same diversity at less cost."""
    one, other = curve((1.0, 0.0), (1.0, 1.0), (0.0, 1.0)), curve((0.5, 0.0), (0.5, 1.0))
    one = one if end else tuple(Point(3 - t, q, d) for t, q, d in one)
    assert dominance(one, other).gap == pytest.approx(0.5)
    assert dominance(one, other).share == pytest.approx(1e-3)


@pytest.mark.parametrize("temperatures", [torch.tensor([2.0, 0.5]), np.array([2.0, 0.5])])
def test_temperatures_may_be_an_array(temperatures):
    model = RecurrentModel(3, 2, 2, torch.Generator().manual_seed(0))
    found = sweep(model, temperatures, lambda *_: 0.0, lambda *_: 0.0, count=2, length=2, seed=0)
    assert [point.temperature for point in found] == [0.5, 2.0]
