"""MiniGrid's rooms as one batch of environments, with where each agent stands, to count cells. Needs minigrid, an extra."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mechlearn.arguments import check_whole

_LARGEST = 10.0
"""Of the numbers by which MiniGrid encodes objects, colours and states."""


class Rooms:
    """So many environments of one name. An episode ends at the goal, or is cut where MiniGrid's own limit is.

    An observation is what the agent sees ahead, 7 x 7 cells of three numbers (object, colour, state), flattened and divided by
    10; actions are MiniGrid's seven.

    Args:
        name: as MiniGrid registers it, such as "MiniGrid-MultiRoom-N2-S4-v0".
        count: B.

    Raises:
        ImportError: minigrid is not installed.
        TypeError, ValueError: a count that is no whole number, or below 1.
    """

    observation_shape = (147,)
    metadata: Mapping[str, str] = MappingProxyType({"autoreset_mode": "SameStep"})

    def __init__(self, name: str, count: int) -> None:
        check_whole("count", count, 1)
        try:
            import gymnasium  # noqa: PLC0415 # an extra
            from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: PLC0415
            from minigrid.wrappers import ImgObsWrapper  # noqa: PLC0415 # pyright: ignore
        except ImportError as error:
            raise ImportError(
                "MiniGrid's rooms need minigrid, which is not installed. Run `pip install 'mechlearn-zoo[paper]'`."
            ) from error
        self.num_envs = count

        def room() -> Any:  # noqa: ANN401  # minigrid's types are not installed
            return ImgObsWrapper(gymnasium.make(name))

        self._envs: Any = SyncVectorEnv([room] * count, autoreset_mode=AutoresetMode.SAME_STEP)
        self.actions = int(self._envs.single_action_space.n)

    @property
    def cells(self) -> Tensor:
        """Return (B,) where each agent stands now: a number for each cell of its grid."""
        places = [(env.unwrapped.agent_pos, env.unwrapped.grid.width) for env in self._envs.envs]
        return torch.tensor([int(place[1]) * width + int(place[0]) for place, width in places])

    def reset(self, *, seed: int | None) -> tuple[Tensor, dict[str, Any]]:
        """Begin everywhere; without a seed the rooms' own generators go on."""
        return _numbers(self._envs.reset(seed=seed)[0]), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # noqa: ANN401  # numpy's
        """Act everywhere."""
        seen, rewards, terminated, truncated, infos = self._envs.step(np.asarray(actions))
        final: dict[str, Any] = {}
        if (terminated | truncated).any():
            ends = [last if last is not None else here for last, here in zip(infos["final_obs"], seen, strict=True)]
            final = {"final_obs": _numbers(np.stack(ends))}
        return _numbers(seen), rewards.astype(np.float32), terminated, truncated, final


def _numbers(pictures: Any) -> Tensor:  # noqa: ANN401  # numpy's
    return torch.as_tensor(np.asarray(pictures, np.float32)).flatten(1) / _LARGEST
