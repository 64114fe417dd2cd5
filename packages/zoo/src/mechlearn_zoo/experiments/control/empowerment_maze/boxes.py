"""A walker and a box on a grid: the box can be pushed, or stands fast (Klyubin et al. 2005, box-pushing world)."""

import torch
from jaxtyping import Int
from torch import Tensor

from mechlearn.arguments import check_flag
from mechlearn_zoo.tasks.finite.grids import Grid


def with_box(grid: Grid, pushable: bool) -> Int[Tensor, "SS A"]:
    """Return where each move leads from each pair of places, numbered walker * S + box.

    Walking into the box pushes it one cell on where it is pushable and the cell behind it is free; otherwise the walker
    stays. From a pair with both in one place, which no move reaches from another, every move stays.

    Args:
        grid: of S free cells.
        pushable: whether the box moves.
    """
    check_flag("pushable", pushable)
    count, actions = grid.next.shape
    walker, box = torch.arange(count)[:, None, None], torch.arange(count)[None, :, None]
    to = grid.next[:, None, :].expand(count, count, actions)
    behind = grid.next[box.expand(count, count, 1), torch.arange(actions)]
    meets = (to == box) & (to != walker)
    moves = meets & (behind != box) & pushable
    walked = torch.where(meets & ~moves, walker, to)
    carried = torch.where(moves, behind, box.expand_as(behind))
    found = walked * count + carried
    together = (walker == box).expand_as(found)
    return torch.where(together, walker * count + box, found).flatten(0, 1)
