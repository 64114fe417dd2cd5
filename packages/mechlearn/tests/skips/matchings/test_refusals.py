import math

import pytest

from mechlearn.arguments import check_share
from mechlearn.skips import Actions, Aligned, Fixed, Greedy


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Greedy(0), "`horizon` should be at least 1.*Found 0"),
        (lambda: Greedy(3, -0.1), r"`exploration` should lie in \[0, 1\]: it is a probability. Found -0.1"),
        (lambda: Greedy(3, math.nan), "Found nan"),
        (lambda: Fixed(-1), "`dt` should be at least 1.*Found -1"),
        (lambda: check_share("teacher_forcing", 1.01), "`teacher_forcing` should lie.*Found 1.01"),
    ],
)
def test_what_cannot_be_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_the_ends_of_a_probability_are_allowed():
    assert (Greedy(1, 0.0).exploration, Greedy(1, 1.0).exploration) == (0.0, 1.0)


@pytest.mark.parametrize("value", [2.5, 2.0, math.nan, True, "3"])
@pytest.mark.parametrize(("kind", "name"), [(Greedy, "horizon"), (Fixed, "dt"), (Aligned, "horizon"), (Actions, "window")])
def test_frames_are_counted_in_whole_numbers(kind, name, value):
    made = object.__new__(kind)  # without its annotations' checks, which only tests have
    object.__setattr__(made, name, value)
    with pytest.raises(TypeError, match=f"`{name}` should be a whole number.*Found {value!r}"):
        made.__post_init__()
