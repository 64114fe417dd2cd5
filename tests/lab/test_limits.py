from types import SimpleNamespace

import pytest

from craik.lab.limits import at_least, between, not_empty, one_of, positive

INFINITE, NAN = float("inf"), float("nan")


def config(value):
    return SimpleNamespace(field=value)


@pytest.mark.parametrize("value", [1, 1.0, (1, 2), (), None])
def test_what_lies_within_the_limits_is_taken(value):
    at_least(config(value), 1, "field")
    between(config(value), 1, 2, "field")
    positive(config(value), "field")


@pytest.mark.parametrize("value", [0, -1, (1, 0), INFINITE, NAN])
def test_what_lies_outside_is_refused_with_what_was_found(value):
    found = value[1] if isinstance(value, tuple) else value
    with pytest.raises(ValueError, match=rf"^field should be at least 1\. Found {found}\.$"):
        at_least(config(value), 1, "field")
    with pytest.raises(ValueError, match=rf"^field should be between 1 and 2: two at most\. Found {found}\.$"):
        between(config(value), 1, 2, "field", why="two at most")
    with pytest.raises(ValueError, match=rf"^field should be positive and finite\. Found {found}\.$"):
        positive(config(value), "field")


def test_every_field_that_is_named_is_checked():
    both = SimpleNamespace(first=1, second=0)
    at_least(both, 1, "first")
    with pytest.raises(ValueError, match="second"):
        at_least(both, 1, "first", "second")


def test_empty_tuples_and_unknown_words_are_refused():
    not_empty(config((0,)), "field")
    one_of(config("quick"), ("quick", "paper"), "field")
    with pytest.raises(ValueError, match=r"^field should have at least one value\. Found none\.$"):
        not_empty(config(()), "field")
    with pytest.raises(ValueError, match=r"^field should be among 'quick', 'paper'\. Found 'huge'\.$"):
        one_of(config(("quick", "huge")), ("quick", "paper"), "field")
