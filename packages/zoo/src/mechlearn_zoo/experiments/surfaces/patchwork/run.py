"""Losses of two sigmoids sewn together, while the weight of the second changes.

A network with two hidden units fits a staircase on [0, 1]. Environment A sees the left half, B the right. The second step is
made by a unit that A never notices: change it, and A's loss stays while B's grows without limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from jaxtyping import Float
from torch import Tensor

from claimlab import Preset, Row, check_limits

PRINTED = (100.0, -50.0, 100.0, -75.0, 1.0, 1.0)
"""theta* as printed. Its first step is at x = 0.5, the staircase's rises from 0.4 to 0.5."""

CENTRED = (100.0, -45.0, 100.0, -75.0, 1.0, 1.0)
"""The same with the first step in the middle of the staircase's, at x = 0.45."""

GRID = 201
"""Points at which functions are recorded for the figure."""


@dataclass(frozen=True)
class Config:
    """Settings of the measurement."""

    seed: int = 0
    """First seed: of the points in each environment."""
    examples: Annotated[int, Ge(2)] = 2000
    """Points drawn uniformly in each environment."""
    changed: tuple[float, ...] = (1.0, 0.5, 0.0, -0.5, -1.0, -2.0, -4.0, -8.0)
    """Values of the second output weight, theta_6; the texts show 1 and -0.5."""

    def __post_init__(self) -> None:
        check_limits(self)
        if 1.0 not in self.changed or -0.5 not in self.changed:
            raise ValueError(f"changed should contain 1 and -0.5, the texts' values. Found {self.changed}.")


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(examples=100_000), seeds=10)}


def staircase(x: Float[Tensor, "*x"]) -> Float[Tensor, "*x"]:
    """Return the target f*: 0, a rise over [0.4, 0.5] to 1, a rise over [0.7, 0.8] to 2."""
    return (10 * (x - 0.4)).clamp(0, 1) + (10 * (x - 0.7)).clamp(0, 1)


def network(theta: Sequence[float], x: Float[Tensor, " x"]) -> Float[Tensor, " x"]:
    """Return theta_5 sigma(theta_1 x + theta_2) + theta_6 sigma(theta_3 x + theta_4) (thesis equation B.1)."""
    return theta[4] * torch.sigmoid(theta[0] * x + theta[1]) + theta[5] * torch.sigmoid(theta[2] * x + theta[3])


def run(config: Config) -> Iterator[Row]:
    """Yield each environment's loss for both versions of theta* and every value of theta_6, then functions to draw."""
    generator = torch.Generator().manual_seed(config.seed)
    points = torch.rand(2, config.examples, dtype=torch.float64, generator=generator) / 2 + torch.tensor([[0.0], [0.5]])
    target = staircase(points)
    spread = target.var(dim=1, correction=0)
    for version, theta in (("printed", PRINTED), ("centred", CENTRED)):
        for last in config.changed:
            losses = torch.stack(
                [(network((*theta[:5], last), x) - f).square().mean() for x, f in zip(points, target, strict=True)]
            )
            yield {
                "kind": "loss",
                "version": version,
                "theta_6": last,
                "loss_a": float(losses[0]),
                "loss_b": float(losses[1]),
                "unexplained_a": float(losses[0] / spread[0]),
                "unexplained_b": float(losses[1] / spread[1]),
            }
    x = torch.linspace(0, 1, GRID, dtype=torch.float64)
    for name, values in (
        ("target", staircase(x)),
        *((f"printed {last:g}", network((*PRINTED[:5], last), x)) for last in (1.0, -0.5)),
        ("centred 1", network(CENTRED, x)),
    ):
        yield {"kind": "function", "name": name, "values": " ".join(f"{value:.4f}" for value in values.tolist())}
