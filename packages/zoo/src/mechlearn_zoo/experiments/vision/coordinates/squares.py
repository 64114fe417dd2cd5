"""Squares on a canvas: positions in, pictures out, and back; the toy set of the CoordConv paper ("Not-so-Clevr").

Liu et al. 2018 (https://arxiv.org/abs/1807.03247, section 4): a 9 x 9 square on a canvas of 64 x 64, at each of the 56 x 56
places where it fits, and two splits: "uniform" holds out a fifth of the places at random, "quadrant" those in the lower right
quarter, where a network has never been. Positions are (row, column) of the square's centre, in pixels; scaled ones lie in
[-1, 1] over the canvas.
"""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_one_of, check_whole

Division = Literal["uniform", "quadrant"]


class Squares(NamedTuple):
    """Every place of a square on a canvas.

    Attributes:
        places: (p, 2) row and column of the centre, in pixels.
        scaled: (p, 2) the same in [-1, 1] over the canvas.
        images: (p, 1, side, side) 1 in the square, 0 elsewhere.
        held_out: (p,) which places are for testing.
    """

    places: Int[Tensor, "p 2"]
    scaled: Float[Tensor, "p 2"]
    images: Float[Tensor, "p 1 side side"]
    held_out: Bool[Tensor, " p"]


def squares(seed: int, side: int = 64, square: int = 9, division: Division = "uniform") -> Squares:
    """Return every place, and which of them are held out.

    Args:
        seed: of the split "uniform".
        side: of the canvas, in pixels.
        square: its side, odd, so that it has a centre.
        division: which places are held out.
    """
    check_whole("square", square, least=1)
    check_whole("side", side, least=square + 1, why="a square should fit at two places or more")
    check_one_of("division", division, get_args(Division))
    if square % 2 == 0:
        raise ValueError(f"`square` should be odd, so that it has a centre. Found {square}. Take {square + 1}.")
    half = square // 2
    line = torch.arange(half, side - half)
    places = torch.cartesian_prod(line, line)
    middle = (side - 1) / 2
    if division == "quadrant":
        held_out = (places > middle).all(1)
    else:
        drawn = torch.randperm(len(places), generator=Generator().manual_seed(seed))
        held_out = torch.zeros(len(places), dtype=torch.bool)
        held_out[drawn[: len(places) // 5]] = True
    return Squares(places, places / middle - 1, draw_squares(places, side, square), held_out)


def draw_squares(places: Int[Tensor, "p 2"], side: int, square: int) -> Float[Tensor, "p 1 side side"]:
    """Return pictures of squares with these centres, cut off at the canvas."""
    pixels = torch.arange(side)
    near = (pixels - places[:, :, None]).abs() <= square // 2
    return (near[:, 0, :, None] & near[:, 1, None, :]).float()[:, None]
