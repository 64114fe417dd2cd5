"""A Gymnasium task whose states and actions are scaled to [-1, 1], and where in a grid its states are."""

from typing import Any

import torch
from torch import Tensor


class World:
    """A task of continuous states and actions; rewards are not looked at, and an episode that ends begins again.

    Args:
        name: Gymnasium's.
        seed: of its first state.

    Raises:
        ValueError: if states or actions are not vectors in a bounded box.
    """

    def __init__(self, name: str, seed: int) -> None:
        import gymnasium  # noqa: PLC0415 # slow to load

        self._env: Any = gymnasium.make(name)
        self._boxes = [_bounds(name, part, getattr(self._env, f"{part}_space")) for part in ("observation", "action")]
        self.states, self.actions = (len(low) for low, _ in self._boxes)
        self._first: int | None = seed

    def reset(self) -> Tensor:
        """Begin an episode; return its first state."""
        seed, self._first = self._first, None
        return self._scaled(self._env.reset(seed=seed)[0])

    def step(self, action: Tensor) -> tuple[Tensor, bool, bool]:
        """Return the next state, whether the task was solved (nothing follows), and whether the episode is over."""
        low, high = self._boxes[1]
        found, _, terminated, truncated, _ = self._env.step((low + (action + 1) / 2 * (high - low)).numpy())
        return self._scaled(found), bool(terminated), bool(terminated or truncated)

    def _scaled(self, found: Any) -> Tensor:  # noqa: ANN401  # the environment's own
        low, high = self._boxes[0]
        return (2 * (torch.as_tensor(found) - low) / (high - low) - 1).float()


def _bounds(name: str, part: str, space: Any) -> tuple[Tensor, Tensor]:  # noqa: ANN401  # a space of Gymnasium
    if not hasattr(space, "is_bounded") or not space.is_bounded() or len(space.shape) != 1:
        raise ValueError(
            f"`environment` should have a bounded Box of one axis as its {part} space. Found {space} in {name}. "
            "Wrap it, or take another, such as Pendulum-v1."
        )
    return torch.as_tensor(space.low), torch.as_tensor(space.high)


def cell(state: Tensor, side: int) -> int:
    """Return the cell of a grid over the first two numbers of a state, row by row of the second."""
    column, row = ((state[:2] + 1) / 2 * side).long().clamp(0, side - 1).tolist()
    return row * side + column
