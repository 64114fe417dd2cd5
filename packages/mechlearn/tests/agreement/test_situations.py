"""A few of the situations that `make soak` plays for two minutes."""

import pytest

import situations
from mechlearn.agreement.engine import held


def played(count, first=0):
    for seed in range(first, first + count):
        situations.play(seed)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_situations_end_as_the_definition_has_them(first):
    played(10, first)


def test_a_wrong_weight_is_noticed(monkeypatch):
    monkeypatch.setattr(held, "_plus", lambda total, mean, size: mean * size if total is None else total + mean)
    with pytest.raises(AssertionError, match=r"situation \d+: \w+, .*, held in \d"):
        played(60)
