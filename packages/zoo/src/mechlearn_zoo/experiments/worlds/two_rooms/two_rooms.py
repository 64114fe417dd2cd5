"""Two rooms: points in a square, a wall with a gap off its centre; pairs of points a step apart.

What a step cannot do, it does not do: a point whose step would cross the wall or leave the square draws another.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_not_negative, check_positive, check_whole

MOST_MISSES = 100_000
"""Pairs that are drawn near the wall without finding one, before that is an error."""


@dataclass(frozen=True)
class TwoRooms:
    """The square [-1, 1]^2 with a wall at x = 0.

    Args:
        gap: where the wall is open, from y to y.
        step: standard deviation of a step in each direction.

    Raises:
        TypeError: numbers of another type.
        ValueError: a gap outside the square or without width, a step that is not positive.
    """

    gap: tuple[float, float] = (0.35, 0.75)
    step: float = 0.15

    def __post_init__(self) -> None:
        check_positive("step", self.step)
        if not -1 <= self.gap[0] < self.gap[1] <= 1:
            raise ValueError(f"`gap` should rise within [-1, 1]. Found {self.gap}. Take (0.35, 0.75).")

    def possible(self, a: Float[Tensor, "*b 2"], b: Float[Tensor, "*b 2"]) -> Bool[Tensor, "*b"]:
        """Return whether the straight way from a to b stays in the square and meets the wall in its gap, if at all."""
        inside = (a.abs() <= 1).all(-1) & (b.abs() <= 1).all(-1)
        crosses = (a[..., 0] > 0) != (b[..., 0] > 0)
        share = a[..., 0] / torch.where(crosses, a[..., 0] - b[..., 0], 1.0)
        y = a[..., 1] + share * (b[..., 1] - a[..., 1])
        return inside & (~crosses | ((y >= self.gap[0]) & (y <= self.gap[1])))

    def pairs(self, count: int, generator: Generator, tries: int = 100) -> Float[Tensor, "n 2 2"]:
        """Return points, uniform, and where a step leads from each.

        Args:
            count: n.
            generator: of points and steps.
            tries: steps drawn for a point at most; one that finds none stays where it is.
        """
        check_generator("generator", generator)
        check_whole("count", count, 1)
        check_whole("tries", tries, 1)
        here = 2 * torch.rand(count, 2, generator=generator) - 1
        there, open_ = here.clone(), torch.ones(count, dtype=torch.bool)
        for _ in range(tries):
            drawn = here[open_] + self.step * torch.randn(int(open_.sum()), 2, generator=generator)
            fits = self.possible(here[open_], drawn)
            rows = open_.nonzero().flatten()[fits]
            there[rows] = drawn[fits]
            open_[rows] = False
            if not open_.any():
                break
        return torch.stack((here, there), 1)

    def near_the_wall(self, count: int, generator: Generator, within: float = 0.15) -> Float[Tensor, "n 2 2"]:
        """Return pairs of points on either side of the wall, near it and each other, farther than a step from the gap.

        Args:
            count: n.
            generator: of the points.
            within: how far from the wall at most.
        """
        check_generator("generator", generator)
        check_whole("count", count, 1)
        check_not_negative("within", within)
        found: list[Tensor] = []
        walled = self.gap[0] - self.step > -1 or self.gap[1] + self.step < 1
        misses = 0 if walled else MOST_MISSES
        while sum(map(len, found)) < count:
            if misses >= MOST_MISSES:
                raise ValueError(
                    "There should be wall farther than a step from the gap, and pairs near it. Found none with the gap "
                    f"{self.gap}, steps of {self.step} and a distance of {within}. Take a smaller gap, step or distance."
                )
            x = within * torch.rand(4 * count, 2, generator=generator) * torch.tensor([-1.0, 1.0])
            y = (2 * torch.rand(4 * count, 1, generator=generator) - 1) + within * (
                torch.rand(4 * count, 2, generator=generator) - 0.5
            )
            far = ((y < self.gap[0] - self.step) | (y > self.gap[1] + self.step)).all(1) & (y.abs() <= 1).all(1)
            found.append(torch.stack((x, y), -1)[far])
            misses = 0 if bool(far.any()) else misses + len(far)
        return torch.cat(found)[:count]
