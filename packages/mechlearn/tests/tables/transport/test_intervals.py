import numpy as np
import pytest
from scipy.stats import t

from mechlearn.tables.transport.intervals import mean_over_sites, next_site
from transport_oracles import conformal_by_grid


@pytest.mark.parametrize("count", [9, 18, 19, 29])
def test_from_nine_sites_on_it_is_full_conformal_prediction(count):
    scores = np.random.default_rng(count).normal(0.7, 0.1, count).tolist()
    found = next_site(scores)
    assert found.method == "conformal"
    assert (found.low, found.high) == pytest.approx(conformal_by_grid(scores), abs=2e-3)  # as fine as the grid is


def test_below_nine_sites_it_is_a_prediction_interval_of_student():
    scores = [0.5, 0.6, 0.8, 0.7, 0.65]
    found = next_site(scores)
    reach = t.ppf(0.95, 4) * np.std(scores, ddof=1) * np.sqrt(1 + 1 / 5)
    assert (found.low, found.high) == pytest.approx((np.mean(scores) - reach, np.mean(scores) + reach))
    assert "assumes sites alike" in found.method
    assert mean_over_sites(scores).high - np.mean(scores) == pytest.approx(reach / np.sqrt(6))


def test_below_four_sites_there_is_none():
    assert next_site([0.1, 0.2, 0.3]) is None
    assert mean_over_sites([0.1, 0.2, 0.3]) is None


def test_no_end_is_what_a_score_cannot_be():
    found = next_site([0.1, 0.9, 0.95, 0.99], 0.0, 1.0)
    assert (found.low, found.high) == (0, 1)


@pytest.mark.parametrize("count", [6, 9, 14, 19])
def test_it_covers_nine_new_sites_of_ten(count):
    draws = np.random.default_rng(count).normal(size=(4000, count + 1)).tolist()
    inside = []
    for *scores, new in draws:
        found = next_site(scores)
        inside.append(found.low <= new <= found.high)
    exact = 0.9 if count < 9 else 1 - ((count + 1) // 10) / (count + 1)  # 90 %, or the next share that there is
    assert np.mean(inside) == pytest.approx(exact, abs=0.02)


def test_it_covers_whatever_the_scores_are_drawn_from():
    draws = np.random.default_rng(0).exponential(size=(4000, 13)).tolist()
    found = [(next_site(scores), new) for *scores, new in draws]
    assert 0.88 < np.mean([one.low <= new <= one.high for one, new in found]) < 0.95


def test_equal_scores_make_a_point():
    assert (next_site([0.5] * 10).low, next_site([0.5] * 10).high) == (0.5, 0.5)
