import pytest

from claimlab.claims import Measurement
from claimlab.conditions import (
    above,
    at_least,
    at_most,
    below,
    between,
    contains,
    equal,
    high_at_most,
    high_below,
    low_above,
    low_at_least,
    within,
    within_factor,
    within_share,
)
from claimlab.conditions import (
    condition as spoken,
)


def measured(value, low=None, high=None):
    return Measurement(value, value if low is None else low, value if high is None else high, 5)


@pytest.mark.parametrize(
    ("condition", "words", "holds", "fails"),
    [
        (above(0.5), "above 0.5", measured(0.6), measured(0.5)),
        (at_least(0.5), "at least 0.5", measured(0.5), measured(0.49)),
        (below(0.5), "below 0.5", measured(0.4), measured(0.5)),
        (at_most(0.5), "at most 0.5", measured(0.5), measured(0.51)),
        (equal(0), "exactly 0", measured(0), measured(1e-9)),
        (between(1, 2), "between 1 and 2", measured(2), measured(2.1)),
        (within(0.1, 1), "within 0.1 of 1", measured(0.95), measured(1.2)),
        (within_share(0.1, 200), "within 10 % of 200", measured(190), measured(230)),
        (within_factor(2, 10), "within a factor of 2 of 10", measured(5), measured(21)),
        (within_factor(2, -4), "within a factor of 2 of -4", measured(-8), measured(-1.9)),
        (equal(16777217), "exactly 16777217", measured(16777217), measured(16777216)),
        (at_most(1234567.5), "at most 1234567.5", measured(1234567), measured(1234568)),
        (at_most(1 + 1e-9), "at most 1", measured(1 + 1e-9), measured(1.1)),
        (above(1 / 3), "above 0.333333", measured(0.34), measured(1 / 3)),
        (above(0.12345678), "above 0.12345678", measured(0.2), measured(0.1234567)),
        (contains(0), "around 0 with its interval", measured(1, -1, 2), measured(1, 0.1, 2)),
        (low_above(0), "above 0 with its whole interval", measured(1, 0.1, 2), measured(1, 0, 2)),
        (low_at_least(0), "at least 0 with its whole interval", measured(1, 0, 2), measured(1, -0.1, 2)),
        (high_below(0), "below 0 with its whole interval", measured(-1, -2, -0.1), measured(-1, -2, 0)),
        (high_at_most(0), "at most 0 with its whole interval", measured(-1, -2, 0), measured(-1, -2, 0.1)),
    ],
)
def test_words_and_test_are_one(condition, words, holds, fails):
    assert condition.words == words
    assert condition.test(holds)
    assert not condition.test(fails)


@pytest.mark.parametrize(
    "words",
    [
        "above 0.5", "accuracy at least 0.95", "error, mean over seeds, below 1e-05", "count exactly 3", "loss at most -0.5",
        "share between 0.36 and 0.47", "ratio within 0.1 of 1", "ratio within 10 % of 2.5", "rate within a factor of 2 of 0.01",
        "lead above 0 with its whole interval", "lead at least -1 with its whole interval",
        "lead below 0 with its whole interval", "lead at most 1.15 with its whole interval",
        "c above 1, and at most 2 with its whole interval", "the share above which one wins, of 3 and 4, above 0.5",
    ],
)  # fmt: skip
def test_words_say_their_condition(words):
    assert spoken(words).words == words


def test_words_without_a_rule_are_refused():
    with pytest.raises(ValueError, match=r"a rule such as 'above 0\.5', but found 'high'"):
        spoken("high")


def test_what_the_number_is_stands_before_the_rule():
    assert above(0.5, of="accuracy").words == "accuracy above 0.5"


def test_two_conditions_on_one_number():
    both = above(1, of="c") & high_at_most(2)
    assert both.words == "c above 1, and at most 2 with its whole interval"
    assert [both.test(measured(value)) for value in (1, 1.5, 2.5)] == [False, True, False]


def test_the_presets_that_a_condition_is_meant_for():
    assert above(1).presets == ("quick", "paper")
    assert above(1).at("epochs").presets == ("epochs",)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: within_factor(0.5, 4), "a factor must be 1 or more, but found 0.5"),
        (lambda: between(3, 1), "bounds must lie in their order, but found 3 above 1"),
        (lambda: within(-0.1, 1), "a distance must not be negative, but found -0.1"),
        (lambda: within_share(-0.1, 1), "a share must not be negative"),
        (lambda: within_share(0.1, 0), "a target other than 0"),
        (lambda: above(float("nan")), "a bound must be a number, but found nan"),
    ],
)
def test_what_no_value_can_fulfil_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
