import pytest
import torch
from torch import Generator

from mechlearn_zoo.experiments.mazes.television.flickering import DARK, Flickering
from mechlearn_zoo.experiments.mazes.television.television import PRESS, television
from mechlearn_zoo.tasks.finite.grids import open_grid


@pytest.fixture(scope="module")
def world():
    made = television(open_grid(3, 3), Generator().manual_seed(0), pictures=5)
    return Flickering(made.grid, made.textures, made.pictures)


def test_every_other_frame_of_one_who_presses_is_dark(world):
    generator, state = Generator().manual_seed(1), world.begin(200)
    shown = []
    for _ in range(6):
        state = world.step(state, torch.full((200,), PRESS), generator)
        shown.append(state.pictures)
    assert all(bool((one != DARK).all()) for one in shown[::2])
    assert all(bool((one == DARK).all()) for one in shown[1::2])
    assert sorted(set(torch.cat(shown[::2]).tolist())) == [1, 2, 3, 4]
    assert torch.equal(state.cells, world.begin(200).cells)


def test_walking_turns_it_dark(world):
    generator, state = Generator().manual_seed(1), world.begin(3)
    state = world.step(state, torch.tensor([PRESS, PRESS, 1]), generator)
    state = world.step(state, torch.tensor([1, 3, 1]), generator)
    assert state.pictures.tolist() == [DARK] * 3
    assert state.cells.tolist() == [3, 1, 6]


def test_off_it_stays_dark(world):
    off = Flickering(world.grid, world.textures, world.pictures, on=False)
    assert off.step(off.begin(2), torch.tensor([PRESS, PRESS]), Generator()).pictures.tolist() == [DARK] * 2


def test_bad_input(world):
    with pytest.raises(ValueError, match="dark one and another"):
        Flickering(world.grid, world.textures, world.pictures[:1])
    with pytest.raises(TypeError, match="generator"):
        world.step(world.begin(1), torch.tensor([0]), None)
