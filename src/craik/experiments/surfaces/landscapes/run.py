"""Two loss surfaces and their mean: a minimum that exists in neither, and gradients that tell.

Two environments share the minimum c. Each has a valley besides, A along one axis and B along the other; where the valleys
cross, at p, the averaged loss has a second global minimum that no environment shows by itself. Descent on the average
cannot tell the two minima apart; the environments' gradients can.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from craik.agreement import AndMask, GeometricMean, Mean, Rule, combine
from craik.experiments.surfaces.landscapes.figures import Surfaces, descents, fading
from craik.lab import Claim, Measurement, OverSeeds, Row, Rows, bootstrap, number
from craik.lab.limits import at_least, between, not_empty, positive

REPRODUCES = "thesis section 3.1, figures 3.1 and B.2; paper section 1, figure 1"

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


@dataclass(frozen=True)
class Config:
    """Settings of the descents."""

    seed: int = 0
    """First seed: of the starts and of the points at which gradients are compared."""
    starts: int = 200
    """Starting points a seed."""
    steps: int = 4000
    """Steps of gradient descent."""
    learning_rate: float = 0.05
    """Step size."""
    shown: int = 12
    """Paths kept for the figure, 0 for none."""
    inconsistencies: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99)
    """k in [0, 1): curvatures 1 + k and 1 - k of environment A, exchanged in B; their mean is 1 whatever k is."""

    def __post_init__(self) -> None:
        at_least(self, 1, "starts", "steps")
        between(self, 0, self.starts, "shown", why="they are among the starts")
        positive(self, "learning_rate")
        not_empty(self, "inconsistencies")
        if not all(0 <= k < 1 for k in self.inconsistencies):
            raise ValueError(f"inconsistencies should lie in [0, 1). Found {self.inconsistencies}.")


PRESETS = {"quick": Config(), "paper": Config(starts=2000)}
SEEDS = {"quick": 3, "paper": 10}


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


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the surfaces with descent paths (figure 3.1), and quadratics whose gradients fade (figure B.2)."""
    return {"descent": descents(rows, surfaces(), METHODS), "fading": fading(rows)}


def surfaces() -> Surfaces:
    """Return both environments' losses on a grid over the box that starts come from."""
    line = torch.linspace(*BOX, 121, dtype=torch.float64)
    both = torch.stack(losses(torch.cartesian_prod(line, line))).reshape(2, 121, 121)
    return Surfaces(line.numpy(), both.numpy(), CONSISTENT, PATCHWORK)


def either_alone(rows: Rows) -> Measurement | None:
    """Return the larger share of starts, of A alone and B alone, that ends in the patchwork minimum; median over seeds."""
    groups = Rows([*rows.where(method="A alone", kind="outcome"), *rows.where(method="B alone", kind="outcome")]).by("seed")
    return bootstrap([max(number(row, "patchwork") for row in group) for group in groups.values()]) if groups else None


def _fade(rows: Rows) -> Measurement | None:
    groups = rows.where(kind="fading").by("seed")
    steps = [
        np.diff([number(row, "ratio") for row in sorted(group, key=lambda row: number(row, "k"))]) for group in groups.values()
    ]
    return bootstrap([float(step.max()) for step in steps if step.size]) if groups else None


CLAIMS = (
    Claim(
        id="landscapes.alone",
        text="From either environment's loss alone, the probability of finding the inconsistent minimum is zero.",
        source="thesis section 3.1 and figure 3.1; paper section 1 and figure 1",
        printed="0",
        measure=either_alone,
        holds=lambda measured: measured.value <= 0.02,
        condition=f"share of random starts that end within {CLOSE:g} of it at most 0.02, the larger of A and B: a valley's "
        f"floor passes through the minimum, and {2 * CLOSE / (BOX[1] - BOX[0]):.1%} of starts lie so near by chance",
    ),
    Claim(
        id="landscapes.mean",
        text="From the averaged loss, descent converges to either minimum, and the loss does not tell them apart.",
        source="thesis section 3.1 and figure 3.1; paper section 1 and figure 1",
        printed=None,
        measure=OverSeeds("patchwork", (("kind", "outcome"), ("method", "mean"))),
        holds=lambda measured: 0.2 <= measured.value <= 0.8,
        condition="share of random starts that end in the inconsistent minimum between 0.2 and 0.8",
    ),
    Claim(
        id="landscapes.shared",
        text="The consistent minimum can be reached by training on one environment only.",
        source="thesis section 3.1 and figure 3.1; paper section 1 and figure 1",
        printed=None,
        measure=OverSeeds("consistent", (("kind", "outcome"), ("method", "A alone"))),
        holds=lambda measured: measured.value >= 0.1,
        condition="share of random starts that reach it on environment A alone at least 0.1",
    ),
    Claim(
        id="landscapes.attraction",
        text="Following the gradient from the logical AND of landscapes reduces the attraction of the inconsistent minimum.",
        source="paper section 2.2; thesis section 3.2.2",
        printed=None,
        measure=OverSeeds("patchwork", (("kind", "outcome"), ("method", "geometric mean"))),
        holds=lambda measured: measured.value <= 0.1,
        condition="share of random starts that end in it with the geometric mean at most 0.1",
    ),
    Claim(
        id="landscapes.attraction-masked",
        text="So does the AND-mask.",
        source="thesis section 3.2.3; paper section 2.3",
        printed=None,
        measure=OverSeeds("patchwork", (("kind", "outcome"), ("method", "AND-mask"))),
        holds=lambda measured: measured.value <= 0.1,
        condition="share of random starts that end in it with the AND-mask at most 0.1",
    ),
    Claim(
        id="landscapes.fading",
        text="While the arithmetic mean stays the same, the geometric mean has weaker and weaker gradients the more "
        "inconsistent the two surfaces become.",
        source="thesis section 3.2.2 and figure B.2",
        printed=None,
        measure=_fade,
        holds=lambda measured: measured.high < 0,
        condition="every step of growing inconsistency shrinks the ratio of the gradients (largest change below 0)",
    ),
)
