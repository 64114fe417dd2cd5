import itertools

import pytest
import torch

from mechlearn_zoo.experiments.worlds.dividing.walks import wander
from mechlearn_zoo.tasks.finite.grids import drawn_grid, open_grid
from mechlearn_zoo.tasks.finite.mazes import maze


def test_a_walk_moves_and_turns_back_only_in_dead_ends():
    grid = maze(9, torch.Generator().manual_seed(0))
    path = wander(grid, 300, torch.Generator().manual_seed(1))
    assert len(path) == 301
    ways = [set(row) - {state} for state, row in enumerate(grid.next.tolist())]
    for a, b in itertools.pairwise(path):
        assert b in ways[a]
    for a, b, c in zip(path, path[1:], path[2:], strict=False):
        assert a != c or len(ways[b]) == 1
    assert path == wander(grid, 300, torch.Generator().manual_seed(1))


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"Found none at \(0, 2\)"):
        wander(drawn_grid([".#.", ".##"]), 3, torch.Generator())
    with pytest.raises(ValueError, match="`steps` should be at least 1"):
        wander(open_grid(2, 2), 0, torch.Generator())
