import pytest

from craik.distill import SGD, Adjoint, Checkpoint, Implicit, Truncated, Unroll
from craik.distill.strategies.choices import NAMES, strategy_of


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Checkpoint(segments=0), r"`segments` should be an integer of at least 1\. Found 0"),
        (lambda: Checkpoint(segments=-1), r"`segments` should be .*Found -1"),
        (lambda: Truncated(last=0), r"`last` should be an integer of at least 1\. Found 0"),
        (lambda: Truncated(last=-5), r"`last` should be .*Found -5"),
        (lambda: Implicit(solver="foo"), r'`solver` should be "neumann" or "cg"\. Found \'foo\''),
        (lambda: Implicit("cg", terms=0), r"`terms` should be an integer of at least 1\. Found 0"),
        (lambda: Implicit(scale=0.0), r"`scale` should be positive\. Found 0\.0"),
        (lambda: Implicit(damping=float("nan")), r"`damping` should be at least 0\. Found nan"),
    ],
)
def test_settings_that_cannot_be_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_strategy_is_a_name_or_an_instance():
    assert all(strategy_of(name) is strategy for name, strategy in NAMES.items())
    assert strategy_of(Truncated(last=3)) == Truncated(last=3)
    with pytest.raises(ValueError, match=r"one of unroll, .*Found 'unrol'"):
        strategy_of("unrol")


@pytest.mark.parametrize("given", [Adjoint, Unroll, None, SGD(0.1)])
def test_what_is_no_strategy_is_refused(given):
    with pytest.raises(TypeError, match=r"`strategy` should be one of unroll, .* or an instance with settings. Found"):
        strategy_of(given)
