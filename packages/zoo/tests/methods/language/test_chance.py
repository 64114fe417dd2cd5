import math

import pytest
from scipy import stats

from mechlearn_zoo.methods.language.chance import best_of, wilson


@pytest.mark.parametrize("items", [999, 1000, 1001, 1030, 1050, 1267, 5000])
@pytest.mark.parametrize(("settings", "chance"), [(1, 0.5), (3, 0.001), (20, 0.25), (100, 0.9)])
def test_any_number_of_items_has_its_interval(items, settings, chance):
    low, high = (stats.binom.ppf(q ** (1 / settings), items, chance) / items for q in (0.025, 0.975))
    assert best_of(settings, items, chance) == (low, high)


@pytest.mark.parametrize("items", [3, 2000])
@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_certain_guessers_have_no_spread(items, chance):
    assert best_of(5, items, chance) == (chance, chance)


def test_few_items_are_added_as_they_were():
    for items in (1, 7, 273, 1000):
        below = [math.comb(items, k) * 0.3**k * (1 - 0.3) ** (items - k) for k in range(items + 1)]
        sums = [min(sum(below[: k + 1]), 1.0) ** 10 for k in range(items + 1)]
        low, high = (next(k for k, one in enumerate(sums) if one >= q) / items for q in ((1 - 0.95) / 2, (1 + 0.95) / 2))
        assert best_of(10, items, 0.3) == (low, high)


def test_more_successes_than_trials_are_refused():
    with pytest.raises(ValueError, match=r"`successes` should be at most the 3 trials\. Found 5\. Check their order\."):
        wilson(5, 3)
    with pytest.raises(ValueError, match=r"at most the 0 trials"):
        wilson(1, 0)


@pytest.mark.parametrize("z", [-1.0, math.inf, math.nan])
def test_no_interval_has_its_ends_swapped(z):
    with pytest.raises(ValueError, match="`z` should be finite and at least 0: standard deviations to each side"):
        wilson(3, 5, z)


def test_an_interval_of_no_width_and_one_of_all():
    assert wilson(3, 5, 0.0) == (0.6, 0.6, 0.6, 5)
    assert wilson(3, 5, 1e200) == pytest.approx((0.6, 0.0, 1.0, 5))
