import pytest

from claimlab.claims import Measurement
from claimlab.conditions import RULES, condition


def measured(value, low=None, high=None):
    return Measurement(value, value if low is None else low, value if high is None else high, 5)


RULED = [
    ("above 0.5", measured(0.6), measured(0.5)),
    ("at least 0.5", measured(0.5), measured(0.49)),
    ("below 0.5", measured(0.4), measured(0.5)),
    ("at most 0.5", measured(0.5), measured(0.51)),
    ("exactly 0", measured(0), measured(1e-9)),
    ("between 1 and 2", measured(2), measured(2.1)),
    ("within 0.1 of 1", measured(0.95), measured(1.2)),
    ("within 10 % of 200", measured(190), measured(230)),
    ("within a factor of 2 of 10", measured(5), measured(21)),
    ("within a factor of 2 of -4", measured(-8), measured(-1.9)),
    ("exactly 16777217", measured(16777217), measured(16777216)),
    ("at most 1234567.5", measured(1234567), measured(1234568)),
    ("above 0.12345678", measured(0.2), measured(0.1234567)),
    ("around 0 with its interval", measured(1, -1, 2), measured(1, 0.1, 2)),
    ("above 0 with its whole interval", measured(1, 0.1, 2), measured(1, 0, 2)),
    ("at least 0 with its whole interval", measured(1, 0, 2), measured(1, -0.1, 2)),
    ("below 0 with its whole interval", measured(-1, -2, -0.1), measured(-1, -2, 0)),
    ("at most 0 with its whole interval", measured(-1, -2, 0), measured(-1, -2, 0.1)),
    ("at most inf", measured(1e300), None),
]


@pytest.mark.parametrize(("words", "holds", "fails"), RULED)
def test_words_are_what_they_ask(words, holds, fails):
    for before in ("", "accuracy, mean over seeds, ", "the share above which one wins, of 3 and 4, "):
        found = condition(before + words)
        assert found.words == before + words
        assert found.test(holds)
        assert fails is None or not found.test(fails)


def test_every_rule_is_tested():
    ruled = [words for words, *_ in RULED]
    assert all(any(words.startswith(rule.partition(" #")[0]) for words in ruled) for rule in RULES)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("above 0.3333333333333333", "above 0.333333"),  # a fraction that was computed
        ("error at most 1.000000001", "error at most 1"),  # room for rounding
        ("error, mean over seeds, below 0.00001", "error, mean over seeds, below 1e-05"),
    ],
)
def test_long_numbers_are_shortened_in_words_alone(words, shown):
    assert condition(words).words == shown
    assert condition("at most 1.000000001").test(measured(1 + 1e-9))


@pytest.mark.parametrize("words", ["high", "above", "above nan", "above 0.5 or so", ""])
def test_words_without_a_rule_are_refused(words):
    with pytest.raises(ValueError, match=rf"a rule such as 'above 0\.5'\. Found {words!r}"):
        condition(words)


def test_two_conditions_on_one_number():
    both = condition("c above 1, and at most 2 with its whole interval")
    assert both.words == "c above 1, and at most 2 with its whole interval"
    assert [both.test(measured(value)) for value in (1, 1.5, 2.5)] == [False, True, False]
    assert condition("gain, and loss, above 1").words == "gain, and loss, above 1"


def test_the_presets_that_a_condition_is_meant_for():
    assert condition("above 1").presets == ("quick", "paper")
    assert condition("above 1").at("epochs").presets == ("epochs",)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("within a factor of 0.5 of 4", r"a factor of at least 1. Found .*0\.5"),
        ("between 3 and 1", "bounds in their order. Found .*3, 1"),
        ("within -0.1 of 1", r"a distance of at least 0. Found .*-0\.1"),
        ("within -10 % of 1", "a share of at least 0"),
        ("within 10 % of 0", "a target other than 0"),
    ],
)
def test_what_no_value_can_fulfil_is_refused(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        condition(words)
