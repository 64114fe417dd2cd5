import pytest
import torch

from craik.tasks.finite.mazes import maze
from craik.tasks.finite.pitfalls import Pitfalls, dead_ends
from craik.tasks.finite.television import PRESS, Watching, television


def world(seed=0):
    plain = television(maze(7, torch.Generator().manual_seed(seed)), torch.Generator().manual_seed(1))
    return Pitfalls(plain.grid, plain.textures, plain.pictures, pits=dead_ends(plain.grid))


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


def test_dead_ends_have_one_way_out():
    grid = maze(9, torch.Generator().manual_seed(3))
    found = dead_ends(grid)
    ways = [sum(int(there) != cell for there in grid.next[cell]) for cell in range(len(grid))]
    assert found.tolist() == [cell > 0 and count == 1 for cell, count in enumerate(ways)]


@pytest.mark.parametrize(("change", "sentence"), [(slice(None), "leave the first cell out"), (slice(3), "shape")])
def test_bad_pits_are_refused(change, sentence):
    plain = world()
    pits = torch.ones(len(plain.grid), dtype=torch.bool)[change]
    with pytest.raises(ValueError, match=sentence):
        Pitfalls(plain.grid, plain.textures, plain.pictures, pits=pits)
