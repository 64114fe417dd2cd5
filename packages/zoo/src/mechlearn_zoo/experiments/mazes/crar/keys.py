"""Mazes with keys to gather: many mazes of one size, many walkers, the same rules in all of them.

Index conventions: m a maze of M, n walkers, s a cell of S = h w in reading order, walls included, k a key of K. The four moves
of `mechlearn_zoo.tasks.finite.grids.MOVES`; a move into a wall stays. A key is gathered on arrival, the last one ends the
episode.
"""

from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_finite, check_generator, check_shape, check_whole
from mechlearn_zoo.tasks.finite.grids import Grid
from mechlearn_zoo.tasks.finite.mazes import maze


class Gathering(NamedTuple):
    """What n walkers are in: (n,) mazes, (n,) cells, (n, K) which keys still lie there."""

    mazes: Int[Tensor, " n"]
    cells: Int[Tensor, " n"]
    left: Bool[Tensor, "n K"]


@dataclass(frozen=True, eq=False)
class Keys:
    """M mazes.

    Args:
        free: (M, h, w) where one can stand.
        next: (M, S, 4) where each move leads.
        start: (M,) the cell that a walker begins in.
        keys: (M, K) the cells of the keys, different ones and not the start.
        paid: for a key.
        cost: of a move that gathers none.

    Raises:
        TypeError: no tensors, or numbers of another type.
        ValueError: sizes that do not fit.
    """

    free: Bool[Tensor, "..."]
    next: Int[Tensor, "..."]
    start: Int[Tensor, "..."]
    keys: Int[Tensor, "..."]
    paid: float = 1.0
    cost: float = 0.1

    def __post_init__(self) -> None:
        check_shape("free", self.free, "M", "h", "w")
        count, height, width = self.free.shape
        check_shape("next", self.next, count, height * width, 4)
        check_shape("start", self.start, count)
        check_shape("keys", self.keys, count, "K")
        check_finite("paid", self.paid)
        check_finite("cost", self.cost)

    def __len__(self) -> int:
        """Return M."""
        return len(self.free)

    def begin(self, mazes: Int[Tensor, " n"]) -> Gathering:
        """Return a walker at the start of each of these mazes, all keys in their places."""
        return Gathering(mazes, self.start[mazes], torch.ones_like(self.keys[mazes], dtype=torch.bool))

    def step(self, state: Gathering, actions: Int[Tensor, " n"]) -> tuple[Gathering, Tensor, Tensor]:
        """Return what follows, rewards (n,) and whether the last key was gathered (n,)."""
        cells = self.next[state.mazes, state.cells, actions]
        found = state.left & (self.keys[state.mazes] == cells[:, None])
        left = state.left & ~found
        got = found.any(1)
        rewards = torch.where(got, self.paid, -self.cost)
        return Gathering(state.mazes, cells, left), rewards, got & ~left.any(1)

    def observe(self, state: Gathering) -> Float[Tensor, "n 3 h w"]:
        """Return three planes: walls, the keys that are left, the walker."""
        rows, (_, height, width) = torch.arange(len(state.cells)), self.free.shape
        planes = torch.zeros(len(rows), 3, height * width)
        planes[:, 0] = (~self.free[state.mazes]).flatten(1).float()
        planes[:, 1].scatter_(1, self.keys[state.mazes], state.left.float())
        planes[rows, 2, state.cells] = 1
        return planes.unflatten(2, (height, width))

    def shortest(self) -> Int[Tensor, " M"]:
        """Return the fewest moves that gather all keys of each maze, by trying every order: for few keys."""
        return torch.tensor([self._shortest(number) for number in range(len(self))])

    def _shortest(self, number: int) -> int:
        grid = Grid(self.free[number])
        places = torch.cat([self.start[number, None], self.keys[number]])
        states = grid.index.flatten()[places]
        apart = grid.distances[states][:, states].tolist()
        orders = permutations(range(1, len(places)))
        return min(sum(apart[a][b] for a, b in zip((0, *order), order, strict=False)) for order in orders)


def mazes_with_keys(count: int, generator: Generator, size: int = 9, keys: int = 3, loops: int = 4) -> Keys:
    """Draw mazes, a start and keys in each, all in different cells.

    >>> world = mazes_with_keys(2, torch.Generator().manual_seed(0))
    >>> world.observe(world.begin(torch.tensor([0, 1]))).shape
    torch.Size([2, 3, 9, 9])

    Args:
        count: M.
        generator: of everything.
        size: of each side, odd, the wall around included.
        keys: K, at least one.
        loops: see `mechlearn_zoo.tasks.finite.mazes.maze`.
    """
    check_generator("generator", generator)
    check_whole("count", count, 1)
    check_whole("keys", keys, 1)
    grids = [maze(size, generator, loops) for _ in range(count)]
    if keys >= len(grids[0]):
        raise ValueError(f"`keys` should leave a cell to start in, of {len(grids[0])} of a maze. Found {keys}.")
    drawn = [torch.randperm(len(grid), generator=generator)[: keys + 1] for grid in grids]
    places = torch.stack([_flat(grid)[some] for grid, some in zip(grids, drawn, strict=True)])
    return Keys(
        torch.stack([grid.free for grid in grids]), torch.stack([_moves(g) for g in grids]), places[:, 0], places[:, 1:]
    )


def _flat(grid: Grid) -> Tensor:
    return grid.cells[:, 0] * grid.free.shape[1] + grid.cells[:, 1]


def _moves(grid: Grid) -> Tensor:
    """(S, 4) over all cells; walls, in which nobody stands, lead to themselves."""
    found = torch.arange(grid.free.numel())[:, None].repeat(1, 4)
    found[_flat(grid)] = _flat(grid)[grid.next]
    return found
