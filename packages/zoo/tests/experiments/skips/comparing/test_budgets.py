import pytest
from torch import Generator

from mechlearn.skips import Fixed, Greedy
from mechlearn_zoo.experiments.skips.comparing.budgets import Spending, falling, matching_at, rate_at


def test_exploration_falls_with_what_was_spent():
    assert [falling(share, 0.4) for share in (0.0, 0.1, 0.4, 1.0)] == pytest.approx([1.0, 0.75, 0.0, 0.0])
    assert falling(0.0, 0.0) == 0.0


def test_a_method_is_matched_by_its_name():
    assert matching_at("fixed-6", 0.5, 20, 0.4) == Fixed(6)
    assert matching_at("asi", 0.0, 20, 0.4, ties="last") == Greedy(20, 1.0, ties="last")
    assert matching_at("asi", 0.4, 20, 0.4) == Greedy(20, 0.0)


def test_the_learning_rate_falls_over_the_last_three_tenths():
    assert [rate_at(2.0, share) for share in (0.0, 0.7, 0.85, 1.0)] == pytest.approx([2.0, 2.0, 1.0, 0.04])


def test_spending_draws_as_many_episodes_as_a_step_may_cost():
    spending, generator = Spending(budget=100, evaluations=40, guess=10.0), Generator().manual_seed(0)
    rows = spending.draw(9, generator)
    assert len(rows) == len(set(rows.tolist())) == 4  # 40 evaluations at 10 an episode
    spending.add(80, rows)
    assert (spending.goes_on, spending.share, spending.steps) == (True, 0.8, 1)
    assert len(spending.draw(9, generator)) == 2  # at the 20 that each of the four took
    spending.add(20, rows)
    assert not spending.goes_on
    assert len(Spending(1, 1, guess=50.0).draw(9, generator)) == 1
    assert len(Spending(1, 100, guess=1.0).draw(9, generator)) == 9
