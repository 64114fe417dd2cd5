import math

import pytest

from mechlearn.tables.transport import Curve, Interval, Scored, Transport
from mechlearn.tables.transport.labelled import Point


def answer(gain=0.0, relief=0.0, own=("mine",), random=0.8):
    """An answer of three sites, none of which was computed."""
    one = Scored({"A": 0.7, "B": 0.8, "C": 0.9}, {}, 0.8, 0.5, None, None, random, random - 0.8, None, None)
    point = Point(20, gain, Interval(gain - 1, gain + 1, "Student t"), relief, 3)
    candidates = dict.fromkeys(("best simple", *own), one)
    curve = Curve({"chosen": (point,)}, {})
    return Transport("classification", ("A", "B", "C"), candidates, own, "linear", {}, None, curve, None, (), "", (), ())


@pytest.mark.parametrize(
    ("gain", "relief", "said"),
    [
        (0.0, 0.0, "be worth nothing"),
        (0.04, 0.1, "not move its AUC, but would lower its log loss by 10 %"),
        (2.0, 0.0, "be worth +2.0 points [+1.0, +3.0]"),
        (-0.3, 0.02, "be worth -0.3 points [-1.3, +0.7], and would lower its log loss by 2 %"),
    ],
)
def test_what_twenty_labelled_rows_are_worth_is_said(gain, relief, said):
    assert answer(gain, relief).sentences[-1] == f"Twenty labelled rows of a new site would {said}."


def test_the_verdict_is_on_a_model_of_ones_own_if_there_is_one():
    assert (answer().asked, answer(own=()).asked, answer(own=("one", "two")).asked) == ("mine", *["best simple"] * 2)
    assert answer(own=("mine", "AND-mask")).asked == "mine"
    assert any(line.startswith("Worst sites of mine: A (0.70)") for line in answer().lines())


def test_numbers_that_are_unknown_are_none():
    (line,) = [line for line in answer(random=math.nan).lines() if line.startswith("mine ")]
    assert line.split() == ["mine", "0.80", "none", "none", "none", "0.5"]
