"""A formula on ranges of its inputs, few noisy examples of it with its terms, and pendulums of any swing."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

ENVIRONMENTS = 4
INSIDE, OUTSIDE = 1.0, 2.5
"""Half the side of the square that training sees, and of the one around it."""


class Fold(NamedTuple):
    """Inputs (b, n) and answers (b, 1)."""

    x: Float[Tensor, "b n"]
    y: Float[Tensor, "b 1"]


class Ranges(NamedTuple):
    """Training data of several environments, and tests inside and outside of their ranges."""

    train: Fold
    environments: Int[Tensor, " b"]
    inside: Fold
    outside: Fold


class Few(NamedTuple):
    """Few training examples with the formula's terms (b, 3), and tests."""

    train: Fold
    terms: Float[Tensor, "b 3"]
    inside: Fold
    outside: Fold


def terms(x: Float[Tensor, "b n"]) -> Float[Tensor, "b 3"]:
    """Return the terms of the formula: sin(2 x_1), x_1 x_2, x_2."""
    return torch.stack([(2 * x[:, 0]).sin(), x[:, 0] * x[:, 1], x[:, 1]], 1)


def formula(x: Float[Tensor, "b n"]) -> Float[Tensor, "b 1"]:
    """Return sin(2 x_1) + x_1 x_2 + x_2 / 2."""
    return terms(x) @ torch.tensor([[1.0], [1.0], [0.5]])


def _square(count: int, half: float, generator: Generator) -> Tensor:
    return (2 * torch.rand(count, 2, generator=generator) - 1) * half


def _around(count: int, generator: Generator) -> Tensor:
    """Points of the larger square that do not lie in the smaller one."""
    x = _square(4 * count, OUTSIDE, generator)
    return x[x.abs().amax(1) > INSIDE][:count]


def formula_ranges(seed: int, noise: float, rows: int = 64) -> Ranges:
    """Draw quadrants as environments; a third input is the answer times a slope of its own, in tests noise."""
    generator = Generator().manual_seed(seed)
    signs = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    x = (torch.rand(ENVIRONMENTS, rows, 2, generator=generator) * signs[:, None]).flatten(0, 1)
    ids = torch.arange(ENVIRONMENTS).repeat_interleave(rows)
    slopes = (0.5 + torch.rand(ENVIRONMENTS, generator=generator)) * torch.tensor([1.0, 1.0, 1.0, -1.0])
    y = formula(x) + noise * torch.randn(len(x), 1, generator=generator)
    train = Fold(torch.cat([x, slopes[ids, None] * y], 1), y)

    def test(x: Tensor) -> Fold:
        return Fold(torch.cat([x, torch.randn(len(x), 1, generator=generator)], 1), formula(x))

    return Ranges(train, ids, test(_square(400, INSIDE, generator)), test(_around(400, generator)))


def outside(generator: Generator, sensor: bool = False, count: int = 400) -> Fold:
    """Draw points outside of the range as the tests have them, such as for validation; a sensor beside them is noise."""
    x = _around(count, generator)
    return Fold(torch.cat([x, torch.randn(len(x), 1, generator=generator)], 1) if sensor else x, formula(x))


def formula_few(seed: int, examples: int = 64, noise: float = 0.5) -> Few:
    """Draw examples whose answers are noisy; the terms are not."""
    generator = Generator().manual_seed(seed + 2**31)
    x, inside, outside = (_square(examples, INSIDE, generator), _square(400, INSIDE, generator), _around(400, generator))
    noisy = formula(x) + noise * torch.randn(examples, 1, generator=generator)
    return Few(Fold(x, noisy), terms(x), Fold(inside, formula(inside)), Fold(outside, formula(outside)))


def pendulums(seed: int, count: int, swing: float, frames: int = 16) -> Float[Tensor, "b t 2"]:
    """Return angles and velocities of pendulums let go at rest, between a half of the swing and all of it to either side.

    v' = v - 0.15 sin(q), q' = q + v'.
    """
    generator = Generator().manual_seed(seed)
    q = swing * (0.5 + 0.5 * torch.rand(count, generator=generator))
    q = q * torch.where(torch.rand(count, generator=generator) < 0.5, -1.0, 1.0)
    v, found = torch.zeros(count), list[Tensor]()
    for _ in range(frames):
        found.append(torch.stack([q, v], 1))
        v = v - 0.15 * q.sin()
        q = q + v
    return torch.stack(found, 1)


def nearest(model: Callable[[Tensor], Tensor], paths: Float[Tensor, "b t 2"], reach: int) -> float:
    """Return how far a prediction lies from the nearest of the next frames, over how far that frame lies from the present one.

    Squared distances, both averaged over all frames that have so many successors. Standing still scores 1 or more.
    """
    with torch.no_grad():
        now = paths[:, : paths.shape[1] - reach]
        ahead = torch.stack([paths[:, k : k + now.shape[1]] for k in range(1, reach + 1)])
        found = model(now.flatten(0, 1)).view_as(now)
        missed, place = (found - ahead).square().sum(-1).min(0)
        moved = (now - ahead).square().sum(-1).gather(0, place[None])[0]
        return float(missed.mean() / moved.mean())
