"""The two worlds of World Models from other people's simulators: VizDoom's Take Cover and gymnasium's car racing.

`pip install 'mechlearn-zoo[worlds]'` brings VizDoom, whose wheel holds the scenario and free textures, and Box2D. Every episode
is a simulator of its
own; `SimulatedWorld` holds as many as it was asked for at once and uses them again, so evaluate populations in small parts.
"""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor
from torch.nn.functional import adaptive_avg_pool2d

from mechlearn.arguments import check_generator, check_shape, check_whole

SIZE = 64
"""Pixels of a frame's side, as in the published code."""


class Simulators(NamedTuple):
    """What the simulators show now, (p, e, 3, 64, 64), and which episodes are over, (p, e)."""

    shown: Float[Tensor, "p e c h w"]
    over: Bool[Tensor, "p e"]


class SimulatedStep(NamedTuple):
    """A step's outcome; rewards are 0 for what was over before."""

    state: Simulators
    rewards: Float[Tensor, "p e"]
    ended: Bool[Tensor, "p e"]


class SimulatedWorld:
    """A world of frames over gymnasium environments: `doom` and `car_racing` make one.

    Args:
        make: an environment.
        look: from its observation to (h, w, 3) bytes.
        act: from (o,) numbers to its action.
        actions: o, numbers of an action.
    """

    def __init__(
        self, make: Callable[[], Any], look: Callable[[Any], np.ndarray], act: Callable[[np.ndarray], Any], actions: int
    ) -> None:
        check_whole("actions", actions, 1)
        self.make, self.look, self.act, self.actions = make, look, act, actions
        self._pool: list[Any] = []

    def start(self, population: int, episodes: int, generator: Generator) -> Simulators:
        """Start p copies of e episodes; copies have the same seed, drawn from the generator."""
        check_generator("generator", generator)
        while len(self._pool) < population * episodes:
            self._pool.append(self.make())
        seeds = torch.randint(2**31 - 1, (episodes,), generator=generator).repeat(population).tolist()
        shown = [self._frame(env.reset(seed=seed)[0]) for env, seed in zip(self._pool, seeds, strict=False)]
        return Simulators(torch.stack(shown).unflatten(0, (population, episodes)), torch.zeros(population, episodes) > 0)

    def frames(self, state: Simulators) -> Float[Tensor, "p e c h w"]:
        """Return what is seen, in [0, 1]."""
        return state.shown

    def step(self, state: Simulators, actions: Float[Tensor, "p e o"], generator: Generator) -> SimulatedStep:
        """Step every simulator whose episode is not over; the others keep their last frame. The generator is not drawn from."""
        check_shape("actions", actions, *state.over.shape, self.actions)
        shown, over = state.shown.flatten(0, 1).clone(), state.over.flatten().clone()
        rewards = torch.zeros(len(over))
        for index, action in enumerate(actions.flatten(0, 1).numpy()):
            if not over[index]:
                observation, reward, terminated, truncated, _ = self._pool[index].step(self.act(action))
                shown[index], rewards[index] = self._frame(observation), float(reward)
                over[index] = bool(terminated or truncated)
        after = Simulators(shown.view_as(state.shown), over.view_as(state.over))
        return SimulatedStep(after, rewards.view_as(state.over), after.over)

    def close(self) -> None:
        """Close the simulators."""
        while self._pool:
            self._pool.pop().close()

    def _frame(self, observation: Any) -> Tensor:  # noqa: ANN401  # the environment's own
        picture = torch.from_numpy(np.ascontiguousarray(self.look(observation))).float().div(255).movedim(-1, 0)
        return adaptive_avg_pool2d(picture, SIZE).clamp(0, 1)


def doom(frame_skip: int = 1) -> SimulatedWorld:
    """Return VizDoom's Take Cover: actions -1 (left), 0, 1 (right); a reward of 1 for each tic survived, 35 a second.

    VizDoom leaves a file of its settings, `_vizdoom.ini`, in the current folder.

    Args:
        frame_skip: tics of a step; 1 in the paper.
    """
    check_whole("frame_skip", frame_skip, 1)
    try:
        import gymnasium  # noqa: PLC0415  # an extra

        importlib.import_module("vizdoom.gymnasium_wrapper")  # registers its environments
    except ImportError as error:
        raise ImportError("Take Cover needs VizDoom. Found none. Run `pip install 'mechlearn-zoo[worlds]'`.") from error

    def make() -> Any:  # noqa: ANN401
        return gymnasium.make("VizdoomTakeCover-v1", frame_skip=frame_skip)

    # The wrapper's actions are nothing, right, left (its buttons' combinations in binary order).
    return SimulatedWorld(make, lambda seen: seen["screen"], lambda action: (2, 0, 1)[int(np.sign(action[0])) + 1], 1)


def car_racing() -> SimulatedWorld:
    """Return gymnasium's CarRacing-v3: actions steering, gas, brake; the frame without the bar of instruments."""
    try:
        import gymnasium  # noqa: PLC0415  # an extra

        importlib.import_module("Box2D")
    except ImportError as error:
        raise ImportError(
            "Car racing needs gymnasium's Box2D. Found none. Run `pip install 'mechlearn-zoo[worlds]'`."
        ) from error
    return SimulatedWorld(lambda: gymnasium.make("CarRacing-v3"), lambda seen: seen[:84], lambda action: action, 3)
