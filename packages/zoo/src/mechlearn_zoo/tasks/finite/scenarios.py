"""Levels behind a mask: what stands where is fixed in an episode, and only glimpsed.

Every level is a grid of the same size with walls, pits and a goal; the walker starts in the middle. Scenarios are a library of
such levels, and what is drawn of them in the world need not be what a model thinks likely.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_share, check_whole
from mechlearn_zoo.tasks.finite.grids import MOVES

FLOOR, WALL, PIT, GOAL = range(4)
"""What a cell may be."""


class Levels(NamedTuple):
    """A library of K levels over the same S cells and A = 4 moves; a state is a cell, walls included.

    Attributes:
        next: (K, S, A) where a move leads; from pits and goals nowhere.
        picture: (K, S) what each cell is.
        rewards: (K, S) paid on arrival: 1 at the goal, -1 in a pit.
        ends: (K, S) 1 where arriving ends the episode.
        goal: (K,) the goal's cell.
        start: the cell that all start in.
    """

    next: Int[Tensor, "K S A"]
    picture: Int[Tensor, "K S"]
    rewards: Float[Tensor, "K S"]
    ends: Float[Tensor, "K S"]
    goal: Int[Tensor, " K"]
    start: int


def levels(count: int, generator: Generator, size: int = 6, walls: float = 0.15, pits: float = 0.05) -> Levels:
    """Draw levels in which the goal can be reached without falling into a pit.

    Args:
        count: K.
        generator: of everything.
        size: cells of a side, without a wall around; at least 3.
        walls: share of walls.
        pits: share of pits.

    Raises:
        TypeError: no generator, or numbers of another type.
        ValueError: no level, a smaller size, or shares outside [0, 1].
    """
    check_generator("generator", generator)
    check_whole("count", count, 1)
    check_whole("size", size, 3)
    check_share("walls", walls)
    check_share("pits", pits)
    start = (size // 2) * size + size // 2
    found = torch.empty(0, size * size, dtype=torch.long)
    while len(found) < count:  # a goal beside the start can always be reached, so that this comes to an end
        drawn = _draw(count, size, start, (walls, pits), generator)
        found = torch.cat([found, drawn[_solvable(drawn, size, start)]])[:count]
    over = (found == PIT) | (found == GOAL)
    pays = (found == GOAL).double() - (found == PIT).double()
    return Levels(_moves(found, size), found, pays, over.double(), (found == GOAL).long().argmax(1), start)


def lower_left(library: Levels, size: int | None = None) -> Float[Tensor, " K"]:
    """Return the distribution of a world that draws only levels with the goal in the lower left quarter, evenly.

    Args:
        library: of levels.
        size: cells of a side; None: the levels' own.

    Raises:
        TypeError: a size that is no whole number.
        ValueError: another size than the levels have, or no such level.
    """
    side = math.isqrt(library.picture.shape[1])
    if size is not None:
        check_whole("size", size, 3)
        if size != side:
            raise ValueError(f"`size` should be what the levels of `library` have, {side}. Found {size}. Leave it out.")
    rows, columns = library.goal // side, library.goal % side
    found = ((rows >= side - side // 2) & (columns < side // 2)).double()
    if not found.any():
        raise ValueError(
            f"`library` should hold a level with its goal in the lower left quarter. Found none of {len(found)}. Draw more."
        )
    return found / found.sum()


def _draw(count: int, size: int, start: int, shares: tuple[float, float], generator: Generator) -> Tensor:
    drawn = torch.rand(count, size * size, generator=generator)
    walls, pits = shares
    found = torch.where(drawn < walls, WALL, torch.where(drawn < walls + pits, PIT, FLOOR))
    found[:, start] = FLOOR
    elsewhere = torch.tensor([cell for cell in range(size * size) if cell != start])
    goals = elsewhere[torch.randint(len(elsewhere), (count,), generator=generator)]
    return found.scatter(1, goals[:, None], GOAL)


def _moves(picture: Tensor, size: int) -> Tensor:
    cells = torch.arange(size * size)
    around = torch.stack([cells // size, cells % size], 1)[:, None] + torch.tensor(MOVES[:4])
    inside = ((around >= 0) & (around < size)).all(-1)
    to = torch.where(inside, around[..., 0] * size + around[..., 1], cells[:, None])
    blocked = picture[:, to] == WALL
    stuck = (picture != FLOOR)[:, :, None]  # walls are stood in by nobody; pits and goals are not left
    return torch.where(blocked | stuck, cells[:, None], to)


def _solvable(picture: Tensor, size: int, start: int) -> Tensor:
    after = _moves(picture, size)
    reached = torch.zeros(picture.shape, dtype=torch.bool)
    reached[:, start] = True
    for _ in range(size * size):
        ahead = torch.zeros_like(reached)
        for action in range(4):
            ahead = ahead | torch.zeros(picture.shape).scatter_add(1, after[..., action], reached.float()).bool()
        reached = reached | ahead
    return (reached & (picture == GOAL)).any(1)
