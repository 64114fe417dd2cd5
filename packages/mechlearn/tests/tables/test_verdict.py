import itertools

import numpy as np
import pytest
from scipy import stats

from mechlearn.tables.verdict import judge, sign_flip, sites_needed, t_interval

ZERO = [70.0] * 8
WIGGLE = np.array([0.5, -0.5, 0.3, -0.3, 0.2, -0.2, 0.1, -0.1])


def word(gain, noise=1.0, sites=8, simple=0.0):
    scores = {"pooled network": ZERO[:sites], "linear": [70.0 + simple] * sites, "ours": 70 + gain + noise * WIGGLE[:sites]}
    return judge(scores, "ours", ["pooled network", "linear"])


@pytest.mark.parametrize(
    ("gain", "noise", "expected"),
    [
        (5, 1, "helps"),
        (5, 25, "cannot tell"),
        (0, 1, "as good"),
        (-5, 1, "harms"),
        (1.9, 1, "helps"),
        (1.9, 12, "cannot tell"),
        (-1, 0.1, "as good"),
    ],
)
def test_each_verdict(gain, noise, expected):
    assert word(gain, noise).word == expected


def test_a_method_is_held_against_the_best_simple_candidate():
    assert word(5, simple=4.5).word == "as good"  # above 0, but by less than a point
    assert word(5, simple=4.5).against == "linear"
    assert word(5, simple=3.9).word == "helps"
    assert word(5, simple=9).word == "harms"  # against the linear model, though it gains on its own pooled one
    assert word(0.9, 0.1).word == "as good"


def test_what_helps_lowers_the_error_too():
    scores = {"simple": ZERO, "ours": 75 + WIGGLE}
    lower, higher = {"simple": [0.5] * 8, "ours": 0.4 + 0.1 * WIGGLE}, {"simple": [0.5] * 8, "ours": 0.51 + 0.1 * WIGGLE}
    assert judge(scores, "ours", ["simple"], errors=lower).word == "helps"
    unsure = judge(scores, "ours", ["simple"], errors=higher)
    assert unsure.word == "cannot tell"
    assert unsure.sentence.endswith("(ours less simple, better at 8 of 8 sites), but its error is no lower.")


def test_below_six_sites_all_must_agree_by_two_points():
    assert word(0, 0.1, sites=5).word == "cannot tell"
    assert word(2.1, 0.1, sites=5).word == "helps"
    assert word(2.1, 1, sites=5).word == "cannot tell"
    assert word(-2.1, 0.1, sites=5).word == "harms"
    assert word(2.1, 0.1, sites=5).low is None


@pytest.mark.parametrize("sites", [1, 2])
@pytest.mark.parametrize("gain", [9, -9, 0])
def test_below_three_sites_one_cannot_tell(sites, gain):
    found = word(gain, 0, sites=sites)
    assert found.word == "cannot tell"
    assert found.sentence.endswith(". Fewer than 3 sites settle nothing, as two agree by chance half of the time.")
    assert word(gain, 0, sites=3).word != "cannot tell"


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(size=9)
    wanted = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    np.testing.assert_allclose(t_interval(values), (wanted.low, wanted.high), rtol=1e-12)
    assert t_interval(values[:5]) is None


def test_folds_that_share_training_rows_have_a_wider_interval():
    """Nadeau and Bengio 2003: the variance is 1/n plus rows held out for each trained on."""
    values = np.random.default_rng(0).normal(size=10)
    low, high = t_interval(values, 1 / 9)
    half = stats.t.ppf(0.95, 9) * values.std(ddof=1) * np.sqrt(1 / 10 + 1 / 9)
    np.testing.assert_allclose((low, high), (values.mean() - half, values.mean() + half), rtol=1e-12)


def test_the_sign_flip_test_counts_patterns():
    values = np.array([1.0, 2.0, -0.5, 3.0])
    means = [abs(np.dot(values, signs)) for signs in itertools.product((-1, 1), repeat=4)]
    assert sign_flip(values) == np.mean(np.array(means) >= 5.5)
    assert sign_flip([1.0] * 10) == 2 / 1024
    assert sign_flip(np.ones(20)) < 1e-3


def test_how_many_sites_would_settle_it():
    needed = sites_needed(5.0)
    assert stats.t.ppf(0.95, needed - 1) * 5 / np.sqrt(needed) <= 2
    assert stats.t.ppf(0.95, needed - 2) * 5 / np.sqrt(needed - 1) > 2
    assert word(1, 10).sentence.endswith("About 2 more sites would settle 2 points.")
    assert word(5, 25).sentence.endswith("Sites like these cannot settle it.")


def test_sentences_name_the_way_out():
    assert "6 of 8 sites" not in word(5, 1).sentence
    assert "8 of 8 sites" in word(5, 1).sentence
    assert word(0, 1).sentence == "As good: ours differs from pooled network by +0.0 points (90 % interval -0.2 to +0.2)."
    assert "worse" in word(-5, 1).sentence
    assert word(5, 1).sentence.endswith("at 8 of 8 sites.")
    lost = judge({"ours": [9.0] * 7 + [-3.0], "pooled network": [0.0] * 8}, "ours", ["pooled network"])
    assert lost.word == "helps"
    assert lost.sentence.endswith("at 7 of 8 sites. It was worse at 1 of 8 sites, by 3.0 points.")
    lost = judge({"ours": [9.0] * 10 + [-3.0, -1.0], "pooled network": [0.0] * 12}, "ours", ["pooled network"])
    assert lost.sentence.endswith("at 10 of 12 sites. It was worse at 2 of 12 sites, by 2.0 points in the mean.")
    assert "between" in word(5, 25).sentence
