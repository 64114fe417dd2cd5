"""Exact gradient ascent on a grid with a small reward near by and a large one far off, all starts as one batch.

The same number of gradient steps for every setting: `steps`, shown in each row as `budget`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor

from claimlab import Positive, Preset, Row, Share, check_limits
from mechlearn_zoo.finite import FiniteMDP
from mechlearn_zoo.methods.control.entropy import barrier, interpolate, objective, perturb
from mechlearn_zoo.tasks.finite.grids import Grid, open_grid

POINTS = 31
"""Of a segment between two solutions."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the starts and of the directions of perturbation."""
    size: Annotated[int, Ge(4)] = 5
    """Cells of a side."""
    near: Positive = 2.0
    """Reward two steps to the right of the start; in the opposite corner lie 5. Both end the episode."""
    starts: Annotated[int, Ge(2)] = 20
    """Random tables of logits."""
    spread: Positive = 1.0
    """Their standard deviation."""
    taus: Annotated[tuple[Annotated[float, Ge(0)], ...], MinLen(2)] = (0.0, 0.1, 0.2, 0.3, 1.0)
    """Temperatures at first, the first of them 0; they fall to 0 over `annealed` of the steps."""
    rates: Annotated[tuple[Positive, ...], MinLen(1)] = (3.0, 10.0, 30.0, 100.0, 300.0)
    """Learning rates, ascending."""
    rate: Positive = 10.0
    """The one at which traps are counted; among `rates`."""
    steps: Annotated[int, Ge(1)] = 150
    """Gradient steps."""
    annealed: Share = 0.7
    """Share of the steps over which tau falls to 0, linearly."""
    directions: Annotated[int, Ge(1)] = 50
    """Tried around a solution."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.taus[0] != 0 or self.rate not in self.rates:
            raise ValueError(f"taus should begin with 0 and rate be among rates. Found {self.taus[0]} and {self.rate}.")


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(starts=200, directions=2000, size=7), seeds=10)}


def run(config: Config) -> Iterator[Row]:
    """Yield ends of every setting in both worlds, where the starts went, and what lies around and between solutions."""
    grid, far = open_grid(config.size, config.size), (config.size - 1, config.size - 1)
    worlds = {"trap": grid.mdp({(0, 2): config.near, far: 5.0}, (0, 0), 0.9), "plain": grid.mdp({far: 5.0}, (0, 0), 0.9)}
    generator = Generator().manual_seed(config.seed)
    starts = config.spread * torch.randn(config.starts, len(grid), 4, dtype=torch.float64, generator=generator)
    for name, mdp in worlds.items():
        best = float((mdp.start * mdp.optimal().values).sum())
        ends: dict[float, Tensor] = {}
        for rate in config.rates:
            for tau in config.taus:
                theta = ascend(mdp, starts, tau, rate, config)
                reached = objective(theta, mdp) > 0.95 * best
                share = float(reached.double().mean())
                yield {"kind": "share", "world": name, "tau": tau, "rate": rate, "share": share, "budget": config.steps}
                if rate == config.rate:
                    ends[tau] = theta
        if name == "trap":
            yield from look(mdp, grid, ends, config, generator)


def ascend(mdp: FiniteMDP, theta: Tensor, tau: float, rate: float, config: Config) -> Tensor:
    """Follow the exact gradient of all starts at once."""
    for step in range(config.steps):
        now = tau * max(0.0, 1 - step / (config.annealed * config.steps)) if config.annealed else 0.0
        leaf = theta.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(objective(leaf, mdp, now).sum(), leaf)
        theta = theta + rate * gradient
    return theta.detach()


def look(mdp: FiniteMDP, grid: Grid, ends: dict[float, Tensor], config: Config, generator: Generator) -> Iterator[Row]:
    """Yield maps of visits, segments from trapped solutions to global ones, and perturbations of the first trapped one."""
    best = float((mdp.start * mdp.optimal().values).sum())
    for tau, theta in ends.items():
        visits = mdp.occupancies(theta.softmax(-1)).sum(-1).mean(0)
        for (row, column), value in zip(grid.cells.tolist(), visits.tolist(), strict=True):
            yield {"kind": "visits", "tau": tau, "row": row, "column": column, "visits": value}
    trapped, solved = (
        theta[(objective(theta, mdp) > 0.95 * best) == wanted]
        for theta, wanted in ((ends[0.0], False), (max(ends.values(), key=lambda t: float(objective(t, mdp).mean())), True))
    )
    if not len(trapped) or not len(solved):
        return
    for tau in config.taus:

        def at(theta: Tensor, tau: float = tau) -> Tensor:
            return objective(theta, mdp, tau)

        paths = torch.stack([interpolate(at, a, solved[i % len(solved)], POINTS) for i, a in enumerate(trapped)])
        yield {"kind": "barrier", "tau": tau, "barrier": float(barrier(paths).mean()), "pairs": len(paths)}
        for place, value in enumerate(paths[0].tolist()):
            yield {"kind": "path", "tau": tau, "share": place / (POINTS - 1), "value": value}
        found = perturb(at, trapped[0], 1.0, config.directions, generator)
        for slope, curvature in zip(found.slope.tolist(), found.curvature.tolist(), strict=True):
            yield {"kind": "direction", "tau": tau, "slope": slope, "curvature": curvature}
