"""The expert whose behaviour is cloned: PPO by stable-baselines3.

Thesis appendix B.2.6: PPO for 400M steps on the full distribution of levels. Here for as many steps as the machine allows;
the recording says how many, and what the expert's episodes returned.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from mechlearn_zoo.tasks.pictures.coinrun.games import make_games
from mechlearn_zoo.tasks.pictures.coinrun.levels import Levels
from mechlearn_zoo.tasks.pictures.coinrun.ppo import Training, make_ppo, stable_baselines3


@dataclass(frozen=True)
class Expert:
    """A trained policy.

    Attributes:
        steps: it was trained for.
        seconds: that took.
        mean_return: of the last 100 training episodes, 10 being the coin in each; None where none ended.
    """

    policy: Any  # stable-baselines3's ActorCriticPolicy, which is not imported here
    steps: int
    seconds: float
    mean_return: float | None

    def probabilities(self, frames: UInt8[np.ndarray, "n 64 64 3"]) -> Float[Tensor, "n a"]:
        """pi*(a | s) of every frame."""
        with torch.no_grad():
            images = torch.from_numpy(frames.transpose(0, 3, 1, 2).copy())
            return self.policy.get_distribution(images).distribution.probs


def train(
    python: Path,
    training: Training,
    on_progress: Callable[[int, float | None], None] = lambda steps, mean: None,
    start: Expert | None = None,
    keep: Callable[[Expert], None] = lambda expert: None,
) -> Expert:
    """Train an expert on all levels.

    Args:
        python: an interpreter that can import Procgen.
        training: the settings.
        on_progress: told the steps and the mean return of the last 100 episodes after every roll-out.
        start: trained on from here, so much more, with Adam's moments and the rewards' scale anew, on levels in an order of its
            own; None begins from scratch.
        keep: given the expert as it is after every roll-out, so that an interrupted training leaves one.

    Raises:
        CollectorError: stable-baselines3 is missing, or the simulator ends.
    """
    sb3, begin = stable_baselines3(), time.perf_counter()
    how, seed = training.hyperparameters, training.seed + (0 if start is None else start.steps)
    order = training.seed if start is None else seed % 2**31  # other levels than those that the start began with
    with Levels(python, how.games, levels=0, mode=training.mode, seed=order) as levels, _seeded(seed):
        returns = deque[float](maxlen=100)
        model = make_ppo(sb3, make_games(sb3, levels, how.discount if how.scale_rewards else None), how)
        before = 0.0 if start is None else start.seconds
        if start is not None:
            model.policy.load_state_dict(start.policy.state_dict())
            model.num_timesteps = start.steps

        def expert() -> Expert:
            return Expert(model.policy, int(model.num_timesteps), before + time.perf_counter() - begin, _mean(returns))

        def after_rollout() -> None:
            on_progress(model.num_timesteps, _mean(returns))
            keep(expert())

        limit = None if training.minutes is None else begin + 60 * training.minutes
        model.learn(training.steps, _watch(sb3, returns, limit, after_rollout), reset_num_timesteps=start is None)
    model.policy.set_training_mode(False)
    return expert()


def _watch(sb3: Any, returns: deque[float], limit: float | None, after_rollout: Callable[[], None]) -> Any:  # noqa: ANN401
    """Notes the returns of episodes that end, and stops at a time."""

    class Watch(sb3.common.callbacks.BaseCallback):  # stable-baselines3's way to be told
        def _on_step(self) -> bool:
            returns.extend(info["episode"]["r"] for info in self.locals["infos"] if "episode" in info)
            return limit is None or time.perf_counter() < limit

        def _on_rollout_end(self) -> None:
            after_rollout()

    return Watch()


@contextmanager
def _seeded(seed: int) -> Generator[None]:
    """Seed the global generators, which stable-baselines3 draws from, and leave them as they were."""
    state = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


def _mean(returns: Sequence[float] | deque[float]) -> float | None:
    return float(np.mean(returns)) if returns else None
