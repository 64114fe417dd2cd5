"""Several Atari games as one batch of environments, for the paper presets: ale-py with the games that its wheel bundles."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Games:
    """The same number of environments for each game, with all 18 actions; rewards unclipped, 4 frames of 84 x 84 bytes.

    Args:
        names: games as ale-py names them, such as "pong".
        each: environments of each game.

    Raises:
        ImportError: ale-py is not installed.
    """

    actions = 18
    observation_shape = (4, 84, 84)
    metadata: Mapping[str, str] = MappingProxyType({"autoreset_mode": "SameStep"})

    def __init__(self, names: Sequence[str], each: int) -> None:
        try:
            from ale_py.vector_env import AtariVectorEnv  # noqa: PLC0415 # pyright: ignore[reportMissingImports] # an extra
            from gymnasium.vector import AutoresetMode  # noqa: PLC0415
        except ImportError as error:
            raise ImportError(
                "Atari games need ale-py, which is not installed. Run `pip install 'mechlearn-zoo[paper]'`."
            ) from error
        self.each, self.num_envs = each, each * len(names)
        self.games = [
            AtariVectorEnv(
                name, num_envs=each, full_action_space=True, reward_clipping=False, autoreset_mode=AutoresetMode.SAME_STEP
            )
            for name in names
        ]

    def reset(self, *, seed: int | None) -> tuple[Tensor, dict[str, Any]]:
        """Begin everywhere; without a seed the games' own generators go on."""
        seeds = [None if seed is None else (seed + 1000 * index) % 2**31 for index in range(len(self.games))]
        parts = [game.reset(seed=own)[0] for game, own in zip(self.games, seeds, strict=True)]
        return torch.from_numpy(np.concatenate(parts)), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # noqa: ANN401  # numpy's
        """Act in all games."""
        answers = [game.step(part) for game, part in zip(self.games, np.split(actions, len(self.games)), strict=True)]
        columns = [np.concatenate(column) for column in zip(*(answer[:4] for answer in answers), strict=True)]
        finals = [answer[4].get("final_obs", answer[0]) for answer in answers]  # where nothing ended it is not looked at
        infos = {"final_obs": torch.from_numpy(np.concatenate(finals))} if (columns[2] | columns[3]).any() else {}
        return columns[0], columns[1].astype(np.float32), columns[2], columns[3], infos
