"""Drawing settings: each trial's from its number and from the trials before it, so that a sweep that was killed draws the same.

No sampler lives longer than a draw. A random draw depends on the trial's number and on which fields are drawn, so it is the
same for all methods that fix none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from claimlab.rows import Scalar
from claimlab.sweeping.plan import Sampler
from claimlab.sweeping.ranges import Choice, LogUniform, Options, Range, Whole

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler


def grid_size(ranges: Mapping[str, Range]) -> int:
    """Return how many points a grid of ranges has."""
    return math.prod(len(one.grid()) for one in ranges.values())


def distribution(one: Range) -> BaseDistribution:
    """Return a range as Optuna knows it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: PLC0415  # slow

    match one:
        case Choice(values=values):
            return CategoricalDistribution(values)
        case Options(groups=groups):
            return CategoricalDistribution(list(groups))
        case Whole(low=low, high=high):
            return IntDistribution(int(low), int(high))
        case LogUniform(low=low, high=high):
            return FloatDistribution(float(low), float(high), log=True)
        case _:
            ends: Any = one
            return FloatDistribution(float(ends.low), float(ends.high))


def own_setting(ranges: Mapping[str, Range], config: Any) -> dict[str, Scalar] | None:  # noqa: ANN401  # any Config
    """Return the setting that a config has; None where it lies outside the ranges."""
    try:
        return {name: one.value_in(name, config) for name, one in ranges.items()}
    except (ValueError, AttributeError):
        return None


def draw(sampler: Sampler, study: Study, ranges: Mapping[str, Range], number: int, seed: int) -> dict[str, Scalar]:
    """Return the setting of a trial."""
    if sampler == "grid":
        return _grid_point(ranges, number, seed)
    from optuna.trial import TrialState, create_trial  # noqa: PLC0415

    drawing, trial = _sampler(sampler, number, seed), create_trial(state=TrialState.RUNNING)
    trial.number = number
    found = {name: drawing.sample_independent(study, trial, name, distribution(one)) for name, one in ranges.items()}
    return found


def _sampler(sampler: Sampler, number: int, seed: int) -> BaseSampler:
    from optuna.samplers import RandomSampler, TPESampler  # noqa: PLC0415

    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    return TPESampler(seed=own) if sampler == "tpe" else RandomSampler(seed=own)


def _grid_point(ranges: Mapping[str, Range], number: int, seed: int) -> dict[str, Scalar]:
    """Return the number-th point of a grid in a shuffled order, so that a part of it is spread over the whole."""
    grids: list[Sequence[Scalar]] = [one.grid() for one in ranges.values()]
    size = math.prod(map(len, grids))
    place = int(np.random.default_rng(seed).permutation(size)[number])
    places = np.unravel_index(place, [len(grid) for grid in grids])
    return {name: grid[int(at)] for name, grid, at in zip(ranges, grids, places, strict=True)}
