"""Take Cover, ours: balls are thrown at an agent that can step aside; the return is the number of steps that it survives.

A world of frames in torch, for whole populations: p copies of e episodes side by side, all copies with the same throws. It
stands in for VizDoom's scenario of that name (`mechlearn_zoo.experiments.worlds.take_cover.simulated`). Coordinates are shares
of the frame: x from left to right, y from top to bottom; the agent stands at the bottom.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_positive, check_shape, check_whole

AGENT_Y = 0.9
"""The row of the agent: a ball that comes down to it hits or misses."""
EDGE = 0.08
"""How near the walls the agent can come."""


class Thrown(NamedTuple):
    """Where everything is: the agent (p, e), balls (p, e, j) by place and by what they move in a step."""

    agent: Float[Tensor, "p e"]
    x: Float[Tensor, "p e j"]
    y: Float[Tensor, "p e j"]
    dx: Float[Tensor, "p e j"]
    dy: Float[Tensor, "p e j"]


class After(NamedTuple):
    """A step's outcome: the state, rewards of 1 and whether a ball has hit, (p, e)."""

    state: Thrown
    rewards: Float[Tensor, "p e"]
    ended: Bool[Tensor, "p e"]


@dataclass(frozen=True)
class TakeCover:
    """The world's settings.

    Args:
        size: pixels of a frame's side.
        balls: in the air at once.
        speed: how far the agent steps.
        fall: the slowest and the fastest ball's way down in a step.
        reach: how near a ball must come down to hit.
        scatter: standard deviation of a throw around where the agent stands.
        fog: the row from which on balls are hidden; 1 hides none.

    Raises:
        TypeError: numbers of another type.
        ValueError: numbers out of range.
    """

    size: int = 20
    balls: int = 2
    speed: float = 0.04
    fall: tuple[float, float] = (0.03, 0.06)
    reach: float = 0.1
    scatter: float = 0.05
    fog: float = 1.0

    def __post_init__(self) -> None:
        check_whole("size", self.size, 8)
        check_whole("balls", self.balls, 1)
        sizes = {"speed": self.speed, "reach": self.reach, "fall": self.fall[0], "scatter": self.scatter, "fog": self.fog}
        for name, value in sizes.items():
            check_positive(name, value)
        if not self.fall[0] <= self.fall[1] < AGENT_Y:
            raise ValueError(f"`fall` should rise and stay below {AGENT_Y}. Found {self.fall}. Take (0.03, 0.06).")

    def start(self, population: int, episodes: int, generator: Generator) -> Thrown:
        """Return p copies of e episodes: the agent somewhere, the balls just thrown, one after the other.

        Args:
            population: p.
            episodes: e.
            generator: draws for e episodes only.
        """
        check_generator("generator", generator)
        check_whole("population", population, 1)
        check_whole("episodes", episodes, 1)
        agent = EDGE + (1 - 2 * EDGE) * torch.rand(episodes, generator=generator)
        x, y, dx, dy = self._throw(agent, generator)
        y = y - torch.arange(self.balls) * AGENT_Y / self.balls  # those above the frame come later
        x = x + dx * (y.clamp(max=0) / dy)  # so that each still comes down where it was aimed
        return Thrown(*(one.expand(population, *one.shape) for one in (agent, x, y, dx, dy)))

    def step(self, state: Thrown, actions: Float[Tensor, "..."], generator: Generator) -> After:
        """Move the agent by the sign of its action, then the balls; what has come down is thrown again.

        Args:
            state: where everything is.
            actions: (p, e, 1): below 0 left, above 0 right, 0 stays.
            generator: draws a throw for each ball of e episodes, whether needed or not: so every copy sees the same luck.
        """
        check_generator("generator", generator)
        check_shape("actions", actions, *state.agent.shape, 1)
        agent = (state.agent + self.speed * actions[..., 0].sign()).clamp(EDGE, 1 - EDGE)
        x, y = state.x + state.dx, state.y + state.dy
        down = y >= AGENT_Y
        hit = down & ((x - agent.unsqueeze(-1)).abs() < self.reach)
        thrown = self._throw(agent, generator)
        moved = (torch.where(down, new, old) for new, old in zip(thrown, (x, y, state.dx, state.dy), strict=True))
        return After(Thrown(agent, *moved), torch.ones_like(agent), hit.any(-1))

    def frames(self, state: Thrown) -> Float[Tensor, "p e 2 h w"]:
        """Return pictures in [0, 1]: balls above the fog in the first channel, the agent in the second, as blobs of a pixel."""
        rows = self._blob(state.y) * (state.y < self.fog).unsqueeze(-1)
        balls = torch.einsum("pejh,pejw->pehw", rows, self._blob(state.x)).clamp(max=1)
        agent = self._blob(state.agent)
        row = self._blob(torch.full_like(state.agent, AGENT_Y))
        return torch.stack((balls, row.unsqueeze(-1) * agent.unsqueeze(-2)), 2)

    def _throw(self, agent: Tensor, generator: Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return x, y, dx, dy of a throw at each ball's agent, (..., e, j)."""
        shape = (agent.shape[-1], self.balls)
        start, fall = torch.rand(2, *shape, generator=generator)
        aim = agent.unsqueeze(-1) + self.scatter * torch.randn(shape, generator=generator)
        dy = self.fall[0] + (self.fall[1] - self.fall[0]) * fall
        dx = (aim - start) * dy / AGENT_Y
        return start.expand_as(aim), torch.zeros_like(aim), dx, dy.expand_as(aim)

    def _blob(self, centre: Tensor) -> Tensor:
        pixels = (torch.arange(self.size) + 0.5) / self.size
        return torch.exp(-0.5 * ((pixels - centre.unsqueeze(-1)) * self.size).square())
