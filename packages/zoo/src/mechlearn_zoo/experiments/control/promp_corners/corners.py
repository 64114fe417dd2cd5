"""Corners: points in the plane, each with one of four corners as its goal, paid only on the way to it and away from the start.

Positions begin in [-0.2, 0.2]^2 and move by actions cut to [-0.2, 0.2]^2. The corners are (+-2, +-2). A step is paid by how
much closer to its goal it ends, but only where it ends at an l1 distance of at least `quiet` from the origin and its goal is
the nearest of the corners. So a point has to go and see before it knows its goal: the task is what to try before it adapts.
Episodes have no end of their own; the best return is about 2.8 less what is not paid near the start.

Source: the 2-D corner task of the published code of ProMP (Rothfuss et al. 2019).
"""

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Generator, Tensor

from mechlearn.arguments import check_all_finite, check_generator, check_not_negative, check_numbers, check_shape, check_whole

CORNERS = torch.tensor([[-2.0, -2.0], [2.0, -2.0], [-2.0, 2.0], [2.0, 2.0]])
REACH = 0.2
"""How far a step goes in each direction, and how far from the origin a point may begin."""


class Corners:
    """B points.

    Args:
        goals: (B,) integers from 0 to 3: the corner of each, in the order of `CORNERS`.
        generator: of the starts; `reset` seeds it anew.
        limit: steps after which an episode is truncated.
        quiet: l1 distance from the origin below which nothing is paid.

    Raises:
        TypeError: no generator, or numbers of another type.
        ValueError: no point, corners that there are not, no step.

    Example:
        >>> import torch
        >>> envs = Corners(torch.tensor([3]), torch.Generator())
        >>> _ = envs.reset(seed=0)
        >>> sum(float(envs.step(torch.full((1, 2), 0.2))[1]) for _ in range(10)) > 2
        True
    """

    speaks_torch = True
    observation_shape = (2,)
    actions = (2,)
    metadata: Mapping[str, str] = MappingProxyType({"autoreset_mode": "SameStep"})  # as gymnasium's have it

    def __init__(self, goals: Tensor, generator: Generator, limit: int = 20, quiet: float = 0.5) -> None:
        check_generator("generator", generator)
        check_whole("limit", limit, 1)
        check_not_negative("quiet", quiet)
        self.goals = torch.as_tensor(goals)
        if self.goals.dim() != 1 or len(self.goals) == 0 or self.goals.is_floating_point():
            raise ValueError(f"`goals` should be one integer for each of at least one point. Found {self.goals.dtype}.")
        if not 0 <= int(self.goals.min()) <= int(self.goals.max()) < len(CORNERS):
            raise ValueError(f"`goals` should lie between 0 and 3. Found {sorted(set(self.goals.tolist()))}.")
        self.generator, self.limit, self.quiet, self.num_envs = generator, limit, quiet, len(self.goals)
        self._begin()

    def reset(self, *, seed: int | None) -> tuple[Tensor, dict[str, Tensor]]:
        """Begin everywhere: positions (B, 2). Without a seed the generator goes on."""
        if seed is not None:
            self.generator.manual_seed(seed)
        self._begin()
        return self.at.clone(), {}

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Tensor]]:
        """Move.

        Args:
            actions: (B, 2) floats; what lies beyond [-0.2, 0.2] is cut. They are taken in float32, as positions are.

        Returns:
            Positions, rewards (B,), terminated (never), truncated (B,), and infos with "final_obs" where the limit was reached.
        """
        check_numbers("actions", actions)
        check_shape("actions", actions, self.num_envs, 2)
        check_all_finite("actions", actions)
        before, self.at = self.at, self.at + actions.to(self.at.dtype).clamp(-REACH, REACH)
        rewards = paid(before, self.at, self.goals, self.quiet)
        self.steps += 1
        cut = torch.full((self.num_envs,), self.steps == self.limit)
        infos = dict[str, Tensor]()
        if self.steps == self.limit:
            infos["final_obs"] = self.at
            self._begin()
        return self.at.clone(), rewards, torch.zeros_like(cut), cut, infos

    def _begin(self) -> None:
        self.at = REACH * (2 * torch.rand(self.num_envs, 2, generator=self.generator) - 1)
        self.steps = 0


def paid(before: Tensor, after: Tensor, goals: Tensor, quiet: float = 0.5) -> Tensor:
    """Return what steps from (*b, 2) to (*b, 2) are paid for goals (*b,)."""
    corners = CORNERS.to(after)
    distances = (after[..., None, :] - corners).norm(dim=-1)
    own = distances.gather(-1, goals[..., None])[..., 0]
    progress = (before - corners[goals]).norm(dim=-1) - own
    return torch.where((after.abs().sum(-1) >= quiet) & (own <= distances.amin(-1)), progress, 0.0)
