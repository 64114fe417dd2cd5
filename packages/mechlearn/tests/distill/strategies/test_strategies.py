import pytest

from mechlearn.distill import SGD, Adjoint, Checkpoint, Implicit, Truncated, Unroll
from mechlearn.distill.strategies import check_strategy


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Checkpoint(segments=0), r"`segments` should be at least 1\. Found 0"),
        (lambda: Checkpoint(segments=-1), r"`segments` should be .*Found -1"),
        (lambda: Truncated(last=0), r"`last` should be at least 1\. Found 0"),
        (lambda: Truncated(last=-5), r"`last` should be .*Found -5"),
        (lambda: Implicit(solver="foo"), r'`solver` should be "neumann" or "cg"\. Found \'foo\''),
        (lambda: Implicit("cg", terms=0), r"`terms` should be at least 1\. Found 0"),
        (lambda: Implicit(scale=0.0), r"`scale` should be positive and finite\. Found 0\.0"),
        (lambda: Implicit(damping=float("nan")), r"`damping` should be finite and at least 0\. Found nan"),
    ],
)
def test_settings_that_cannot_be_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("strategy", [Unroll(), Checkpoint(2), Truncated(last=3), Adjoint(), Implicit()])
def test_a_strategy_is_an_instance(strategy):
    check_strategy(strategy)


@pytest.mark.parametrize("given", [Adjoint, Unroll, None, SGD(0.1), "unroll"])
def test_what_is_no_strategy_is_refused(given):
    with pytest.raises(TypeError, match=r"`strategy` should be one of Unroll\(\), .* with their settings\. Found"):
        check_strategy(given)
