import pytest
import torch

from mechlearn_zoo.experiments.worlds.two_rooms.two_rooms import TwoRooms


def test_every_step_is_possible_and_of_the_right_size():
    rooms = TwoRooms()
    pairs = rooms.pairs(20_000, torch.Generator().manual_seed(0))
    assert rooms.possible(pairs[:, 0], pairs[:, 1]).all()
    middle = ((pairs[:, 0].abs() - torch.tensor([0.5, 0.0])).abs() < torch.tensor([0.05, 0.5])).all(1)
    assert float((pairs[middle, 1] - pairs[middle, 0]).std()) == pytest.approx(0.15, rel=0.05)
    assert ((pairs[:, 0, 0] > 0) != (pairs[:, 1, 0] > 0)).sum() > 50  # some go through the gap


def test_the_wall_has_one_gap():
    rooms = TwoRooms(gap=(0.2, 0.4))
    y = torch.linspace(-1, 1, 201)
    a, b = torch.stack((torch.full_like(y, -0.1), y), -1), torch.stack((torch.full_like(y, 0.1), y), -1)
    assert torch.equal(rooms.possible(a, b), (y >= 0.2) & (y <= 0.4))
    slanted = rooms.possible(torch.tensor([-0.3, 0.0]), torch.tensor([0.1, 0.4]))  # meets the wall at y = 0.3
    assert bool(slanted)
    assert not bool(rooms.possible(torch.tensor([0.5, 0.0]), torch.tensor([1.5, 0.0])))


def test_pairs_near_the_wall_are_on_either_side():
    rooms = TwoRooms()
    pairs = rooms.near_the_wall(500, torch.Generator().manual_seed(0))
    assert (pairs[:, 0, 0] <= 0).all()
    assert (pairs[:, 1, 0] >= 0).all()
    assert not rooms.possible(pairs[:, 0], pairs[:, 1])[(pairs[:, 0, 0] < 0) & (pairs[:, 1, 0] > 0)].any()
    with pytest.raises(ValueError, match="`gap` should rise"):
        TwoRooms(gap=(0.5, 0.2))


@pytest.mark.parametrize(("rooms", "within"), [(TwoRooms(gap=(-0.9, 0.9)), 0.15), (TwoRooms(), 1e9)])
def test_where_no_pair_is_near_the_wall_that_is_said(rooms, within):
    with pytest.raises(ValueError, match=r"should be wall farther than a step from the gap.* Found none with the gap \("):
        rooms.near_the_wall(500, torch.Generator().manual_seed(0), within)
