"""Descent on two loss surfaces, on their mean, and on what rules make of both.

Two environments share the minimum c. Each has a valley besides, A along one axis and B along the other; where the valleys
cross, at p, the averaged loss has a second global minimum that no environment shows by itself. Descent on the average
cannot tell the two minima apart; the environments' gradients can.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Interval, MinLen
from jaxtyping import Float
from torch import Tensor

from claimlab import Positive, Preset, Row, check_limits
from mechlearn.agreement import AndMask, GeometricMean, Mean, Rule, combine

CONSISTENT = (-0.5, -0.5)
PATCHWORK = (0.8, 0.8)
"""The two global minima of the averaged loss: c, which both environments have, and p, which neither has (paper, section 1)."""

WIDTH = 0.5
"""Width of the wells."""

BOX = (-1.1, 1.3)
"""Starts are drawn uniformly from this square."""

CLOSE = 1e-2
"""A path has reached a minimum if it ends this near to it."""

METHODS = ("A alone", "B alone", "mean", "AND-mask", "geometric mean")

Inconsistency = Annotated[float, Interval(ge=0, lt=1)]
"""How far two quadratics are apart: at 1 each would be flat along one axis."""


@dataclass(frozen=True)
class Config:
    """Settings of the descents."""

    seed: int = 0
    """First seed: of the starts and of the points at which gradients are compared."""
    starts: Annotated[int, Ge(1)] = 200
    """Starting points a seed."""
    steps: Annotated[int, Ge(1)] = 4000
    """Steps of gradient descent."""
    learning_rate: Positive = 0.05
    """Step size."""
    shown: Annotated[int, Ge(0)] = 12
    """Paths kept for the figure, 0 for none."""
    inconsistencies: Annotated[tuple[Inconsistency, ...], MinLen(1)] = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99)
    """k in [0, 1): curvatures 1 + k and 1 - k of environment A, exchanged in B; their mean is 1 whatever k is."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.shown > self.starts:
            raise ValueError(f"shown should be between 0 and {self.starts}: they are among the starts. Found {self.shown}.")


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(starts=2000), seeds=10)}


def losses(points: Float[Tensor, "starts 2"]) -> tuple[Float[Tensor, " starts"], Float[Tensor, " starts"]]:
    """Return the losses of environments A and B.

    L_A(theta) = (1 - exp(-|theta - c|^2 / 2 w^2)) (1 - exp(-(theta_1 - p_1)^2 / 2 w^2)); L_B the same with theta_2. Both are 0
    at c. L_A is 0 on the line theta_1 = p_1 and L_B on theta_2 = p_2, so that their mean is 0 at c and p alone.
    """
    c, p = (points.new_tensor(minimum) for minimum in (CONSISTENT, PATCHWORK))
    bowl = 1 - torch.exp(-(points - c).square().sum(1) / (2 * WIDTH**2))
    valleys = 1 - torch.exp(-(points - p).square() / (2 * WIDTH**2))
    return bowl * valleys[:, 0], bowl * valleys[:, 1]


def gradients(points: Float[Tensor, "starts 2"]) -> Float[Tensor, "2 starts 2"]:
    """Return the gradients of L_A and L_B at each point."""
    with torch.enable_grad():
        leaf = points.detach().requires_grad_()
        return torch.stack([torch.autograd.grad(loss.sum(), leaf, retain_graph=True)[0] for loss in losses(leaf)])


def direction(method: str, found: Float[Tensor, "2 starts 2"]) -> Float[Tensor, "starts 2"]:
    """Return what a method follows, given both environments' gradients."""
    rules: dict[str, Rule] = {"mean": Mean(), "AND-mask": AndMask(1.0), "geometric mean": GeometricMean(1.0)}
    alone = {"A alone": found[0], "B alone": found[1]}
    return alone[method] if method in alone else combine(rules[method], found).gradient


def descend(method: str, starts: Float[Tensor, "starts 2"], config: Config) -> Iterator[Float[Tensor, "starts 2"]]:
    """Yield the points of gradient descent, the starts first."""
    points = starts
    yield points
    for _ in range(config.steps):
        points = points - config.learning_rate * direction(method, gradients(points))
        yield points


def faded(inconsistency: float, points: Float[Tensor, "points 2"]) -> float:
    """Return the geometric mean's gradient norm over the arithmetic mean's, for quadratics with a mean curvature of 1."""
    k = inconsistency
    curvatures = points.new_tensor([[1 + k, 1 - k], [1 - k, 1 + k]])
    found = curvatures[:, None, :] * points
    geometric, arithmetic = (combine(rule, found).gradient.norm(dim=1) for rule in (GeometricMean(1.0), Mean()))
    return float((geometric / arithmetic).mean())


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each method with the shares that end in either minimum, one a shown path, one an inconsistency."""
    generator = torch.Generator().manual_seed(config.seed)
    low, high = BOX
    starts = low + (high - low) * torch.rand(config.starts, 2, dtype=torch.float64, generator=generator)
    points = torch.randn(1000, 2, dtype=torch.float64, generator=generator)
    for method in METHODS:
        path = list(descend(method, starts, config))
        reached = {name: near(path[-1], at) for name, at in (("consistent", CONSISTENT), ("patchwork", PATCHWORK))}
        shares: Row = {name: float(hits.double().mean()) for name, hits in reached.items()}
        yield {"kind": "outcome", "method": method, **shares, "loss": float(torch.stack(losses(path[-1])).mean())}
        kept = [0, *(round(1.25**i) for i in range(4, 60) if round(1.25**i) < config.steps), config.steps]
        for start in range(config.shown):
            line = " ".join(f"{x:.3f},{y:.3f}" for x, y in (path[step][start].tolist() for step in kept))
            yield {"kind": "path", "method": method, "start": start, "line": line}
    for k in config.inconsistencies:
        yield {"kind": "fading", "k": k, "ratio": faded(k, points), "closed_form": math.sqrt(1 - k**2)}


def near(points: Float[Tensor, "starts 2"], minimum: tuple[float, float]) -> Tensor:
    """Return which points have reached a minimum."""
    return (points - points.new_tensor(minimum)).norm(dim=1) < CLOSE


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] == "fading":
        return 1.0, "fading"
    return (METHODS.index(str(row["method"])) + 1) / (len(METHODS) + 1), str(row["method"])
