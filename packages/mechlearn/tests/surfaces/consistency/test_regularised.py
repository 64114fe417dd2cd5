import math

import pytest
import torch

from consistency_oracles import ilc_regularised_loss
from mechlearn.surfaces import Consistency, ilc, ilc_regularised, inconsistency, landscape_of_functions


def trained(starts):
    """An algorithm that stays where it starts: bowls around 0 that are left with a loss."""

    def score(point):
        bowls = [lambda x: (x * x).sum() + 0.1, lambda x: (2 + float(point)) * (x * x).sum() + 0.3]
        return inconsistency(landscape_of_functions(bowls, torch.zeros(2, dtype=torch.float64)), Consistency(epsilon=0.1))

    return ilc(float, starts, score)


@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_is_the_literal_equation(weight):
    found = trained([0.0, 1.0, 5.0])
    losses = [list(score.losses) for score in found.scores]
    wanted = ilc_regularised_loss(losses, [score.consistency for score in found.scores], weight)
    assert ilc_regularised(losses, found, weight) == pytest.approx(wanted, abs=1e-12)
    assert ilc_regularised(losses, found.value, weight) == pytest.approx(wanted, abs=1e-12)
    assert ilc_regularised(losses, found, 0.0) == pytest.approx(0.2)
    assert wanted >= 0.2 - 1e-12  # inconsistency costs


@pytest.mark.parametrize(
    ("losses", "value", "weight", "words"),
    [
        ([], -1.0, 1.0, r"row for each initialisation.*Found rows of \[\]"),
        ([[]], -1.0, 1.0, r"Found rows of \[0\]"),
        ([[0.1, 0.2], [0.1]], -1.0, 1.0, r"Found rows of \[2, 1\]"),
        ([[0.1, math.nan]], -1.0, 1.0, "`losses` should be finite"),
        ([[0.1, 0.2]], math.inf, 1.0, "`ilc` should be finite"),
        ([[0.1, 0.2]], -1.0, -1.0, "`weight` should"),
    ],
)
def test_what_is_refused(losses, value, weight, words):
    with pytest.raises(ValueError, match=words):
        ilc_regularised(losses, value, weight)


def test_other_initialisations_are_refused():
    with pytest.raises(ValueError, match="Found 1 and 2"):
        ilc_regularised([[0.1, 0.2]], trained([0.0, 1.0]), 1.0)
