import pytest

from mechlearn_zoo.tasks.pictures.coinrun.ppo import Hyperparameters


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"games": 0}, "`games` should be at least 1"),
        ({"lr": 0.0}, "`lr` should be positive"),
        ({"entropy": -0.1}, "`entropy` should be finite and at least 0"),
        ({"discount": 1.1}, r"`discount` should lie in \[0, 1\]"),
    ],
)
def test_bad_hyperparameters_are_refused(changes, rule):
    with pytest.raises(ValueError, match=rule):
        Hyperparameters(**changes)
