"""M's dream as a world: for populations (`DreamWorld`) and for anybody's agent (`Dream`, a gymnasium VectorEnv).

A step of the dream samples z_{t+1} from M's mixture at a temperature tau: weights' logits over tau, deviations times sqrt(tau)
(https://arxiv.org/abs/1809.01999, section 4.3). The temperature is that of M's randomness, not of an agent's actions. A
controller that is trained at a low one learns what M has wrong rather than what the world has right: test it in the world.

Reward is 1 for each step survived, as in Take Cover; M learns no other here.
"""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Generator, Tensor

from mechlearn.arguments import (
    all_finite,
    check_all_finite,
    check_data,
    check_generator,
    check_kind,
    check_one_of,
    check_seed,
    check_shape,
    check_whole,
)
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.worlds.dream_worlds import DreamState as DreamState  # noqa: PLC0414  # re-exported: py.typed
from mechlearn_zoo.methods.worlds.dream_worlds import DreamWorld as DreamWorld  # noqa: PLC0414  # re-exported, too
from mechlearn_zoo.nn.recurrent import Recurrent

if TYPE_CHECKING:
    from gymnasium.spaces import Space

PAPER = Paper(
    "Dreaming",
    2018,
    "Ha and Schmidhuber, section 4",
    "https://arxiv.org/abs/1809.01999",
    "a step of M instead of a step of the world",
)


class Dream(VectorEnv):  # pyright: ignore[reportUntypedBaseClass, reportGeneralTypeIssues]
    """M's dreams as a gymnasium VectorEnv: observations are [z, h], a dream that ended starts anew in the next step.

    Args:
        world: M, starts, temperature and ends.
        dreams: how many side by side.
        horizon: steps after which a dream is cut off (truncated); needed where M predicts no end.
        generator: of starts and noise; `reset(seed=...)` seeds it.
        actions: "box" for numbers in [-1, 1]; "discrete" for positions, given to M one-hot.

    Raises:
        TypeError: arguments of another kind.
        ValueError: numbers out of range, or neither ends nor a horizon.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        world: DreamWorld,
        dreams: int,
        horizon: int | None,
        generator: Generator,
        actions: Literal["box", "discrete"] = "box",
    ) -> None:
        check_kind("world", world, DreamWorld, "a DreamWorld")
        check_whole("dreams", dreams, 1)
        check_generator("generator", generator)
        check_one_of("actions", actions, ("box", "discrete"))
        if horizon is None and world.memory.ending is None:
            raise ValueError(
                "A dream should end. Found an M that predicts no end, and no `horizon`. Name one, or make M with ends=True."
            )
        if horizon is not None:
            check_whole("horizon", horizon, 1)
        self.world, self.num_envs, self.horizon, self.generator, self.discrete = (
            world,
            dreams,
            horizon,
            generator,
            actions == "discrete",
        )
        self._spaces()
        self._state = world.start(1, dreams, generator)
        self._age = np.zeros(dreams, dtype=np.int64)
        self._over = np.zeros(dreams, dtype=bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start every dream anew; see gymnasium. `options` is not read, a seed that is no whole number refused."""
        if seed is not None:
            check_seed(seed)
            self.generator.manual_seed(seed)
        self._state = self.world.start(1, self.num_envs, self.generator)
        self._age[:], self._over[:] = 0, False
        return self._observed(), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:  # noqa: ANN401  # arrays of any kind
        """Take one action in each dream; see gymnasium. Where a dream was over it starts anew instead, with reward 0.

        Raises:
            TypeError: actions that are no numbers.
            ValueError: actions of another shape or number, or not finite; the dreams stay where they are, nothing was drawn.
            FloatingPointError: M dreamt what is not finite: its weights are not. The dreams stay where they are.
        """
        fresh = self._over.copy()
        stepped = self.world.step(self._state, self._given(actions), self.generator)
        if not all_finite(stepped.state.z):
            raise FloatingPointError(
                "M should dream finite latents. Found NaN or infinity. Look at its weights; train it again."
            )
        again = self.world.start(1, self.num_envs, self.generator)
        mask = torch.from_numpy(fresh).to(again.z.device)[None, :, None]
        self._state = DreamState(
            torch.where(mask, again.z, stepped.state.z),
            Recurrent(*(torch.where(mask, new, old) for new, old in zip(again.memory, stepped.state.memory, strict=True))),
            stepped.state.over & ~mask.squeeze(-1),
        )
        self._age = np.where(fresh, 0, self._age + 1)
        terminated = stepped.ended[0].cpu().numpy() & ~fresh
        late = np.zeros_like(fresh) if self.horizon is None else self._age >= self.horizon
        truncated = late & ~terminated & ~fresh
        self._over = terminated | truncated
        return self._observed(), np.where(fresh, 0.0, _numpy(stepped.rewards[0])), terminated, truncated, {}

    def _spaces(self) -> None:
        from gymnasium.spaces import Box, Discrete  # noqa: PLC0415  # an extra
        from gymnasium.vector.utils import batch_space  # noqa: PLC0415

        memory = self.world.memory
        self.single_observation_space: Space[Any] = Box(-np.inf, np.inf, (memory.latent + memory.hidden,), np.float32)
        self.single_action_space: Space[Any] = (
            Discrete(memory.action) if self.discrete else Box(-1.0, 1.0, (memory.action,), np.float32)
        )
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _observed(self) -> np.ndarray:
        return _numpy(self.world.features(self._state)[0]).astype(np.float32)

    def _given(self, actions: Any) -> Tensor:  # noqa: ANN401  # arrays of any kind
        if isinstance(actions, Tensor):
            check_data("actions", actions)
        array = np.asarray(actions)
        if array.dtype.kind not in "iuf":
            raise TypeError(f"`actions` should be numbers, a row for each dream. Found {array.dtype}. Pass an array.")
        given = torch.as_tensor(array)
        width = self.world.memory.action
        if self.discrete:
            check_shape("actions", given, self.num_envs, way_out="One position for each dream.")
            if given.is_floating_point() or int(given.min()) < 0 or int(given.max()) >= width:
                raise ValueError(f"`actions` should be whole numbers from 0 to {width - 1}. Found {given.tolist()}.")
            return torch.nn.functional.one_hot(given.long(), width).to(self._state.z)[None]
        check_shape("actions", given, self.num_envs, width, way_out="One row for each dream.")
        rows = given.to(self._state.z)
        check_all_finite("actions", rows, way_out="Clamp what the policy gives.")
        return rows[None]


def _numpy(tensor: Tensor) -> np.ndarray:
    """Return an array, in float32 at least: numpy has no bfloat16."""
    return tensor.detach().to(torch.promote_types(tensor.dtype, torch.float32)).cpu().numpy()
