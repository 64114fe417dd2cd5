"""Rollouts of Gymnasium's MuJoCo environments under random actions (thesis appendix C.2.2.1)."""

from functools import cache, partial
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.arguments import check_one_of
from mechlearn_zoo.tasks.generation import OnProgress, draw_many

Environment = Literal["Swimmer", "Walker2d", "Hopper", "HalfCheetah"]
AliveBonus = Literal["always", "while-healthy"]

ENVIRONMENTS: tuple[Environment, ...] = ("Swimmer", "Walker2d", "Hopper", "HalfCheetah")
ALIVE_BONUSES: tuple[AliveBonus, ...] = ("always", "while-healthy")
VERSION = 1
"""Of what is drawn. Raise it when the same seed gives other rollouts, whether by the steps that are taken and kept or by the
order of random draws, here or in `mechlearn_zoo.tasks.generation`: cached files of older versions are then left."""
SUITE = "v5"
"""The newest version of the environments in Gymnasium; the seeds used -v2."""

STEPS = 16
WARM_UP = (10, 30)
"""Steps of an example, and the least and greatest number of random steps before its state is recorded."""

FALLS: frozenset[str] = frozenset({"Walker2d", "Hopper"})
"""Bodies that v5 pays for being in their healthy range, and ends an episode when they leave it."""


class Rollout(NamedTuple):
    """Examples b of s state components and a action components.

    Attributes:
        state: (b, s) where the actions start.
        actions: (b, 16, a) each -1, 0 or 1.
        states: (b, 16, s) after each action.
        rewards: (b, 16) of each action.
        healthy: (b,) 1 where the body was in its healthy range all the time, warm-up included; 1 for the other bodies.
    """

    state: NDArray[np.float64]
    actions: NDArray[np.float64]
    states: NDArray[np.float64]
    rewards: NDArray[np.float64]
    healthy: NDArray[np.float64]


def collect(
    environment: Environment,
    alive_bonus: AliveBonus,
    seed: int,
    count: int,
    processes: int | None = None,
    on_progress: OnProgress | None = None,
) -> Rollout:
    """Simulate examples, the same ones whatever the number of processes; fewer are the beginning of more.

    Args:
        environment: which body.
        alive_bonus: "always" pays Walker2d's and Hopper's bonus of 1 at every step, as -v2 did; "while-healthy" is v5's own.
        seed: of all; each example has a child of its own.
        count: number of examples.
        processes: how many simulate at once; one a processor core if None.
        on_progress: told after every example: how many are done, of how many.

    Raises:
        ValueError: an unknown environment or bonus.
    """
    check_one_of("environment", environment, ENVIRONMENTS)
    check_one_of("alive_bonus", alive_bonus, ALIVE_BONUSES)
    sample = partial(simulate, environment, alive_bonus)
    drawn = draw_many(sample, count, seed, processes=processes, on_progress=on_progress)
    return Rollout(*(np.stack(column) for column in zip(*drawn.items, strict=True)))


def simulate(environment: Environment, alive_bonus: AliveBonus, generator: np.random.Generator) -> Rollout:
    """Simulate one example; its arrays have no leading b."""
    env = make_environment(environment, alive_bonus)
    # At every step the bonus is a constant, which is easier to add than to have paid; see `make_environment`.
    bonus = 1.0 if environment in FALLS and alive_bonus == "always" else 0.0
    state, _ = env.reset(seed=int(generator.integers(2**31)))
    warm_up = int(generator.integers(WARM_UP[0], WARM_UP[1] + 1))
    actions = generator.integers(-1, 2, size=(warm_up + STEPS, env.action_space.shape[0])).astype(np.float64)
    healthy = True
    for action in actions[:warm_up]:
        state, *_ = env.step(action)
        healthy = healthy and bool(getattr(env, "is_healthy", True))
    states: list[NDArray[np.float64]] = []
    rewards: list[float] = []
    for action in actions[warm_up:]:
        following, reward, *_ = env.step(action)
        states.append(following)
        rewards.append(float(reward) + bonus)
        healthy = healthy and bool(getattr(env, "is_healthy", True))
    return Rollout(state, actions[warm_up:], np.stack(states), np.array(rewards), np.array(float(healthy)))


@cache
def make_environment(environment: Environment, alive_bonus: AliveBonus) -> Any:  # noqa: ANN401 # gymnasium is optional
    """Return an environment that goes on whatever happens, without Gymnasium's wrappers; made once a process.

    Raises:
        ValueError: an unknown environment or bonus.
    """
    check_one_of("environment", environment, ENVIRONMENTS)
    check_one_of("alive_bonus", alive_bonus, ALIVE_BONUSES)
    gymnasium, mujoco = (import_module(name) for name in ("gymnasium", "mujoco"))
    options: dict[str, Any] = {}
    if environment in FALLS:
        options["terminate_when_unhealthy"] = False
        if alive_bonus == "always":
            options["healthy_reward"] = 0.0
    # MuJoCo finds HalfCheetah's description old-fashioned, and would say so in a file in the user's current folder.
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(_hush)
    try:
        return gymnasium.make(f"{environment}-{SUITE}", **options).unwrapped
    finally:
        mujoco.set_mju_user_warning(previous)


def _hush(warning: object) -> None:
    del warning
