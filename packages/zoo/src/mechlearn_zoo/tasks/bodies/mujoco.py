"""Sums of rewards of simulated bodies: a state and sixteen random actions in, the return's quantile out.

Sixteen states and rewards of the future are privileged: they explain the label and are there while training only.
Source: thesis section 4.4.3 and appendix C.2.2. The seeds simulated -v2; here it is -v5 of Gymnasium, with the bonus for
staying alive paid as in -v2 unless told otherwise.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from mechlearn.arguments import check_one_of
from mechlearn_zoo.tasks.bodies.quantiles import BINS, quantiles
from mechlearn_zoo.tasks.bodies.rollouts import (
    ALIVE_BONUSES,
    ENVIRONMENTS,
    SUITE,
    VERSION,
    AliveBonus,
    Environment,
    Rollout,
    collect,
)
from mechlearn_zoo.tasks.caching import cached, default_folder, key_of
from mechlearn_zoo.tasks.generation import OnProgress
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData, check_sizes


@dataclass(frozen=True)
class Sizes:
    """How many examples: to train on, held out for choosing, and for the test."""

    train: int = 4000
    selection: int = 2000
    test: int = 10_000

    def __post_init__(self) -> None:
        check_sizes({"train": self.train, "selection": self.selection, "test": self.test})


SIZES = Sizes()
"""Thesis appendix C.2.2's."""


class Scales(NamedTuple):
    """What the training set says about units: means and standard deviations, and its returns in ascending order."""

    x: tuple[NDArray[np.float64], NDArray[np.float64]]
    reward: tuple[float, float]
    returns: NDArray[np.float64]


def mujoco(
    environment: str,
    seed: int = 0,
    sizes: Sizes = SIZES,
    alive_bonus: AliveBonus = "always",
    cache: Path | None = None,
    processes: int | None = None,
    on_progress: OnProgress | None = None,
) -> PrivilegedData:
    """Simulate a dataset, or read it from the cache, and put it into the units of its training set.

    An example's ``x`` (s + 16 a) is a state and sixteen actions in order, standardised by the training set. Its
    ``privileged`` frames (16, s + 1) are the sixteen next states, standardised as the state in ``x`` is, each with its
    reward, standardised by the training set's rewards. Its ``y`` is the bin of its return's quantile.

    Walker2d and Hopper fall in almost every example: random actions are no way to walk. The simulation goes on, with the
    body on the ground, so that every example has its sixteen steps.

    Args:
        environment: "Swimmer", "Walker2d", "Hopper" or "HalfCheetah".
        seed: of every example, together with its number; a smaller set is the beginning of a larger one.
        sizes: of the three splits.
        alive_bonus: "always" pays Walker2d's and Hopper's bonus at every step, as -v2 did; "while-healthy" is v5's own.
        cache: folder that simulated examples are kept in; None is `mechlearn_zoo.tasks.caching.default_folder`.
        processes: how many simulate at once, one a processor core if None; the data do not depend on it.
        on_progress: told after every simulated example of a split: how many are done, of how many.

    Raises:
        ValueError: an unknown environment or bonus.
    """
    if environment not in ENVIRONMENTS:
        raise ValueError(f"`environment` should be one of {', '.join(ENVIRONMENTS)}. Found {environment!r}.")
    check_one_of("alive_bonus", alive_bonus, ALIVE_BONUSES)

    rollouts = [
        _raw((environment, alive_bonus, seed, stream, count), cache or default_folder(), processes, on_progress)
        for stream, count in enumerate((sizes.train, sizes.selection, sizes.test))
    ]
    scales = measure_scales(rollouts[0])
    return PrivilegedData(*(to_split(rollout, scales) for rollout in rollouts))


def _raw(
    made_from: tuple[Environment, AliveBonus, int, int, int], cache: Path, processes: int | None, on_progress: OnProgress | None
) -> Rollout:
    """Return a split's rollouts in their own units; it is made from body, bonus, seed, number of the split, and its size."""
    environment, alive_bonus, seed, stream, count = made_from
    key = key_of(VERSION, (SUITE, *made_from), ("gymnasium", "mujoco", "numpy"))

    def make() -> dict[str, NDArray[np.float64]]:
        stream_seed = int(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0])
        return collect(environment, alive_bonus, stream_seed, count, processes, on_progress)._asdict()

    return Rollout(**cached(cache, f"mujoco-{environment}-{key}", make))


def measure_scales(raw: Rollout) -> Scales:
    """Return the units of raw training examples; a component that never changes by more than rounding keeps the unit 1."""
    x = flat_inputs(raw)
    rewards, returns = raw.rewards, raw.rewards.sum(axis=1)
    return Scales((x.mean(axis=0), _unit(x, axis=0)), (float(rewards.mean()), float(_unit(rewards))), np.sort(returns))


def _unit(x: NDArray[np.float64], axis: int | None = None) -> NDArray[np.float64]:
    """Return standard deviations, and 1 where they are no more than what a sum of so many numbers may round off."""
    deviation, largest = x.std(axis=axis), np.abs(x).max(axis=axis)
    rounding = np.finfo(np.float64).eps * (x.size if axis is None else x.shape[axis])
    return np.where(deviation > rounding * largest, deviation, 1.0)


def flat_inputs(raw: Rollout) -> NDArray[np.float64]:
    """Return state and actions side by side, (b, s + 16 a)."""
    return np.concatenate([raw.state, raw.actions.reshape(len(raw.actions), -1)], axis=1)


def to_split(raw: Rollout, scales: Scales) -> Part:
    """Return raw examples in the units of the training set, labels as bins of equal width in psi."""
    mean, deviation = scales.x
    x = (flat_inputs(raw) - mean) / deviation
    width = raw.state.shape[1]
    states = (raw.states - mean[:width]) / deviation[:width]
    rewards = (raw.rewards - scales.reward[0]) / scales.reward[1]
    privileged = np.concatenate([states, rewards[..., None]], axis=2)
    psi = quantiles(raw.rewards.sum(axis=1), scales.returns)
    y = np.minimum((psi * BINS).astype(np.int64), BINS - 1)
    return Part(torch.from_numpy(x).float(), torch.from_numpy(privileged).float(), torch.from_numpy(y))
