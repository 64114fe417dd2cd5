"""Conway's Game of Life: a random board in, the middle cell three generations later out.

The boards in between are privileged, in an order that is shuffled once for the whole dataset: a teacher must find out
which of them helps which layer.

Source: thesis section 4.4.2 and appendix C.3, figures 4.5 and 4.6. Boards are surrounded by dead cells: the texts do not
say what lies beyond the edge. With 17 cells a side and 3 generations the middle cell cannot know.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import conv2d

from mechlearn_zoo.tasks.privileged import Part, PrivilegedData, check_sizes

STEPS = 3


class LifeData(NamedTuple):
    """One dataset.

    Attributes:
        data: the three splits: x (b, side, side), privileged (b, 3, side, side) with its frames in the shuffled order, y
            the middle cell, all 0.0 or 1.0.
        frame_of_step: (3,) where the board after generation k + 1 stands among the privileged frames.
    """

    data: PrivilegedData
    frame_of_step: Int[Tensor, " 3"]


def next_board(boards: Float[Tensor, "b side side"]) -> Float[Tensor, "b side side"]:
    """Return the next generation: alive with three living neighbours, or with two if alive already."""
    kernel = torch.ones(1, 1, 3, 3, dtype=boards.dtype)
    kernel[0, 0, 1, 1] = 0
    neighbours = conv2d(boards[:, None], kernel, padding=1)[:, 0]
    return ((neighbours == 3) | ((neighbours == 2) & (boards == 1))).to(boards.dtype)


def life(seed: int, examples: int, side: int = 17, alive: float = 0.4, selection: int = 1000, test: int = 2000) -> LifeData:
    """Draw boards and let them live.

    Args:
        seed: of the boards and of the order of the privileged frames.
        examples: training examples.
        side: cells a side; odd, so that there is a middle.
        alive: probability that a cell is alive at first.
        selection: held-out examples for choosing.
        test: test examples.

    Raises:
        ValueError: a size below 1, an even side, or a probability outside (0, 1).
    """
    check_sizes({"examples": examples, "side": side, "selection": selection, "test": test})
    if side % 2 == 0:
        raise ValueError(f"`side` should be odd: an even board has no middle cell. Found {side}.")
    if not 0 < alive < 1:
        raise ValueError(f"`alive` should lie between 0 and 1. Found {alive}.")
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(STEPS, generator=generator)

    def draw(count: int) -> Part:
        x = (torch.rand(count, side, side, generator=generator) < alive).float()
        frames = [x]
        for _ in range(STEPS):
            frames.append(next_board(frames[-1]))
        y = frames[-1][:, side // 2, side // 2]
        return Part(x, torch.stack(frames[1:], dim=1)[:, order], y)

    return LifeData(PrivilegedData(draw(examples), draw(selection), draw(test)), order.argsort())


def oracle_logits(frame_of_step: Int[Tensor, " 3"], filters: int, sharpness: float = 20.0) -> Float[Tensor, "3 filters_all"]:
    """Return phi of the fixed oracle teacher: the last layer of every generation is shown the board after it.

    Args:
        frame_of_step: of the dataset.
        filters: feature maps of a layer; there are three supervised layers, one a generation.
        sharpness: of the softmax through time, which is one-hot up to exp(-sharpness).

    Returns:
        (3, 3 * filters): frames, then the filters of the three layers side by side, as a mixture over time has them.
    """
    phi = torch.zeros(STEPS, STEPS, filters)
    for step in range(STEPS):
        phi[frame_of_step[step], step] = sharpness
    return phi.flatten(1)
