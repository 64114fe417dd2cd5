"""The expert whose behaviour is cloned: PPO by stable-baselines3.

Thesis appendix B.2.6: PPO for 400M steps on the full distribution of levels. Here for as many steps as the machine allows;
the recording says how many, and what the expert's episodes returned.
"""

from __future__ import annotations

import importlib
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
from torch import Tensor, nn

from craik.tasks.pictures.coinrun.errors import CollectorError
from craik.tasks.pictures.coinrun.games import make_games, spaces
from craik.tasks.pictures.coinrun.levels import Levels


@dataclass(frozen=True)
class Training:
    """How an expert is trained.

    Args:
        steps: of the simulator, over all games; the texts have 400 million.
        minutes: stop after so many, whatever is reached; None for no limit.
        games: played at once.
        rollout: steps of each game between two updates.
        epochs: passes over a roll-out.
        batch: examples of a gradient step.
        lr: Adam's learning rate.
        entropy: weight of the policy's entropy.
        discount: of the return.
        scale_rewards: PPO sees rewards divided by the running standard deviation of the discounted return, and clipped to 10
            of them; `Expert.mean_return` is of the game's own.
        mode: Procgen's difficulty.
        seed: of network, roll-outs and levels.
    """

    steps: int = 400_000_000
    minutes: float | None = None
    games: int = 64
    rollout: int = 256
    epochs: int = 3
    batch: int = 2048
    lr: float = 5e-4
    entropy: float = 0.01
    discount: float = 0.999
    scale_rewards: bool = True
    mode: str = "easy"
    seed: int = 0


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
        start: trained on from here, for as many steps or minutes more, with Adam's moments and the rewards' scale anew; from
            scratch if None.
        keep: given the expert as it is after every roll-out, so that an interrupted training leaves one.

    Raises:
        CollectorError: stable-baselines3 is missing, or the simulator ends.
    """
    sb3, begin = _stable_baselines3(), time.perf_counter()
    discount = training.discount if training.scale_rewards else None
    seed = training.seed + (0 if start is None else start.steps)
    with Levels(python, training.games, levels=0, mode=training.mode, seed=training.seed) as levels, _seeded(seed):
        games, returns = make_games(sb3, levels, discount), deque[float](maxlen=100)
        model = _model(sb3, games, training)
        before = 0.0 if start is None else start.seconds
        if start is not None:
            model.policy.load_state_dict(start.policy.state_dict())
            model.num_timesteps = start.steps

        def expert() -> Expert:
            return Expert(model.policy, int(model.num_timesteps), before + time.perf_counter() - begin, _mean(returns))

        class Watch(sb3.common.callbacks.BaseCallback):  # stable-baselines3's way to be told
            def _on_step(self) -> bool:
                returns.extend(info["episode"]["r"] for info in self.locals["infos"] if "episode" in info)
                return training.minutes is None or time.perf_counter() - begin < 60 * training.minutes

            def _on_rollout_end(self) -> None:
                on_progress(self.num_timesteps, _mean(returns))
                keep(expert())

        model.learn(training.steps, callback=Watch(), reset_num_timesteps=start is None)
    model.policy.set_training_mode(False)
    return expert()


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


def save(expert: Expert, path: Path) -> None:
    """Write an expert to a file; the old content or the new, never half."""
    temporary = path.with_name(f".{path.name}.tmp")
    state = {"state": expert.policy.state_dict(), "steps": expert.steps, "seconds": expert.seconds}
    torch.save({**state, "mean_return": expert.mean_return}, temporary)
    temporary.replace(path)


def load(path: Path) -> Expert:
    """Read an expert from a file that `save` wrote.

    Raises:
        CollectorError: there is no such file, or it holds something else.
    """
    sb3 = _stable_baselines3()
    try:
        found = torch.load(path, weights_only=True)
        policy = _policy(sb3)
        policy.load_state_dict(found["state"])
        policy.set_training_mode(False)
        return Expert(policy, found["steps"], found["seconds"], found["mean_return"])
    except (OSError, KeyError, RuntimeError, TypeError, ValueError, EOFError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CollectorError(
            f"an expert must be a file written by craik coinrun collect, but {path} is not ({reason})"
        ) from error


def _mean(returns: Sequence[float] | deque[float]) -> float | None:
    return float(np.mean(returns)) if returns else None


def _stable_baselines3() -> Any:  # noqa: ANN401  # an optional package's modules, which its stubs do not describe
    try:
        importlib.import_module("stable_baselines3.common.vec_env")
        return importlib.import_module("stable_baselines3")
    except ImportError:
        raise CollectorError(
            "training an expert needs stable-baselines3, but it is not installed; pip install 'craik[coinrun]'"
        ) from None


def _model(sb3: Any, games: Any, training: Training) -> Any:  # noqa: ANN401
    return sb3.PPO(
        "CnnPolicy",
        games,
        learning_rate=training.lr,
        n_steps=training.rollout,
        batch_size=training.batch,
        n_epochs=training.epochs,
        gamma=training.discount,
        ent_coef=training.entropy,
        policy_kwargs=_policy_settings(sb3),
        seed=None,  # `_seeded` has seeded the global generators, for as long as the training lasts
        device="cpu",
    )


def _policy(sb3: Any) -> Any:  # noqa: ANN401
    observations, actions = spaces()
    return sb3.common.policies.ActorCriticCnnPolicy(observations, actions, _no_rate, **_policy_settings(sb3))


def _no_rate(progress: float | int) -> float:  # 1, says stable-baselines3
    """The learning rate of a policy that is only read."""
    del progress
    return 0.0


def _policy_settings(sb3: Any) -> dict[str, Any]:  # noqa: ANN401
    class Features(sb3.common.torch_layers.BaseFeaturesExtractor):
        """Three strided convolutions: the residual network of the texts' expert is ten times as slow on a processor."""

        def __init__(self, observation_space: Any) -> None:  # noqa: ANN401
            super().__init__(observation_space, 256)
            self.layers = nn.Sequential(
                nn.Conv2d(3, 32, 8, stride=4),
                nn.ReLU(),
                nn.Conv2d(32, 64, 4, stride=2),
                nn.ReLU(),
                nn.Conv2d(64, 64, 3),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(64 * 4 * 4, 256),
                nn.ReLU(),
            )

        def forward(self, observations: Tensor) -> Tensor:
            return self.layers(observations)

    return {"features_extractor_class": Features, "net_arch": []}
