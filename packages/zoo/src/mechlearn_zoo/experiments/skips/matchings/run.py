"""The small Funnel board as place codes, learnt by ASI and with one of its choices made otherwise, at equal evaluations.

What a prediction is matched with (greedily, by an alignment of all, softly, without a horizon), how it is compared (codes under
a cross-entropy, under a Gaussian likelihood, latents), whether frames hold the trace of where the ball was or a memory must do
for it. Outcomes are read by rules and by a network that was trained on true frames.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, MinLen
from torch import Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Share, computed
from mechlearn.losses import BinaryCrossEntropyWithLogits, GaussianNLL, Loss, SquaredError
from mechlearn.nn.perceptrons import CodePerceptron
from mechlearn.skips import (
    Aligned,
    Dynamics,
    Greedy,
    Matching,
    Memory,
    Rollout,
    SoftAligned,
    SoftGreedy,
    TimeAgnostic,
    encoded,
    match,
    rollout,
)
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.comparing.boards import clean, small_boards
from mechlearn_zoo.experiments.skips.comparing.budgets import Spending, falling, matching_at, rate_at
from mechlearn_zoo.experiments.skips.matchings.networks import Latents, LearntReader, Remembering, Shifting, learnt_reader
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.frames.funnel_board.places import Boards, Data, Reader
from mechlearn_zoo.tasks.streams import stream

Method = Literal[
    "asi",
    "fixed-6",
    "aligned-frames",
    "aligned-predictions",
    "soft-greedy",
    "soft-aligned",
    "time-agnostic",
    "gaussian",
    "latent",
    "untraced",
    "untraced-memory",
]
METHODS: tuple[Method, ...] = (
    *("asi", "fixed-6"),
    *("aligned-frames", "aligned-predictions", "soft-greedy", "soft-aligned", "time-agnostic"),
    *("gaussian", "latent", "untraced", "untraced-memory"),
)
FORCED = ("aligned-frames", "aligned-predictions", "soft-aligned")
"""Alignments need all predictions before they know a match: their inputs cannot be mixed."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the boards, the initial weights, the batches and the matching."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = METHODS
    """What to compare."""
    steps: Annotated[int, Ge(1)] = 400
    """Gradient steps of about `evaluations` each."""
    evaluations: Annotated[int, Ge(1)] = 128
    """Model evaluations of a gradient step, on average; what a method may spend is this times the steps."""
    horizon: Annotated[int, Ge(1)] = 20
    """H, wherever there is one."""
    exploration: Share = 0.4
    """Share of the evaluations in which exploration falls from 1 to 0, where matching explores."""
    sampling: Share = 0.7
    """Share of them in which the probability of true frames as inputs falls from 1 to 0, but for alignments."""
    temperature: Positive = 3e-3
    """tau of the soft matchings, in nats a code."""
    hidden: Annotated[int, Ge(1)] = 128
    """Units in each of the two hidden layers."""
    memory: Annotated[int, Ge(1)] = 32
    """Units of the state, where there is one."""
    latents: Annotated[int, Ge(1)] = 24
    """Principal components, where frames are encoded."""
    gain: Annotated[float, Ge(0)] = 6.0
    """What of the input is added to the logits, gain * (x - 1/2)."""
    learning_rate: Positive = 3e-3
    """Adam's, falling linearly to a fiftieth over the last three tenths of the evaluations."""
    reader_steps: Annotated[int, Ge(1)] = 500
    """Steps that the learnt reader is trained for."""
    episodes: Annotated[int, Ge(1)] = 1000
    """Boards to train on."""
    test_episodes: Annotated[int, Ge(1)] = 300
    """Boards that roll-outs are scored on."""
    cache: str = ""
    """Folder that keeps the boards; mechlearn's folder in the user's cache if empty."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(steps=5000), seeds=8)}


class Arm(NamedTuple):
    """A method: what it sees, its model and loss, its memory, and how what it predicts becomes codes again."""

    data: Data
    model: nn.Module
    loss: Loss
    state: Memory | None
    shown: Callable[[Tensor], Tensor]


class Judged(NamedTuple):
    """Episodes that roll-outs are scored on, and their outcomes."""

    data: Data
    labels: Tensor


class Readers(NamedTuple):
    """How outcomes are read: by rules, or as it was learnt from true frames."""

    rules: Reader
    learnt: LearntReader


def run(config: Config) -> Iterator[Row]:
    """Train every method and yield how its roll-outs end."""
    boards, *others, rules = small_boards(110_000, config.seed, config.episodes, config.test_episodes, config.cache)
    train = clean(boards, rules)
    validation, test = (Judged(clean(own, rules), torch.from_numpy(own.labels)) for own in others)
    readers = Readers(rules, _learnt(config, train, boards, rules))
    often = int(np.bincount(boards.labels).argmax())
    right = readers.learnt.platform(test.data.frames.last()) == test.labels
    common: Row = {"frequent": float((test.labels == often).double().mean()), "psi": float(right.double().mean())}
    for method in config.methods:
        found = computed(method, compared, config, method, train, (validation, test), readers)
        yield {"method": method, **common, **found}


def compared(config: Config, method: Method, train: Data, judged: tuple[Judged, Judged], readers: Readers) -> Row:
    """Train a method and return how its roll-outs end, and how they ended when validation was best.

    Args:
        config: of the experiment.
        method: which.
        train: to train on.
        judged: to stop by, and to test on.
        readers: of outcomes.
    """
    arm, stopping = make_arm(config, method, train), EarlyStopping()
    validation, test = (Judged(make_arm(config, method, one.data, fitted_on=train).data, one.labels) for one in judged)

    def look(share: float) -> None:
        if stopping.due(share):
            right = _accuracy(arm, validation, readers.rules)[0]
            stopping.look(min(share, 1.0), right, {"accuracy": _accuracy(arm, test, readers.rules)[0]})

    return {**trained(config, method, arm, look), **scores(arm, test, readers), **stopping.row}


def _learnt(config: Config, train: Data, boards: Boards, rules: Reader) -> LearntReader:
    rows, times = train.frames.mask.nonzero().unbind(1)
    outcomes = torch.from_numpy(boards.labels).long()[rows]
    generator = stream(config.seed, "reader")
    return learnt_reader(train.frames.at(rows, times), outcomes, rules, config.reader_steps, generator)


def make_arm(config: Config, method: Method, data: Data, fitted_on: Data | None = None) -> Arm:
    """Return a method with the initial weights of a config's seed, and the data as it sees them.

    Args:
        config: of the experiment.
        method: which.
        data: as recorded.
        fitted_on: what an encoder is made from, if not these data.
    """
    weights, beside = stream(config.seed, "weights"), data.layouts.shape[1]
    codes = data.frames.frame_shape[0]
    if method == "latent":
        source = (data if fitted_on is None else fitted_on).frames
        rows, times = source.mask.nonzero().unbind(1)
        space = Latents.of(source.at(rows, times), config.latents)
        latents = Data(encoded(data.frames, space.encode, detach=True), data.layouts)
        return Arm(latents, Shifting(space.axes.shape[1], beside, weights, config.hidden), SquaredError(), None, space.decode)
    if method == "gaussian":
        model = Shifting(codes, beside, weights, config.hidden, variances=True)
        return Arm(data, model, GaussianNLL(), None, nn.Identity())
    loss = BinaryCrossEntropyWithLogits()
    if not method.startswith("untraced"):
        return Arm(data, CodePerceptron(codes, beside, weights, config.hidden, config.gain), loss, None, nn.Identity())
    now = codes // 2  # the second half is where the ball was one frame before
    hidden = Data(Trajectories(data.frames.frames[..., :now], data.frames.lengths), data.layouts)
    if method == "untraced":
        return Arm(hidden, CodePerceptron(now, beside, weights, config.hidden, config.gain), loss, None, nn.Identity())
    remembering = Remembering(now, beside, weights, config.hidden, config.gain, config.memory)
    return Arm(hidden, remembering, loss, Memory(torch.zeros(config.memory), frames=2), nn.Identity())


def matching_of(config: Config, method: Method, share: float) -> Matching:
    """Return how a method matches after a share of its budget."""
    exploration = falling(share, config.exploration)
    others: dict[str, Matching] = {
        "aligned-frames": Aligned(config.horizon, "frames"),
        "aligned-predictions": Aligned(config.horizon, "predictions"),
        "soft-greedy": SoftGreedy(config.horizon, config.temperature, exploration),
        "soft-aligned": SoftAligned(config.horizon, config.temperature, "frames"),
        "time-agnostic": TimeAgnostic(onward=True),
        "fixed-6": matching_at("fixed-6", share, config.horizon, 0.0),
    }
    return others.get(method, Greedy(config.horizon, exploration))


def trained(config: Config, method: Method, arm: Arm, look: Callable[[float], None]) -> Row:
    """Train an arm in place until the budget is spent; a batch is of as many episodes as a step's evaluations allow.

    Args:
        config: of the experiment.
        method: which.
        arm: its model and data.
        look: called after each step with the share of the budget that is spent.
    """
    generator = stream(config.seed, "training")
    optimizer = torch.optim.Adam(arm.model.parameters(), lr=config.learning_rate)
    frames, layouts = arm.data
    guess = float(frames.lengths.float().mean())
    spending, skip = Spending(config.steps * config.evaluations, config.evaluations, guess), 0.0
    while spending.goes_on:
        rows, share = spending.draw(len(frames), generator), spending.share
        matched = match(
            Dynamics(arm.model, arm.loss, layouts[rows], state=arm.state),
            frames[rows],
            matching_of(config, method, share),
            teacher_forcing=1.0 if method in FORCED else falling(share, config.sampling),
            generator=generator,
            average="steps",
        )
        optimizer.param_groups[0]["lr"] = rate_at(config.learning_rate, share)
        descend(optimizer, matched.loss, clip=1.0)
        spending.add(matched.evaluations, rows)
        skip = matched.mean_skip
        look(spending.share)
    return {"spent": spending.spent, "steps": spending.steps, "episodes": spending.seen, "skip": skip}


def scores(arm: Arm, test: Judged, readers: Readers) -> Row:
    """Roll out until an outcome is read, by either reader; the learnt one was trained on frames with a trace."""
    rules, rolled = _accuracy(arm, test, readers.rules)
    found: Row = {
        "accuracy": rules,
        "landed": float(rolled.stopped.double().mean()),
        "rollout": rolled.evaluations / len(test.labels),
    }
    traced = arm.shown(test.data.frames.first()).shape[1] == readers.learnt.codes
    return found | {"learnt": _accuracy(arm, test, readers.learnt)[0] if traced else None}


def _accuracy(arm: Arm, judged: Judged, reads: Reader | LearntReader) -> tuple[float, Rollout]:
    """Return how often a roll-out's last frame shows the right outcome, and the roll-outs; one that shows none is wrong."""
    frames, layouts = judged.data
    dynamics = Dynamics(arm.model, arm.loss, layouts, state=arm.state)
    first = frames.first() if arm.state is None else arm.state.first(frames)
    rolled = rollout(dynamics, first, max_steps=frames.time, stop=lambda seen: reads.landed(arm.shown(seen)))
    right = (reads.platform(arm.shown(rolled.trajectories.last())) == judged.labels) & rolled.stopped
    return float(right.double().mean()), rolled
