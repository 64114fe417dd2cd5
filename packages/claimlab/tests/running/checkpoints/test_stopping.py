import math

import pytest
import torch

from claimlab import EarlyStopping, Halves


def curve(validations, test, best="highest", looks=4):
    stopping = EarlyStopping(looks, best)
    for step, (validation, value) in enumerate(zip(validations, test, strict=True), 1):
        if stopping.due(step / len(test)):
            stopping.look(step / len(test), validation, {"accuracy": value})
    return stopping


def test_what_was_measured_where_validation_is_best_is_kept():
    assert curve([0.1, 0.9, 0.9, 0.2], [1, 2, 3, 4]).row == {"stopped_at": 0.5, "stopped_accuracy": 2}
    assert curve([0.1, 0.9, 0.9, 0.2], [1, 2, 3, 4], "lowest").row == {"stopped_at": 0.25, "stopped_accuracy": 1}


@pytest.mark.parametrize("best", ["highest", "lowest"])
def test_a_validation_that_is_not_a_number_is_never_best(best):
    assert curve([math.nan, 0.5, math.nan, 0.5], [1, 2, 3, 4], best).row["stopped_accuracy"] == 2
    assert curve([math.nan] * 4, [1, 2, 3, 4], best).row["stopped_accuracy"] == 1


def test_a_look_that_would_be_kept_is_known_beforehand():
    stopping = EarlyStopping(best="lowest")
    assert stopping.improves(math.nan)  # of equals the first
    stopping.look(0.5, 0.25, {})
    assert [stopping.improves(validation) for validation in (0.125, 0.25, 0.5, math.nan)] == [True, False, False, False]
    assert EarlyStopping(validation=0.25).improves(0.5)


@pytest.mark.parametrize(("steps", "looks"), [(7, 20), (120, 20), (121, 20), (1000, 7), (49, 49), (3, 1)])
def test_looks_are_spread_evenly_and_one_is_at_the_end(steps, looks):
    stopping = EarlyStopping(looks)
    due = [step for step in range(1, steps + 1) if stopping.due(step / steps)]
    assert (len(due), due[-1]) == (min(steps, looks), steps)
    assert due == [step for step in range(1, steps + 1) if step * looks // steps > (step - 1) * looks // steps]


def test_a_step_that_jumps_over_looks_is_looked_at_once():
    stopping = EarlyStopping(10)
    assert [stopping.due(share) for share in (0.05, 0.55, 0.58, 1.3, 1.4)] == [False, True, False, True, False]


def test_no_look_is_refused():
    with pytest.raises(ValueError, match="looks should be 1 or more"):
        EarlyStopping(0)


def test_looks_go_on_where_they_were():
    whole, first, second = EarlyStopping(4), EarlyStopping(4), EarlyStopping(4)
    for step, validation in enumerate((0.2, 0.6, 0.9, 0.4), 1):
        if step == 3:
            second.load_state_dict(first.state_dict())
        for stopping in (whole, first if step < 3 else second):
            if stopping.due(step / 4):
                stopping.look(step / 4, validation, {"accuracy": step})
    assert second == whole
    assert second.row == {"stopped_at": 0.75, "stopped_accuracy": 3}


FOUND = (torch.tensor([1.0, 0.0, 1.0, 1.0]), torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([1.0, 0.0, 1.0, 0.0]))


def looked(best, steps=(1, 2, 3), halves=None):
    halves = halves or Halves(3, best)
    for step in steps:
        assert halves.due(step / 3)
        halves.look(step / 3, "accuracy", FOUND[step - 1], {"beside": step})
    return halves


def test_each_half_stops_for_the_other():
    # Highest: the first half is 1 at the first look, where the other is 1/2; the other at the second, where the first is 0.
    assert looked("highest").row == {"stopped_at": pytest.approx(0.5), "stopped_accuracy": 0.25, "stopped_beside": 1.5}
    # Lowest: the first half is 0 at the second look alone, where the other is 1; the other at the last, where the first is 1.
    wanted = {"stopped_at": pytest.approx((2 / 3 + 1) / 2), "stopped_accuracy": 1.0, "stopped_beside": 2.5}
    assert looked("lowest").row == wanted


def test_a_look_is_due_once_and_none_leaves_no_row():
    halves = Halves(2)
    assert [halves.due(share) for share in (0.2, 0.5, 0.6, 1.0)] == [False, True, False, True]
    assert halves.row == {}


def test_halves_go_on_where_they_were():
    second = Halves(3, "lowest")
    second.load_state_dict(looked("lowest", (1, 2)).state_dict())
    assert looked("lowest", (3,), second).row == looked("lowest").row
