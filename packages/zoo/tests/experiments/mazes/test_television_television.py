import pytest
import torch

from mechlearn_zoo.experiments.mazes.television.television import PRESS, Watching, television
from mechlearn_zoo.tasks.finite.grids import open_grid
from mechlearn_zoo.tasks.finite.mazes import maze


def test_pressing_draws_a_picture_and_stays():
    world, generator = (
        television(maze(7, torch.Generator().manual_seed(0)), torch.Generator().manual_seed(1)),
        torch.Generator(),
    )
    state = world.begin(500, cell=3)
    pressed = world.step(state, torch.full((500,), PRESS), generator)
    assert torch.equal(pressed.cells, state.cells)
    assert len(pressed.pictures.unique()) == 30
    walked = world.step(pressed, torch.randint(4, (500,), generator=generator), generator)
    assert torch.equal(walked.pictures, pressed.pictures)
    assert torch.equal(walked.cells.unique(), world.grid.next[3].unique())


def test_a_set_that_is_off_shows_one_picture():
    world = television(open_grid(3, 3), torch.Generator().manual_seed(0), on=False)
    after = world.step(world.begin(20), torch.full((20,), PRESS), torch.Generator().manual_seed(0))
    assert after.pictures.eq(0).all()


def test_an_observation_is_what_stands_around_and_the_picture():
    world = television(maze(5, torch.Generator().manual_seed(0)), torch.Generator().manual_seed(1), pictures=4, numbers=2)
    cell = world.grid.state((1, 1))
    found = world.observe(Watching(torch.tensor([cell]), torch.tensor([2])))[0].view(6, 2)
    wanted = [world.textures[place] for place in ((0, 1), (2, 1), (1, 0), (1, 2), (1, 1))]
    torch.testing.assert_close(found, torch.stack([*wanted, world.pictures[2]]))
    assert found.numel() == world.size


def test_bad_worlds_are_refused():
    generator = torch.Generator()
    with pytest.raises(ValueError, match="four moves only"):
        television(open_grid(3, 3, stay=True), generator)
    with pytest.raises(ValueError, match="`pictures` should be at least 1"):
        television(open_grid(3, 3), generator, pictures=0)
    with pytest.raises(TypeError, match="Generator"):
        television(open_grid(3, 3), None)
