"""Trials: settings drawn for all methods alike.

Trial 0 takes the settings of `skips-accuracy`; every further trial, numbered by its seed, draws settings for all methods from
the ranges below. A method's best trial is the one with the highest accuracy on validation episodes;
what is compared is the accuracy on test episodes, which selection never sees. It is selected once among the ends of trials, and
once among all looks at all of them, a setting and a time at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, MinLen

from claimlab import Limited, Preset, Row, number, part
from mechlearn_zoo.experiments.skips.comparing.looks import train_and_stop
from mechlearn_zoo.experiments.skips.comparing.networks import Architecture
from mechlearn_zoo.experiments.skips.comparing.outcomes import PAPER, QUICK, Comparison, make_worlds
from mechlearn_zoo.experiments.skips.comparing.training import Method, Task

RANGES: dict[str, dict[str, tuple[Any, ...]]] = {
    "quick": {
        "learning_rate": (1e-3, 2e-3, 3e-3, 5e-3),
        "sampling_steps": (150, 300, 600, 1200),
        "decay_evaluations": (None, 5_000, 10_000),
        "horizon": (15, 18, 21, 25),
        "exploration_steps": (300, 600, 900),
    },
    "paper": {
        "learning_rate": (1e-3, 7.5e-4, 5e-4),
        "kernels": (32, 48),
        "architecture": ("simple", "strided", "dilated"),
        "decay_steps": (5_000, 10_000, 15_000),
        "horizon": (15, 18, 21, 25),
        "exploration_steps": (7_500, 10_000, 15_000),
    },
}
"""What a trial draws, for all methods alike; horizon and exploration mean nothing to a fixed step. Those of "paper" are the
published code's, which has one schedule of scheduled sampling."""

LOOKS = 8
"""At a training, evenly spread over its evaluations: a look rolls out on all validation episodes, which takes long."""


@dataclass(frozen=True)
class Config(Limited):
    """What is fixed during the search. All else is as in a preset of `skips-accuracy`."""

    seed: int = 0
    """First trial; trial 0 has the settings of `skips-accuracy`, every other one is a draw."""
    size: Literal["quick", "paper"] = "quick"
    """The preset of `skips-accuracy` that is searched around."""
    task: Task = "funnel-board"
    """Which world."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("asi", "asi-no-exploration", "fixed-1", "fixed-2", "fixed-3")
    """What to search settings for; the thesis gives the fixed step of 3 the settings found for that of 2."""
    evaluations: Annotated[int, Ge(1)] = 15_000
    """Model evaluations that each training may spend."""
    episodes: Annotated[int, Ge(1)] = 1000
    """Episodes to train on."""
    validation_episodes: Annotated[int, Ge(1)] = 200
    """Episodes that select."""
    test_episodes: Annotated[int, Ge(1)] = 400
    """Episodes that are compared on."""
    data_seed: Annotated[int, Ge(0)] = 900
    """Seed of episodes, weights and batches, the same for all trials and apart from those that `skips-accuracy` reports on."""
    cache: str = ""
    """Folder that keeps the episodes; mechlearn's folder in the user's cache if empty."""
    architectures: tuple[Architecture, ...] = ()
    """Networks that each trial trains in turn; none: the one that is drawn, or skips-accuracy's."""
    kernels: Annotated[int, Ge(1)] | None = None
    """Channels of the convolutions in between; None: those that are drawn, or skips-accuracy's."""


PRESETS = {
    "quick": Preset(Config(), seeds=5),
    # Appendix A.0.1 on small boards: the thesis's three networks, with fewer channels.
    "architectures": Preset(
        Config(methods=("asi",), architectures=("simple", "strided", "dilated"), kernels=16, data_seed=901), seeds=6
    ),
    "paper": Preset(
        Config(size="paper", evaluations=9_000_000, episodes=500, validation_episodes=500, test_episodes=500), seeds=9
    ),
}


_FIXED = ("task", "methods", "evaluations", "episodes", "validation_episodes", "test_episodes", "cache")


def draw(config: Config) -> Comparison:
    """Return the settings of a trial, numbered by ``config.seed``."""
    fixed = {name: getattr(config, name) for name in _FIXED}
    base = replace(PAPER if config.size == "paper" else QUICK, seed=config.data_seed, checks=1, **fixed)
    if config.seed == 0:
        return base
    generator = np.random.default_rng(config.seed)
    ranges = RANGES[config.size]
    return replace(base, **{name: some[int(generator.integers(len(some)))] for name, some in ranges.items()})


def run(config: Config) -> Iterator[Row]:
    """Train one trial with each method; yield its settings and its accuracy on validation and on test episodes."""
    settings = draw(config)
    worlds = make_worlds(settings, settings.test_episodes)
    for own in networks(config, settings):
        chosen: Row = {name: getattr(own, name) for name in RANGES[config.size]}
        if config.architectures:
            chosen["architecture"] = own.architecture
        for method in config.methods:
            *_, final = part(f"{own.architecture}, {method}", train_and_stop(own, method, worlds, LOOKS))
            yield {**final, "kind": "trial", **chosen}


def networks(config: Config, settings: Comparison) -> list[Comparison]:
    """Return a trial's settings, once for each architecture where some are asked for."""
    settings = settings if config.kernels is None else replace(settings, kernels=config.kernels)
    return [replace(settings, architecture=one) for one in config.architectures] or [settings]


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a trial is, and its accuracy on validation episodes."""
    done = [str(method) for method in config.methods].index(str(row["method"])) + 1
    if config.architectures:
        done += len(config.methods) * [str(one) for one in config.architectures].index(str(row["architecture"]))
    share = done / (len(config.methods) * max(1, len(config.architectures)))
    return share, f"{row['method']}  accuracy {number(row, 'validation_accuracy'):.2f}"
