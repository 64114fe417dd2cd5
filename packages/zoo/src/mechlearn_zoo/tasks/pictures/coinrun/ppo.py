"""PPO as stable-baselines3 has it, with the network that plays CoinRun."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from mechlearn.arguments import check_not_negative, check_positive, check_share, check_whole
from mechlearn_zoo.tasks.pictures.coinrun.errors import CollectorError
from mechlearn_zoo.tasks.pictures.coinrun.games import spaces


@dataclass(frozen=True)
class Hyperparameters:
    """PPO's; clipping, GAE's decay and the gradient's norm are stable-baselines3's.

    Args:
        games: played at once.
        rollout: steps of each game between two updates.
        epochs: passes over a roll-out.
        batch: examples of a gradient step.
        lr: Adam's learning rate.
        entropy: weight of the policy's entropy.
        discount: of the return.
        scale_rewards: PPO sees rewards divided by the running standard deviation of the discounted return, and clipped to 10
            of them; `Expert.mean_return` is of the game's own.

    Raises:
        ValueError: a count below 1, a rate that is not positive, a negative weight, or a discount outside [0, 1].
    """

    games: int = 64
    rollout: int = 256
    epochs: int = 3
    batch: int = 2048
    lr: float = 5e-4
    entropy: float = 0.01
    discount: float = 0.999
    scale_rewards: bool = True

    def __post_init__(self) -> None:
        for name in ("games", "rollout", "epochs", "batch"):
            check_whole(name, getattr(self, name), 1)
        check_positive("lr", self.lr)
        check_not_negative("entropy", self.entropy)
        check_share("discount", self.discount)


@dataclass(frozen=True)
class Training:
    """How an expert is trained: for how long, on which levels, with which of PPO's hyperparameters.

    Args:
        steps: of the simulator, over all games; the texts have 400 million.
        minutes: stop after so many, whatever is reached; None for no limit.
        mode: Procgen's difficulty.
        seed: of network, roll-outs and levels.
        hyperparameters: of PPO.

    Raises:
        CollectorError: steps below 1, or minutes that are not positive.
    """

    steps: int = 400_000_000
    minutes: float | None = None
    mode: str = "easy"
    seed: int = 0
    hyperparameters: Hyperparameters = Hyperparameters()

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise CollectorError(f"--steps should be at least 1. Found {self.steps}. Pass a larger one.")
        if self.minutes is not None and not self.minutes > 0:
            raise CollectorError(f"--minutes should be above 0. Found {self.minutes:g}. Leave it out for no limit.")


def stable_baselines3() -> Any:  # noqa: ANN401  # an optional package's modules, which its stubs do not describe
    """Return stable-baselines3.

    Raises:
        CollectorError: it is not installed.
    """
    try:
        importlib.import_module("stable_baselines3.common.vec_env")
        return importlib.import_module("stable_baselines3")
    except ImportError:
        raise CollectorError(
            "stable-baselines3 should be installed to train an expert. Found none. Run `pip install 'mechlearn-zoo[coinrun]'`."
        ) from None


def make_ppo(sb3: Any, games: Any, hyperparameters: Hyperparameters) -> Any:  # noqa: ANN401
    """Return PPO with an untrained policy, ready to play."""
    return sb3.PPO(
        "CnnPolicy",
        games,
        learning_rate=hyperparameters.lr,
        n_steps=hyperparameters.rollout,
        batch_size=hyperparameters.batch,
        n_epochs=hyperparameters.epochs,
        gamma=hyperparameters.discount,
        ent_coef=hyperparameters.entropy,
        policy_kwargs=_policy_settings(sb3),
        seed=None,  # whoever trains seeds the global generators, for as long as the training lasts
        device="cpu",
    )


def make_policy(sb3: Any) -> Any:  # noqa: ANN401
    """Return an untrained policy, to read weights into."""
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
