"""Fixed steps, direct prediction, ASI and skips relative to distance on states of four worlds: fifteen trials each, one budget.

A seed is a data set: every family's trial is chosen by its final error on validation trajectories, and judged on others by
where roll-outs end, how far they lie from the true path, and what of it they leave out (`mechlearn.skips.evaluate`): once where
trials are compared at their ends, and once where validation chooses the trial and when to stop it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, get_args

import torch
from annotated_types import Ge, MinLen

from claimlab import EarlyStopping, Positive, Preset, Row, check_limits, part
from mechlearn.losses import SquaredError
from mechlearn.skips import Dynamics, evaluate
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.states.members import (
    Alone,
    Budget,
    Family,
    Member,
    Models,
    last_errors,
    mean_skips,
    squares,
    train,
)
from mechlearn_zoo.experiments.skips.states.worlds import FRAMES, WORLDS, Data, Name, data

Count = Annotated[int, Ge(1)]
FAMILIES: tuple[Family, ...] = get_args(Family)


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the trajectories, the initial weights and all draws."""
    worlds: Annotated[tuple[Name, ...], MinLen(1)] = ("stops", "hopper", "oscillator", "double pendulum")
    """Which worlds."""
    fixed: Annotated[tuple[Count, ...], MinLen(1)] = (1, 2, 4, 8, 16)
    """Fixed steps; direct prediction has as many initial weights."""
    horizons: Annotated[tuple[Count, ...], MinLen(1)] = (2, 4, 8, 12, 16)
    """H of each ASI."""
    rates: Annotated[tuple[Positive, ...], MinLen(1)] = (1e-3, 3e-3, 1e-2)
    """Adam's learning rates, each with each of these."""
    steps: Count = 1200
    """Gradient steps."""
    pairs: Count = 128
    """Evaluations that a step learns from."""
    rows: Count = 48
    """Trajectories that are followed at a time."""
    every: Count = 8
    """Steps until they are followed anew."""
    hidden: Count = 64
    """Units in each of the two hidden layers of the residual network."""
    train: Annotated[int, Ge(2)] = 300
    """Trajectories to learn from."""
    validation: Count = 150
    """Trajectories to choose and to stop on."""
    test: Count = 250
    """Trajectories to judge on."""

    def __post_init__(self) -> None:
        check_limits(self)
        if max(self.fixed + self.horizons) >= FRAMES:
            raise ValueError(
                f"fixed steps and horizons should be below the {FRAMES} frames. Found {max(self.fixed + self.horizons)}."
            )


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(steps=3000, every=4), seeds=12)}


def trials(config: Config, family: Family) -> list[Member]:
    """Return a family's trials: as many for each."""
    if family == "direct":
        return [Member(family, FRAMES - 1, rate, start) for start in range(len(config.fixed)) for rate in config.rates]
    reaches = config.fixed if family == "fixed" else config.horizons
    return [Member(family, reach, rate) for reach in reaches for rate in config.rates]


def run(config: Config) -> Iterator[Row]:
    """Yield, for each world and family, the chosen trial's scores; and what a prediction that nothing moves scores."""
    for world in config.worlds:
        found = data(world, config.seed, (config.train, config.validation, config.test))
        still = float((found.test[:, 0] - found.test[:, -1]).square().mean())
        yield {"kind": "still", "world": world, "final": still}
        for family in FAMILIES:
            yield from part(f"{world}, {family}", chosen(config, world, family, found))


def chosen(config: Config, world: str, family: Family, found: Data) -> Iterator[Row]:
    """Train a family's trials and yield the test scores of the one that ends nearest on validation trajectories."""
    members, scale = trials(config, family), squares(found.train, FRAMES - 1)
    budget = Budget(config.steps, config.pairs, config.rows, config.every, config.hidden)
    stopping = EarlyStopping(best="lowest")

    def look(models: Models, share: float) -> None:
        if stopping.due(share):
            best = nearest(models, scale, found)
            if stopping.improves(best.error):  # elsewhere nothing is kept
                stopping.look(share, best.error, scored(models, best, world, found))

    models = train(members, found.train, scale, budget, config.seed, look)
    yield {
        "kind": "score",
        "world": world,
        "family": family,
        **scored(models, nearest(models, scale, found), world, found),
        "budget": f"{len(members)} trials of {config.steps} steps of {config.pairs}",
        **stopping.row,
    }


class Choice(NamedTuple):
    """The member that ends nearest on validation trajectories, its mean skip, its evaluations of a roll-out, and its error."""

    at: int
    skip: float
    evaluations: int
    error: float


def nearest(models: Models, scale: torch.Tensor, found: Data) -> Choice:
    """Return it; an error that is not a number is none."""
    skips = mean_skips(models, found.train, scale)
    evaluations = [max(1, round((FRAMES - 1) / skip)) for skip in skips]
    errors = last_errors(models, found.validation, evaluations)
    best = min(range(len(skips)), key=lambda at: errors[at] if errors[at] == errors[at] else torch.inf)  # NaN is never best
    return Choice(best, skips[best], evaluations[best], errors[best])


def scored(models: Models, best: Choice, world: str, found: Data) -> Row:
    """Return the setting of a member and its scores."""
    one = models.members[best.at]
    scores = judged(models, best.at, world, found, best.evaluations)
    return {"reach": one.reach, "rate": one.rate, "skip": best.skip, "validation": best.error, **scores}


def judged(models: Models, index: int, world: str, found: Data, evaluations: int) -> dict[str, float | None]:
    """Return a member's scores on test trajectories; the label is None where the world has none."""
    label, frames = WORLDS[world].label, found.test
    trajectories = Trajectories(frames, torch.full((len(frames),), frames.shape[1]))

    def read(states: torch.Tensor) -> object:
        return label(states * found.deviation + found.mean) if label is not None else None

    dynamics = Dynamics(Alone(models.net.member(index)), SquaredError(), feedback=torch.detach)
    with torch.no_grad():
        means = evaluate(dynamics, trajectories, max_steps=evaluations, read=read if label is not None else None).means()
    return {
        "label": means.get("right"),
        "final": means["final"],
        "off_path": means["off_path"],
        "coverage": means["coverage"],
        "evaluations": means["evaluations"],
    }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    done: Sequence[str] = [str(one) for one in config.worlds]
    at = done.index(str(row["world"])) * len(FAMILIES)
    at += FAMILIES.index(row["family"]) + 1 if row["kind"] == "score" else 0  # pyright: ignore[reportArgumentType]  # one of them
    return at / (len(done) * len(FAMILIES)), f"{row['world']}, {row.get('family', 'still')}"
