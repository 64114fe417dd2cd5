import pytest

from mechlearn.schedules import Constant, Inverse, Linear, StepDecay


def test_linear_is_the_thesis_schedule():
    mu = Linear(7500)
    assert [mu(i) for i in (0, 1500, 7499, 7500, 10**6)] == [1.0, 0.8, 1 - 7499 / 7500, 0.0, 0.0]
    assert Linear(10, start=1.0, end=0.5)(5) == 0.75


def test_the_learning_rate_drops_once_in_the_thesis_and_again_in_the_code():
    once, again = (StepDecay(1e-3, 7500, repeated=repeated) for repeated in (False, True))
    assert [once(i) for i in (7499, 7500, 15000)] == pytest.approx([1e-3, 2e-4, 2e-4])
    assert [again(i) for i in (7499, 7500, 15000)] == pytest.approx([1e-3, 2e-4, 4e-5])


@pytest.mark.parametrize("schedule", [Constant(1.0), Linear(3), Inverse(), StepDecay(1.0, 3)])
def test_steps_are_counted_from_0(schedule):
    assert schedule(0) == 1.0
    with pytest.raises(ValueError, match=r"Found -1\. Steps are counted from 0"):
        schedule(-1)


@pytest.mark.parametrize("make", [Linear, Inverse, lambda steps: StepDecay(1.0, steps)])
def test_no_steps_are_refused(make):
    with pytest.raises(ValueError, match=r"`steps` should be .*Found 0"):
        make(0)
