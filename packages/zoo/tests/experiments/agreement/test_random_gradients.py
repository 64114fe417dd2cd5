import itertools
from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn.agreement import AndMask, combine
from mechlearn_zoo.experiments.agreement.random_gradients import EXPERIMENT
from mechlearn_zoo.experiments.agreement.random_gradients import run as random_gradients

TINY = replace(EXPERIMENT.presets["quick"].config, components=500, counts=(2, 4, 8, 16, 120), repeats=4)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in random_gradients.run(replace(TINY, seed=seed)))


def test_mean_square_of_fully_agreeing_signs_matches_the_closed_form():
    """t = d: with probability 2^(1-d) all signs agree, and then the mean of d half-normals has a known second moment."""
    d = 3
    half_normal_mean = (2 / torch.pi) ** 0.5
    expected = 2.0 ** (1 - d) * (1 / d + (d - 1) / d * half_normal_mean**2)
    found = random_gradients.mean_square(
        AndMask(1.0), d, replace(TINY, components=4000, repeats=50), torch.Generator().manual_seed(0)
    )
    assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("d", "t"), [(2, 2), (4, 4), (10, 8), (15, 12), (100, 80)])
def test_least_equal_signs_is_exact(d, t):
    assert random_gradients.least_equal_signs(d, 0.8) == t


def test_the_mask_asks_for_t_equal_signs():
    for d, share in itertools.product((10, 15, 30, 100), (0.7, 0.8, 0.9)):
        t = random_gradients.least_equal_signs(d, share)
        threshold = (2 * t - d) / d
        for positive, survives in ((t, True), (t - 1, False)):
            g = torch.cat([torch.ones(positive, 1), -torch.ones(d - positive, 1)])
            assert bool(combine(AndMask(threshold), g).survives.all()) is survives


def test_claims_on_a_small_run(rows):
    verdicts = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts["random-gradients.nothing-survives"] == "holds so far"
    assert verdicts["random-gradients.corrected-bound"] == "holds so far"
    assert verdicts["random-gradients.printed-bound"] == "does not hold so far"


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1, **row} for row in random_gradients.run(replace(TINY, seed=1))] == rows[5:]


def test_figure_and_progress(rows):
    assert list(EXPERIMENT.figures(rows)) == ["magnitude"]
    assert EXPERIMENT.progress(TINY, rows[4]) == (1.0, "d 120")
