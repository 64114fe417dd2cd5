from dataclasses import dataclass
from itertools import pairwise

import pytest

from claimlab import progress_over


@dataclass(frozen=True)
class Config:
    methods: tuple[str, ...] = ("plain", "ours")
    trials: int = 3


PROGRESS = progress_over("score", method="methods", size=(10, 0.5), trial=lambda config: range(config.trials))
ROWS = [{"method": a, "size": b, "trial": c, "score": 1 / 3} for a in ("plain", "ours") for b in (10, 0.5) for c in range(3)]


def test_shares_rise_by_a_cell_to_one():
    shares = [PROGRESS(Config(), row)[0] for row in ROWS]
    assert shares[0] == 1 / 12
    assert shares[-1] == 1
    assert [after - before for before, after in pairwise(shares)] == pytest.approx([1 / 12] * 11)


def test_words_name_the_cell_and_the_number_if_the_row_has_it():
    assert PROGRESS(Config(), ROWS[-1])[1] == "ours, size 0.5, trial 2  score 0.333"
    assert PROGRESS(Config(), {"method": "plain", "size": 10, "trial": 0})[1] == "plain, size 10, trial 0"
    assert progress_over(method="methods")(Config(), ROWS[0]) == (0.5, "plain")
