from types import SimpleNamespace

import pytest

from claimlab import Choice, LogUniform, Options, Uniform, Whole


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Uniform(1, 1), "should begin below its end. Found 1 and 1"),
        (lambda: Uniform(0, float("inf")), "two finite ends"),
        (lambda: Uniform(False, 1), "two finite ends"),
        (lambda: LogUniform(0, 1), "begin above 0. Found 0"),
        (lambda: Whole(0.5, 3), "whole ends. Found 0.5 and 3"),
        (lambda: Choice(1), "two or more"),
        (lambda: Choice(1, 1), "each once"),
        (lambda: Options({"a": {"x": 1}}), "two or more groups"),
        (lambda: Options({"a": {"x": 1}, "b": {"y": 1}}), "of the same fields"),
    ],
)
def test_what_is_no_range_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(ValueError, match="should") as found:
        make()
    assert sentence in str(found.value)


def test_one_and_true_are_two_values():
    assert Choice(1, True).values == (1, True)


def test_grids():
    assert Uniform(0, 1).grid() == [0, 0.25, 0.5, 0.75, 1]
    assert LogUniform(1e-4, 1).grid() == pytest.approx([1e-4, 1e-3, 1e-2, 1e-1, 1])
    assert LogUniform(1e-4, 0.3).grid()[-1] == 0.3  # the end itself, or Optuna would refuse it
    assert Whole(0, 2).grid() == [0, 1, 2]
    assert Whole(0, 100).grid() == [0, 25, 50, 75, 100]
    assert list(Choice("a", None).grid()) == ["a", None]


def test_a_config_s_own_value():
    config = SimpleNamespace(x=0.5, listed=(0.5,), l1=0.0, l2=0.1)
    assert Uniform(0, 1).value_in("x", config) == Uniform(0, 1).value_in("listed", config) == 0.5
    groups = Options({"l1": {"l1": 0.1, "l2": 0.0}, "l2": {"l1": 0.0, "l2": 0.1}})
    assert groups.value_in("penalty", config) == "l2"
    assert groups.fields("penalty", "l1") == {"l1": 0.1, "l2": 0.0}
    with pytest.raises(ValueError, match=r"x 0\.5 lies outside 1 to 2"):
        Uniform(1, 2).value_in("x", config)
    with pytest.raises(ValueError, match=r"x 0\.5 is not one of 1, 2"):
        Choice(1, 2).value_in("x", config)
