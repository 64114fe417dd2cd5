"""Stacking blocks: tasks are sets of towers, demonstrations are made by an exact expert from random starts.

Index conventions: b of a batch, l a frame, i a block of n; a position is x, y on the table and the height z. A task is an order
on blocks: ``below[i]`` is the block that i stands on, -1 for the table. A move puts one block onto another.
"""

from itertools import permutations
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_not_negative, check_whole

TABLE = -1
"""What the lowest blocks stand on."""


class Demonstrations(NamedTuple):
    """B demonstrations, padded to the longest.

    Attributes:
        frames: (B, L, n, 3) positions before the first move and after each.
        present: (B, L) which frames there are.
        movers: (B, L) the block that the expert moves in each frame, -1 at the end and in padding.
        bases: (B, L) where it puts it.
    """

    frames: Float[Tensor, "B L n 3"]
    present: Bool[Tensor, "B L"]
    movers: Int[Tensor, "B L"]
    bases: Int[Tensor, "B L"]


def tasks(blocks: int) -> Int[Tensor, "K n"]:
    """Return every set of towers of n blocks but the one where nothing is stacked, as what each block stands on.

    >>> [len(tasks(n)) for n in (2, 3, 4, 5)]
    [2, 12, 72, 500]
    """
    check_whole("blocks", blocks, 2)
    found: set[tuple[int, ...]] = set()
    for order in permutations(range(blocks)):
        for cuts in range(2 ** (blocks - 1)):
            below = [TABLE] * blocks
            for place in range(1, blocks):
                if not cuts >> (place - 1) & 1:
                    below[order[place]] = order[place - 1]
            found.add(tuple(below))
    return torch.tensor(sorted(found - {(TABLE,) * blocks}))


def scattered(count: int, blocks: int, generator: Generator, near: float = 0.4) -> Float[Tensor, "B n 3"]:
    """Draw starts: every block on the table, x and y in [-1, 1], no two nearer than so much."""
    check_generator("generator", generator)
    check_whole("count", count, 1)
    check_not_negative("near", near)
    found = 2 * torch.rand(count, blocks, 2, generator=generator) - 1
    for _ in range(1000):
        apart = torch.cdist(found, found) + 10 * torch.eye(blocks)
        close = (apart < near).any(2).any(1)
        if not bool(close.any()):
            return torch.cat([found, torch.zeros(count, blocks, 1)], 2)
        found[close] = 2 * torch.rand(int(close.sum()), blocks, 2, generator=generator) - 1
    raise ValueError(
        f"Blocks should find places {near:g} apart on a table of 2 x 2. Found none for {blocks}. Take a smaller distance."
    )


def move(positions: Float[Tensor, "B n 3"], movers: Int[Tensor, " B"], bases: Int[Tensor, " B"]) -> Float[Tensor, "B n 3"]:
    """Put each mover onto its base, where both are free; elsewhere nothing happens."""
    rows = torch.arange(len(positions))
    clear = ~_covered(positions)
    goes = clear[rows, movers] & clear[rows, bases] & (movers != bases)
    found = positions.clone()
    found[rows[goes], movers[goes]] = positions[rows[goes], bases[goes]] + torch.tensor([0.0, 0.0, 1.0])
    return found


def standing(positions: Float[Tensor, "B n 3"]) -> Int[Tensor, "B n"]:
    """Return what each block stands on."""
    over = _above(positions)
    return torch.where(over.any(2), over.long().argmax(2), TABLE)


def expert(positions: Float[Tensor, "B n 3"], below: Int[Tensor, "B n"]) -> tuple[Int[Tensor, " B"], Int[Tensor, " B"]]:
    """Return the next move from states on the way to a task, (-1, -1) where it is done.

    It is that of the first block that is not in place while what it belongs onto is.
    """
    ready = (below == TABLE) | (standing(positions) == below)
    solid = _solid(ready, below)
    base_solid = torch.where(below == TABLE, torch.tensor(data=False), solid.gather(1, below.clamp(min=0)))
    open_ = ~ready & base_solid
    mover = open_.long().argmax(1)
    base = below.gather(1, mover.unsqueeze(1)).squeeze(1)
    done = ~open_.any(1)
    return torch.where(done, -1, mover), torch.where(done, -1, base)


def demonstrate(starts: Float[Tensor, "B n 3"], below: Int[Tensor, "B n"]) -> Demonstrations:
    """Let the expert build each task from its start."""
    frames, present, movers, bases = list[Tensor](), list[Tensor](), list[Tensor](), list[Tensor]()
    positions, going = starts, torch.ones(len(starts), dtype=torch.bool)
    while bool(going.any()):
        mover, base = expert(positions, below)
        for kept, value in zip((frames, present, movers, bases), (positions, going, mover, base), strict=True):
            kept.append(value)
        going = going & (mover >= 0)
        after = move(positions, mover.clamp(min=0), base.clamp(min=0))
        stuck = going & (standing(after) == standing(positions)).all(1)  # the expert would say the same for ever
        if bool(stuck.any()):
            row = int(stuck.long().argmax())
            raise ValueError(
                "Tasks should put one block onto a block, and starts have blocks free that are to be moved. Found block "
                f"{int(mover[row])}, which cannot be put onto {int(base[row])}, in demonstration {row}. Use starts of "
                "`scattered` and tasks of `tasks`."
            )
        positions = torch.where(going[:, None, None], after, positions)
    return Demonstrations(*(torch.stack(parts, 1) for parts in (frames, present, movers, bases)))


def solved(positions: Float[Tensor, "B n 3"], below: Int[Tensor, "B n"]) -> Bool[Tensor, " B"]:
    """Return whether each state is its task's end."""
    return (standing(positions) == below).all(1)


def _above(positions: Tensor) -> Tensor:
    """(B, i, j): i stands on j."""
    gap = positions.unsqueeze(2) - positions.unsqueeze(1)
    return (gap[..., :2].norm(dim=-1) < 0.1) & ((gap[..., 2] - 1).abs() < 0.5)


def _covered(positions: Tensor) -> Tensor:
    return _above(positions).any(1)


def _solid(ready: Tensor, below: Tensor) -> Tensor:
    """Whether a block and everything that belongs below it is in place."""
    solid = ready
    for _ in range(ready.shape[1]):
        under = torch.where(below == TABLE, torch.tensor(data=True), solid.gather(1, below.clamp(min=0)))
        solid = ready & under
    return solid
