"""CoinRun's levels as stable-baselines3 wants its games."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from mechlearn_zoo.tasks.pictures.coinrun.levels import ACTIONS, FRAME, Levels

Step = tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]
"""Frames (channels first), rewards, whether an episode ended, and what there is to say about each game."""


def spaces() -> tuple[Any, Any]:
    """Gymnasium's spaces of frames, channels first, and of actions."""
    gymnasium = importlib.import_module("gymnasium.spaces")
    channels_first = (FRAME[2], FRAME[0], FRAME[1])
    return gymnasium.Box(0, 255, channels_first, np.uint8), gymnasium.Discrete(ACTIONS)


def make_games(sb3: Any, levels: Levels, discount: float | None = None) -> Any:  # noqa: ANN401  # optional, without types
    """The levels as stable-baselines3's vectorised environment.

    Args:
        sb3: the package.
        levels: the games that are played.
        discount: of the return by whose running standard deviation rewards are divided; None leaves rewards as they are.
            Episodes' returns (`info["episode"]["r"]`) are the game's own in any case.
    """

    class Games(_Played, sb3.common.vec_env.VecEnv):  # made here, as the package is optional
        def __init__(self) -> None:
            _Played.__init__(self, levels)
            sb3.common.vec_env.VecEnv.__init__(self, levels.games, *spaces())

    if discount is None:
        return Games()
    return sb3.common.vec_env.VecNormalize(Games(), norm_obs=False, gamma=discount)


class _Played:
    """What stable-baselines3's `VecEnv` leaves open."""

    def __init__(self, levels: Levels) -> None:
        self.levels = levels
        self.returns, self.lengths = np.zeros(levels.games), np.zeros(levels.games, dtype=np.int64)
        self.actions = np.zeros(levels.games, dtype=np.int32)

    def reset(self) -> np.ndarray:
        return self.levels.observe().frames.transpose(0, 3, 1, 2).copy()  # torch warns of arrays it may not write

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions.astype(np.int32)

    def step_wait(self) -> Step:
        seen = self.levels.step(self.actions)
        self.returns += seen.rewards
        self.lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.levels.games)]
        for game in np.flatnonzero(seen.begins):
            infos[game] = {"episode": {"r": self.returns[game], "l": self.lengths[game]}}
        self.returns[seen.begins] = 0
        self.lengths[seen.begins] = 0
        return seen.frames.transpose(0, 3, 1, 2).copy(), seen.rewards, seen.begins, infos

    def close(self) -> None:
        """The levels belong to whoever opened them."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:  # noqa: ANN401
        return [None] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:  # noqa: ANN401
        raise NotImplementedError(f"An attribute of the simulator's games should not be set. Found {attr_name}.")

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:  # noqa: ANN401
        raise NotImplementedError(f"A method of the simulator's games should not be called. Found {method_name}.")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ANN401
        return [False] * self._count(indices)

    def _count(self, indices: Any) -> int:  # noqa: ANN401
        return len(np.atleast_1d(range(self.levels.games) if indices is None else indices))
