"""Walks through a grid by somebody who wants nothing: what planning by hindsight is learnt from."""

import torch
from torch import Generator

from mechlearn.arguments import check_generator, check_kind, check_whole
from mechlearn_zoo.tasks.finite.grids import Grid


def wander(grid: Grid, steps: int, generator: Generator) -> list[int]:
    """Return the states of a walk from a random cell, which turns back only where it cannot go on.

    >>> from mechlearn_zoo.tasks.finite.grids import open_grid
    >>> wander(open_grid(1, 4), 6, torch.Generator().manual_seed(0))
    [0, 1, 2, 3, 2, 1, 0]

    Args:
        grid: where it walks.
        steps: how many moves.
        generator: of the first cell and the moves.
    """
    check_kind("grid", grid, Grid, "a Grid")
    check_whole("steps", steps, 1)
    check_generator("generator", generator)
    ways = [sorted({after for after in row if after != state}) for state, row in enumerate(grid.next.tolist())]
    if not all(ways):
        shut = grid.cells[[not one for one in ways].index(True)].tolist()
        raise ValueError(f"`grid` should have a way out of every cell. Found none at {tuple(shut)}. Wall it in, or open it.")
    state, before = int(torch.randint(len(grid), (), generator=generator)), -1
    path = [state]
    for drawn in torch.rand(steps, generator=generator).tolist():
        onward = [after for after in ways[state] if after != before] or ways[state]
        before, state = state, onward[int(drawn * len(onward))]
        path.append(state)
    return path
