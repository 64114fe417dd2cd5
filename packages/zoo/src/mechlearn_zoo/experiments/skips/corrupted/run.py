"""Training on corrupted episodes, by ASI and by fixed steps, and roll-outs on clean boards.

With place codes (`quick`) every method may evaluate its network as often as every other, in gradient steps of about as many
evaluations each; with pictures (`paper`) training is that of `skips-accuracy`. Every roll-out starts from a clean first frame.
What counts is how they end at the end of a training, and where validation stops it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor

from claimlab import EarlyStopping, Positive, Preset, Row, Share, check_limits, computed, number
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.nn.perceptrons import CodePerceptron
from mechlearn.schedules import Linear
from mechlearn.skips import Dynamics, Matched, match
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.comparing import training as pictures
from mechlearn_zoo.experiments.skips.comparing.boards import Judge, small_boards
from mechlearn_zoo.experiments.skips.comparing.budgets import Spending, matching_at, rate_at
from mechlearn_zoo.experiments.skips.comparing.looks import Looks
from mechlearn_zoo.experiments.skips.comparing.outcomes import label_accuracy
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.corruption import ALL, Corruption
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.frames.funnel_board.places import Data, recorded

Method = Literal["asi", "fixed-1", "fixed-2", "fixed-3", "fixed-6"]
View = Literal["places", "pictures"]


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the boards, the corruption, the initial weights, the batches and the matching."""
    view: View = "places"
    """Place codes of the small board, or pictures of the published one with the network and training of `skips-accuracy`."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("asi", "fixed-3", "fixed-6")
    """What to compare; pictures know fixed steps of 1 to 3."""
    steps: Annotated[int, Ge(1)] = 500
    """Gradient steps of about `evaluations` each."""
    evaluations: Annotated[int, Ge(1)] = 128
    """Model evaluations of a gradient step, on average; what a method may spend is this times the steps."""
    horizon: Annotated[int, Ge(1)] = 20
    """H of ASI."""
    exploration: Share = 0.4
    """Share of the evaluations in which ASI's exploration falls from 1 to 0."""
    sampling: Share = 0.7
    """Share of them in which the probability of true frames as inputs falls from 1 to 0, for every method."""
    hidden: Annotated[int, Ge(1)] = 128
    """Units in each of the two hidden layers; of place codes alone."""
    gain: Annotated[float, Ge(0)] = 6.0
    """What of the input is added to the logits, gain * (x - 1/2)."""
    learning_rate: Positive = 3e-3
    """Adam's, falling linearly to a fiftieth over the last three tenths of the evaluations."""
    episodes: Annotated[int, Ge(1)] = 1000
    """Boards to train on."""
    test_episodes: Annotated[int, Ge(1)] = 300
    """Clean boards that roll-outs are scored on; as many others stop a training."""
    cache: str = ""
    """Folder that keeps the boards; mechlearn's folder in the user's cache if empty."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.view == "pictures" and "fixed-6" in self.methods:
            raise ValueError(f"methods should be of asi, fixed-1, fixed-2 and fixed-3 with pictures. Found {self.methods}.")


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(
        Config(
            view="pictures",
            methods=("asi", "fixed-1", "fixed-2", "fixed-3"),
            steps=1,
            evaluations=9_000_000,
            episodes=500,
            test_episodes=500,
        ),
        seeds=8,
    ),
}


class Judges(NamedTuple):
    """By boards to stop on, and by those to compare on."""

    validation: Judge
    test: Judge


def run(config: Config) -> Iterator[Row]:
    """Train every method under every corruption and yield how its roll-outs end."""
    if config.view == "pictures":
        yield from _run_pictures(config)
        return
    train, *others, reads = small_boards(60_000, config.seed, config.episodes, config.test_episodes, config.cache)
    judges = Judges(*(Judge.of(boards, reads) for boards in others))
    for corruption in ALL:
        data = recorded(train, reads.places, corruption, np.random.default_rng([config.seed, 7]))
        for method in config.methods:
            found = computed(f"{corruption.name}, {method}", _compared, config, method, data, judges)
            yield {"corruption": corruption.name, "method": method} | found


def _compared(config: Config, method: Method, data: Data, judges: Judges) -> Row:
    """Train until the budget is spent; a batch is of as many episodes as a step's evaluations allow."""
    generator = Generator().manual_seed(config.seed)
    model = CodePerceptron(data.frames.frame_shape[0], data.layouts.shape[1], generator, config.hidden, config.gain)
    optimizer, loss = torch.optim.Adam(model.parameters(), lr=config.learning_rate), BinaryCrossEntropyWithLogits()
    spending = Spending(config.steps * config.evaluations, config.evaluations, guess=float(data.frames.lengths.float().mean()))
    forcing = Linear(max(1, round(config.sampling * spending.budget)))
    matched: Matched | None = None
    stopping = EarlyStopping()
    while spending.goes_on:
        rows, share = spending.draw(len(data.frames), generator), spending.share
        optimizer.param_groups[0]["lr"] = rate_at(config.learning_rate, share)
        dynamics = Dynamics(model, loss, data.layouts[rows])
        matching = matching_at(method, share, config.horizon, config.exploration)
        matched = match(
            dynamics, data.frames[rows], matching, teacher_forcing=forcing(spending.spent), generator=generator, average="steps"
        )
        descend(optimizer, matched.loss, clip=1.0)
        spending.add(matched.evaluations, rows)
        if stopping.due(share := min(spending.share, 1.0)):
            stopping.look(share, number(judges.validation.scores(model), "accuracy"), judges.test.scores(model))
    assert matched is not None  # the budget is above 0
    report: Row = {"spent": spending.spent, "steps": spending.steps, "skip": matched.mean_skip}
    return report | judges.test.scores(model) | stopping.row


