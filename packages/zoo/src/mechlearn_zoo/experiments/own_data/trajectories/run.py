"""Verdicts on trajectories of four motions, and the errors of what was compared on trajectories to come.

Three motions go by a clock: whatever is skipped is skipped for nothing. A ball that waits at walls, for as long as a die says,
is somewhere else at a frame than a model could know, and at no other place than before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, MinLen

from claimlab import Limited, Preset, Row, part
from mechlearn.tables.forecasts.forecasting import Budget, Tried, compare_forecasters
from mechlearn_zoo.experiments.own_data.trajectories.stopping import Stopped, error
from mechlearn_zoo.tasks.bodies.motions import Motion, ball, double_pendulum, pendulum, waiting_ball

Board = Literal["pendulum", "double pendulum", "ball", "waiting ball"]
MOTIONS: dict[str, Motion] = {
    "pendulum": pendulum,
    "double pendulum": double_pendulum,
    "ball": ball,
    "waiting ball": waiting_ball,
}
CLOCKED, WAITING = ("pendulum", "double pendulum", "ball"), ("waiting ball",)
COMING = 2**31
"""Added to a seed for trajectories to come."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one seed."""

    seed: int = 100
    """First seed: of the trajectories, how they are parted, the initial weights, the batches and the matches."""
    boards: Annotated[tuple[Board, ...], MinLen(1)] = ("pendulum", "double pendulum", "ball", "waiting ball")
    """Which motions."""
    count: Annotated[int, Ge(20)] = 120
    """Trajectories that are asked: half to train on, a fifth to choose on, the rest to judge on."""
    coming: Annotated[int, Ge(1)] = 400
    """Trajectories to come."""
    ahead: Annotated[int, Ge(4)] = 16
    """Frames ahead to predict; a trajectory has twice as many and one."""
    steps: Annotated[int, Ge(1)] = 120
    """Training steps of each of the networks; `mechlearn fit skips` takes 400."""
    evaluations: Annotated[int, Ge(1)] = 128
    """Of a model in a training step; `mechlearn fit skips` takes 256."""
    hidden: Annotated[int, Ge(1)] = 32
    """Units of the hidden layer; `mechlearn fit skips` has 64."""


PRESETS = {"quick": Preset(Config(), seeds=12), "paper": Preset(Config(steps=400, evaluations=256, hidden=64), seeds=34)}


def run(config: Config) -> Iterator[Row]:
    """Yield a row for each motion's verdict, and one for each candidate's errors."""
    for name in config.boards:
        yield from part(name, compared(config, name))


def compared(config: Config, name: Board) -> Iterator[Row]:
    """Yield a motion's verdict, and each candidate's errors, with those where validation stops it."""
    budget = Budget(steps=config.steps, evaluations=config.evaluations, hidden=config.hidden)
    frames = 2 * config.ahead + 1
    known, coming = (
        list(MOTIONS[name](seed, count, frames).numpy())
        for seed, count in ((config.seed, config.count), (config.seed + COMING, config.coming))
    )
    stopped = Stopped(coming, config.ahead)
    found = compare_forecasters(known, config.ahead, budget, config.seed, watch=stopped.look)
    errors = {title(one): error(one, coming, config.ahead) for one in found.tried}
    verdict = found.verdict
    ours, theirs = errors[verdict.method], errors[verdict.against]
    said = next(one.name for one in found.tried if title(one) == verdict.method)
    yield {
        "kind": "verdict",
        "board": name,
        "word": verdict.word,
        "method": verdict.method,
        "against": verdict.against,
        "said": verdict.gain,
        "true": 100 * (1 - ours / theirs),
        "stopped_true": stopped.gain(said),
    }
    for one in found.tried:
        yield {
            "kind": "error",
            "board": name,
            "method": one.name,
            "setting": one.setting,
            "said": float(np.mean(one.errors)),
            "true": errors[title(one)],
            "skip": min(one.skip, 2.0 * config.ahead),
            "evaluations": one.evaluations,
            **stopped.row(one.name),
        }


def title(one: Tried) -> str:
    """Return a candidate's name as verdicts have it."""
    return f"{one.name} ({one.setting})" if one.setting else one.name
