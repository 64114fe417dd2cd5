import pytest
import torch

from claimlab import Halves

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
