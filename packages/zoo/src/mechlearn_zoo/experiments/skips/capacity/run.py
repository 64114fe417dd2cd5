"""ASI and fixed steps on the small Funnel board, over sizes of network and numbers of episodes, at equal evaluations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Ge, MinLen

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Share, computed, number
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.nn.perceptrons import CodePerceptron
from mechlearn.schedules import Linear
from mechlearn.skips import Dynamics, match
from mechlearn_zoo.experiments.skips.comparing.boards import Judge, clean, small_boards
from mechlearn_zoo.experiments.skips.comparing.budgets import matching_at, rate_at
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.frames.funnel_board.places import Data
from mechlearn_zoo.tasks.streams import stream

Method = Literal["asi", "fixed-3", "fixed-6"]
Counts = Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)]


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the boards, the initial weights, the batches and the matching."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("asi", "fixed-6")
    """What to compare."""
    hidden: Counts = (16, 32, 128)
    """Units in each of the two hidden layers."""
    episodes: Counts = (100, 500)
    """Boards to train on: the first of the same ones."""
    evaluations: Annotated[int, Ge(1)] = 60_000
    """Model evaluations that every training may spend."""
    batch: Annotated[int, Ge(1)] = 16
    """Boards of a gradient step."""
    horizon: Annotated[int, Ge(1)] = 20
    """H of ASI."""
    exploration: Share = 0.4
    """Share of the evaluations in which ASI's exploration falls from 1 to 0."""
    sampling: Share = 0.7
    """Share of them in which the probability of true frames as inputs falls from 1 to 0, for every method."""
    gain: Annotated[float, Ge(0)] = 6.0
    """What of the input is added to the logits, gain * (x - 1/2)."""
    learning_rate: Positive = 3e-3
    """Adam's, falling linearly to a fiftieth over the last three tenths of the evaluations."""
    test_episodes: Annotated[int, Ge(1)] = 200
    """Boards that roll-outs are scored on."""
    cache: str = ""
    """Folder that keeps the boards; mechlearn's folder in the user's cache if empty."""


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(
        Config(
            methods=("asi", "fixed-3", "fixed-6"),
            hidden=(4, 8, 16, 32, 64, 128, 256),
            episodes=(50, 100, 200, 500, 1000),
            evaluations=500_000,
        ),
        seeds=8,
    ),
}


def run(config: Config) -> Iterator[Row]:
    """Train every method at every size on every number of episodes, and yield how its roll-outs end."""
    drawn = small_boards(70_000, config.seed, max(config.episodes), config.test_episodes, config.cache)
    train, validation, test, reads = drawn
    data, judged = clean(train, reads), [Judge.of(one, reads) for one in (validation, test)]
    often = int(np.bincount(train.labels).argmax())
    for episodes in config.episodes:
        some = Data(data.frames[torch.arange(episodes)], data.layouts[:episodes])
        for hidden in config.hidden:
            for method in config.methods:
                what = f"{episodes}, {hidden}, {method}"
                found = computed(what, compared, config, method, hidden, some, judged)
                row: Row = {"method": method, "hidden": hidden, "episodes": episodes, "spent": found["spent"]}
                row["parameters"] = found["parameters"]
                row["frequent"] = float((test.labels == often).mean())
                yield row | {name: value for name, value in found.items() if name not in row}


def compared(config: Config, method: Method, hidden: int, data: Data, judged: list[Judge]) -> Row:
    """Train a method at a size; return how its roll-outs end, and how they ended when validation was best.

    Args:
        config: of the experiment.
        method: which.
        hidden: units of a layer.
        data: to train on.
        judged: boards to stop by, and those to test on.
    """
    stopping, (validation, test) = EarlyStopping(), judged

    def look(share: float, model: CodePerceptron) -> None:
        if stopping.due(share):
            stopping.look(min(share, 1.0), right(model, validation), {"accuracy": right(model, test)})

    model, spent = trained(config, method, hidden, data, look)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {"spent": spent, "parameters": parameters, "accuracy": right(model, test), **stopping.row}


def right(model: CodePerceptron, judge: Judge) -> float:
    """Return how often a roll-out from a true first frame lands where the ball does."""
    return number(judge.scores(model), "accuracy")


def trained(
    config: Config, method: Method, hidden: int, data: Data, look: Callable[[float, CodePerceptron], None]
) -> tuple[CodePerceptron, int]:
    """Train until the budget is spent, with a look after each step at the share that is spent."""
    generator = stream(config.seed, "training")
    weights = stream(config.seed, "weights")
    model = CodePerceptron(data.frames.frame_shape[0], data.layouts.shape[1], weights, hidden, config.gain)
    optimizer, loss, spent = torch.optim.Adam(model.parameters(), lr=config.learning_rate), BinaryCrossEntropyWithLogits(), 0
    forcing = Linear(max(1, round(config.sampling * config.evaluations)))
    while spent < config.evaluations:
        share = spent / config.evaluations
        optimizer.param_groups[0]["lr"] = rate_at(config.learning_rate, share)
        rows = torch.randperm(len(data.frames), generator=generator)[: config.batch]
        dynamics = Dynamics(model, loss, data.layouts[rows])
        matching = matching_at(method, share, config.horizon, config.exploration)
        matched = match(
            dynamics, data.frames[rows], matching, teacher_forcing=forcing(spent), generator=generator, average="steps"
        )
        descend(optimizer, matched.loss, clip=1.0)
        spent += matched.evaluations
        look(spent / config.evaluations, model)
    return model, spent
