import pytest
import torch

from mechlearn_zoo.experiments.mazes.television.pitfalls import Pitfalls, with_pits
from mechlearn_zoo.experiments.mazes.television.television import PRESS, Watching, television
from mechlearn_zoo.tasks.finite.mazes import maze


def world(seed=0):
    generator = torch.Generator().manual_seed(seed)
    grid, pits = with_pits(maze(7, generator), 0.5, generator)
    plain = television(grid, generator)
    return Pitfalls(grid, plain.textures, plain.pictures, pits=pits)


def test_a_step_into_a_pit_leads_back_to_the_first_cell():
    pits = world()
    grid, generator = pits.grid, torch.Generator().manual_seed(0)
    assert pits.pits.any()
    cells = torch.arange(len(grid)).repeat_interleave(4)
    actions = torch.arange(4).repeat(len(grid))
    after = pits.step(Watching(cells, torch.zeros_like(cells)), actions, generator)
    wanted = [0 if bool(pits.pits[there := int(grid.next[c, a])]) else there for c, a in zip(cells, actions, strict=True)]
    assert after.cells.tolist() == wanted
    assert torch.equal(pits.fallen(cells, actions), pits.pits[grid.next[cells, actions]])
    assert not pits.fallen(cells, torch.full_like(cells, PRESS)).any()


def test_pits_are_walls_beside_the_ways_and_the_first_cell_stays():
    generator = torch.Generator().manual_seed(3)
    grid = maze(9, generator)
    opened, pits = with_pits(grid, 0.4, generator)
    assert opened.cells[0].tolist() == grid.cells[0].tolist()
    assert torch.equal(opened.cells[~pits], grid.cells)
    assert 0 < int(pits.sum()) < int((~grid.free[1:-1, 1:-1]).sum())
    for row, column in opened.cells[pits].tolist():
        assert 0 < row < 8
        assert 0 < column < 8
        assert any(grid.free[row + a, column + b] for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1)))
    assert int(with_pits(grid, 0.0, generator)[1].sum()) == 0


@pytest.mark.parametrize(("change", "sentence"), [(slice(None), "leave the first cell out"), (slice(3), "shape")])
def test_bad_pits_are_refused(change, sentence):
    plain = world()
    pits = torch.ones(len(plain.grid), dtype=torch.bool)[change]
    with pytest.raises(ValueError, match=sentence):
        Pitfalls(plain.grid, plain.textures, plain.pictures, pits=pits)
