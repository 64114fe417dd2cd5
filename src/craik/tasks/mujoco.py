"""Sums of rewards of simulated bodies: a state and sixteen random actions in, the return's quantile out.

Sixteen states and rewards of the future are privileged: they explain the label and are there while training only.
Source: thesis section 4.4.3 and appendix C.2.2. The seeds simulated -v2; here it is -v5 of Gymnasium, with the bonus for
staying alive paid as in -v2 unless told otherwise.
"""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from craik.distill.data import Examples
from craik.tasks.array_cache import Arrays, cached_arrays
from craik.tasks.mujoco_rollouts import ENVIRONMENTS, STEPS, VERSION, WARM_UP, AliveBonus, Environment, collect
from craik.tasks.privileged import PrivilegedData, check_sizes

BINS = 32
"""Classes that the return's quantile falls into."""

_STREAMS = {"train": 0, "selection": 1, "test": 2}


class Scales(NamedTuple):
    """What the training set says about units: means and standard deviations, and its returns in ascending order."""

    x: tuple[NDArray[np.float64], NDArray[np.float64]]
    reward: tuple[float, float]
    returns: NDArray[np.float64]


def mujoco(
    environment: Environment,
    seed: int = 0,
    train: int = 4000,
    selection: int = 2000,
    test: int = 10_000,
    alive_bonus: AliveBonus = "always",
    cache: Path | str | None = None,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
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
        train: training examples.
        selection: held-out examples for choosing.
        test: test examples.
        alive_bonus: "always" pays Walker2d's and Hopper's bonus at every step, as -v2 did; "while-healthy" is v5's own.
        cache: folder that simulated examples are kept in; None is the user's cache folder.
        processes: how many simulate at once, one a processor core if None; the data do not depend on it.
        progress: called with the number of simulated examples of a split and their whole number.

    Raises:
        ValueError: an unknown environment, or a size below 1.
        ImportError: gymnasium, mujoco or imageio is not installed, and the data are not in the cache.
        RuntimeError: a simulating process failed.
    """
    if environment not in ENVIRONMENTS:
        raise ValueError(f"`environment` should be one of {', '.join(ENVIRONMENTS)}. Found {environment!r}.")
    sizes = {"train": train, "selection": selection, "test": test}
    check_sizes(**sizes)

    def raw(name: str, count: int) -> Arrays:
        stream = _STREAMS[name]
        settings = {
            "environment": f"{environment}-{VERSION}",
            "alive_bonus": alive_bonus,
            "seed": seed,
            "stream": stream,
            "count": count,
            "steps": STEPS,
            "warm_up": str(WARM_UP),
            **_versions(),
        }
        make = lambda: collect(environment, alive_bonus, seed, stream, count, processes, progress)  # noqa: E731
        return cached_arrays(f"mujoco-{environment}", settings, make, cache)

    parts = {name: raw(name, count) for name, count in sizes.items()}
    scales = measure_scales(parts["train"])
    return PrivilegedData(*(to_split(parts[name], scales) for name in sizes))


def _versions() -> dict[str, str]:
    """Versions that decide the numbers; without the packages a cache of theirs cannot be told from another's."""
    try:
        return {name: version(name) for name in ("gymnasium", "mujoco")}
    except ImportError as error:  # PackageNotFoundError
        raise ImportError(
            f"The MuJoCo task needs gymnasium, mujoco and imageio. Found no {error.name}. Install craik[experiments], "
            "or gymnasium[mujoco]."
        ) from error


def measure_scales(raw: Arrays) -> Scales:
    """Return the units of raw training examples; a component that never changes keeps the unit 1."""
    x = flat_inputs(raw)
    rewards, returns = raw["rewards"], raw["rewards"].sum(axis=1)
    deviation = x.std(axis=0)
    return Scales(
        (x.mean(axis=0), np.where(deviation > 0, deviation, 1.0)),
        (float(rewards.mean()), float(rewards.std()) or 1.0),
        np.sort(returns),
    )


def flat_inputs(raw: Arrays) -> NDArray[np.float64]:
    """Return state and actions side by side, (b, s + 16 a)."""
    return np.concatenate([raw["state"], raw["actions"].reshape(len(raw["actions"]), -1)], axis=1)


def quantiles(returns: NDArray[np.float64], training_returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return psi(return) in [0, 1] (appendix C.2.2.1): uniform on the training set, linear in between, clipped outside.

    Args:
        returns: (b,) to transform.
        training_returns: (n,) ascending. Equal ones share the mean of their ranks.
    """
    values, counts = np.unique(training_returns, return_counts=True)
    rank = np.cumsum(counts) - (counts + 1) / 2
    return np.interp(returns, values, rank / max(len(training_returns) - 1, 1))


def to_split(raw: Arrays, scales: Scales) -> Examples:
    """Return raw examples in the units of the training set, labels as bins of equal width in psi."""
    mean, deviation = scales.x
    x = (flat_inputs(raw) - mean) / deviation
    width = raw["state"].shape[1]
    states = (raw["states"] - mean[:width]) / deviation[:width]
    rewards = (raw["rewards"] - scales.reward[0]) / scales.reward[1]
    privileged = np.concatenate([states, rewards[..., None]], axis=2)
    psi = quantiles(raw["rewards"].sum(axis=1), scales.returns)
    y = np.minimum((psi * BINS).astype(np.int64), BINS - 1)
    return Examples(torch.from_numpy(x).float(), torch.from_numpy(privileged).float(), torch.from_numpy(y))


def bin_errors(logits: Float[Tensor, "b 32"], y: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """Return the papers' error of each example: (expected bin value - true bin value)^2, bins valued by their centres."""
    centres = (torch.arange(BINS, dtype=logits.dtype, device=logits.device) + 0.5) / BINS
    return (logits.softmax(dim=1) @ centres - centres[y]).square()