def _run_pictures(config: Config) -> Iterator[Row]:
    """The same with the published pictures, network and schedules of thesis section 2.3."""
    settings = replace(pictures.PUBLISHED, seed=config.seed, episodes=config.episodes, cache=config.cache)
    train = pictures.make_world(settings, "train", config.episodes)
    validation = pictures.make_world(settings, "validation", config.test_episodes)
    test = pictures.make_world(settings, "test", config.test_episodes)
    budget = config.steps * config.evaluations
    for corruption in ALL:
        world = _corrupted_world(train, corruption, np.random.default_rng([config.seed, 7]))
        for method in config.methods:
            assert method != "fixed-6"  # refused by Config
            model = pictures.make_model(settings, world)
            looks = Looks(validation, test, settings.max_steps, budget, EarlyStopping())
            report = next(pictures.train(settings, method, model, lambda _, world=world: world, budget, watch=looks))
            scores = label_accuracy(model, test, settings.max_steps)
            yield {
                "corruption": corruption.name,
                "method": method,
                "spent": report.evaluations,
                "steps": report.steps,
                "skip": report.skip,
                "accuracy": scores.accuracy,
                "landed": 1 - scores.undecided,
                "rollout": scores.rollout,
                "stopped_at": looks.stopping.row["stopped_at"],
                "stopped_accuracy": looks.stopping.row["stopped_test_accuracy"],
                "stopped_landed": 1 - number(looks.stopping.row, "stopped_test_undecided"),
                "stopped_rollout": looks.stopping.row["stopped_test_rollout"],
            }


def _corrupted_world(world: pictures.World, corruption: Corruption, generator: np.random.Generator) -> pictures.World:
    boards, found = world.episodes, list[Tensor]()
    assert isinstance(boards.settings, FunnelBoardSettings)  # the settings' task
    for b, path in enumerate(boards.paths):
        played = corruption.played(path, generator)
        drawn = funnel_board.FUNNEL_BOARD.draw_frames(boards.settings, boards.images[b], played)
        hit = corruption.hit(len(drawn), generator)
        frames = torch.from_numpy(drawn).clone()
        if corruption.kind == "noise":
            frames[torch.from_numpy(hit)] = torch.from_numpy(
                generator.integers(0, 256, (int(hit.sum()), *drawn.shape[1:]), np.uint8)
            )
        found.append(frames[torch.from_numpy(~hit)] if corruption.kind == "missing" else frames)
    return pictures.World(Trajectories.from_list(found, scale=1 / 255), world.context, boards)  # `_replace` asks its length
