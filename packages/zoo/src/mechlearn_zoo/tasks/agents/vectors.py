"""The face of gymnasium's vector environments for mechlearn's batched tasks, for other people's learners."""

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from mechlearn.arguments import check_seed

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv


@runtime_checkable
class Task(Protocol):
    """What `mechlearn_zoo.tasks.agents` offers: a batch of environments that speaks torch."""

    num_envs: int
    observation_shape: tuple[int, ...]
    actions: int | tuple[int, ...]

    def reset(self, *, seed: int | None) -> tuple[Tensor, dict[str, Tensor]]:
        """Begin everywhere; None goes on with the numbers that are drawn."""
        ...

    def step(self, actions: Tensor, /) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Tensor]]:
        """Act."""
        ...


def vector_env(task: Task) -> "VectorEnv[Any, Any, Any]":
    """Return a task as a `gymnasium.vector.VectorEnv` with `AutoresetMode.SAME_STEP`, which speaks numpy.

    Observations are a Box without bounds, actions Discrete or a Box, of float32. A reset without a seed begins other episodes
    than the one before, as gymnasium has it; one seed is for all of them.
    """
    from gymnasium import spaces  # noqa: PLC0415 # slow to load
    from gymnasium.vector import AutoresetMode, VectorEnv  # noqa: PLC0415
    from gymnasium.vector.utils import batch_space  # noqa: PLC0415

    class Face(VectorEnv[Any, Any, Any]):
        metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  # gymnasium's way

        def __init__(self) -> None:
            self.num_envs = task.num_envs
            self.single_observation_space = spaces.Box(-np.inf, np.inf, task.observation_shape, np.float32)
            self.single_action_space = (
                spaces.Discrete(task.actions)
                if isinstance(task.actions, int)
                else spaces.Box(-np.inf, np.inf, task.actions, np.float32)
            )
            self.observation_space = batch_space(self.single_observation_space, task.num_envs)
            self.action_space = batch_space(self.single_action_space, task.num_envs)

        def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
            if seed is not None:
                check_seed(seed, why="one for all environments")
            return task.reset(seed=None if seed is None else int(seed))[0].numpy(), {}

        def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # noqa: ANN401  # numpy's
            moves = torch.as_tensor(actions, dtype=None if isinstance(task.actions, int) else torch.float32)
            observations, rewards, terminated, truncated, infos = task.step(moves)
            final = {"final_obs": infos["final_obs"].numpy(), "_final_obs": (terminated | truncated).numpy()} if infos else {}
            return observations.numpy(), rewards.numpy(), terminated.numpy(), truncated.numpy(), final

    return Face()
