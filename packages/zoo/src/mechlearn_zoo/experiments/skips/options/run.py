"""Walks on ice, learnt by one model of all pushes, by one model each, or with actions in place of options.

A push is an option: it ends where the runner stands still. How long that takes is drawn, so frames on the way are hard to
predict and the end is not. All methods may evaluate their networks equally often; roll-outs start from true first frames and
are told the plan: the options in their order, or the true episode's push at every frame.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, Interval, MinLen
from torch import Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Share, computed, number
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.skips import Actions, Cumulants, Dynamics, Fixed, Greedy, Matching, Options, OrEnd, match, rollout
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.comparing.budgets import Spending, falling, rate_at
from mechlearn_zoo.experiments.skips.options.ice import PUSHES, Walks, cells, draw_building, draw_walks
from mechlearn_zoo.experiments.skips.options.models import Pushed
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.streams import stream

Method = Literal[
    "joint", "within", "ends", "every-frame", "separate", "actions", "actions-blind", "actions-fixed-1", "actions-fixed-4"
]
METHODS: tuple[Method, ...] = (
    *("joint", "within", "ends", "every-frame", "separate"),
    *("actions", "actions-blind", "actions-fixed-1", "actions-fixed-4"),
)
LONGEST = 1000
"""A fixed step that no option outlasts: windows are cut where an option ends, so that only its end is matched."""

PATIENCE = 40
"""Evaluations after which a roll-out goes on to the next option, whether or not the one that runs is said to have ended."""

LOOKS = 10
"""How often a training is looked at; a look rolls out on validation walks and on test walks, as many of either."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the building, the walks, the initial weights, the batches and the matching."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = METHODS
    """What to compare."""
    side: Annotated[int, Ge(3)] = 6
    """Cells of a side of the building."""
    blocked: Annotated[float, Interval(ge=0, lt=1)] = 0.2
    """Share of the cells that are blocked."""
    slides: Annotated[int, Ge(1)] = 4
    """Pushes of a walk."""
    steps: Annotated[int, Ge(1)] = 150
    """Gradient steps of about `evaluations` each."""
    evaluations: Annotated[int, Ge(1)] = 128
    """Model evaluations of a gradient step, on average; what a method may spend is this times the steps."""
    horizon: Annotated[int, Ge(1)] = 10
    """H of ASI, and how many coming pushes a model may see."""
    exploration: Share = 0.4
    """Share of the evaluations in which ASI's exploration falls from 1 to 0."""
    sampling: Share = 0.7
    """Share of them in which the probability of true frames as inputs falls from 1 to 0."""
    weight: Annotated[float, Ge(0)] = 0.1
    """Weight of the squared error of an option's end; a hundredth of it is that of skipped frames, in frames squared."""
    hidden: Annotated[int, Ge(1)] = 128
    """Units in each of the two hidden layers; of each model where there are several."""
    gain: Annotated[float, Ge(0)] = 6.0
    """What of the input is added to the logits, gain * (x - 1/2)."""
    learning_rate: Positive = 3e-3
    """Adam's, falling linearly to a fiftieth over the last three tenths of the evaluations."""
    walks: Annotated[int, Ge(1)] = 500
    """Walks to train on."""
    test_walks: Annotated[int, Ge(1)] = 300
    """Walks that roll-outs are scored on, in the same building."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(side=10, walks=2000, steps=3000), seeds=8)}


class Lessons(NamedTuple):
    """What a model is trained on: frames, what is given beside them, and what is counted over a skip."""

    frames: Trajectories
    given: Options | Actions | None
    counted: Cumulants


class Rolled(NamedTuple):
    """Where roll-outs end, slide by slide where they have slides, and what they cost."""

    frames: list[Tensor]
    evaluations: int


def run(config: Config) -> Iterator[Row]:
    """Train every method and yield where its roll-outs end."""
    generator = np.random.default_rng([config.seed, 11])
    building = draw_building(config.side, config.blocked, generator)
    train, test = (draw_walks(building, count, config.slides, generator) for count in (config.walks, config.test_walks))
    apart = np.random.default_rng(stream(config.seed, "validation").initial_seed())
    validation = draw_walks(building, config.test_walks, config.slides, apart)
    _, counts = np.unique(train.ends[:, -1].numpy(), axis=0, return_counts=True)
    for method in config.methods:
        found = computed(method, compared, config, method, train, validation, test)
        yield {"method": method, "frequent": float(counts.max() / counts.sum()), **found}


def compared(config: Config, method: Method, train: Walks, validation: Walks, test: Walks) -> Row:
    """Train a method and return where its roll-outs end, and where they ended when validation was best."""
    models, report, kept = trained(config, method, train)
    return {**report, **scores(config, method, models, test), **stopped(config, method, kept, validation, test)}


def stopped(config: Config, method: Method, kept: list[list[nn.Module]], validation: Walks, test: Walks) -> Row:
    """Look at what was kept of a method's models, all of them at the same share of their budgets."""
    stopping = EarlyStopping(LOOKS)
    for look, models in enumerate(zip(*kept, strict=True), start=1):
        then, share = list(models), look / stopping.looks
        right = number(scores(config, method, then, validation), "accuracy")
        stopping.look(share, right, scores(config, method, then, test))
    return stopping.row


def lessons(config: Config, method: Method, walks: Walks) -> list[Lessons]:
    """Return what each of a method's models is trained on."""
    frames, pushes = walks.frames, walks.pushes
    if method == "separate":
        return [_slides_of(config, walks, push) for push in range(len(PUSHES))]
    if method.startswith("actions"):
        acts = torch.nn.functional.one_hot(pushes, len(PUSHES)).float()
        window = 1 if method == "actions-blind" else config.horizon
        given = Actions(acts, window, frames.lengths - 1)
        return [Lessons(frames, given, Cumulants.clock(frames, config.weight / 100))]
    return [Lessons(frames, Options(pushes, len(PUSHES)), _endings(config, walks))]


def _endings(config: Config, walks: Walks) -> Cumulants:
    """Return 1 for each transition with which an option ends."""
    last = walks.frames.lengths - 2
    ended = torch.zeros(walks.pushes.shape)
    ended[:, :-1] = (walks.pushes[:, 1:] != walks.pushes[:, :-1]).float()
    ended[torch.arange(len(last)), last] = 1.0
    return Cumulants(Trajectories(ended, walks.frames.lengths - 1), weight=config.weight)


def _slides_of(config: Config, walks: Walks, push: int) -> Lessons:
    """Return the slides of one push as trajectories of their own; each ends with its last frame."""
    found: list[Tensor] = []
    for frames, ids in zip(walks.frames, walks.pushes, strict=True):
        own = ids[: len(frames) - 1].tolist()
        cuts = [0, *(t for t in range(1, len(own)) if own[t] != own[t - 1]), len(own)]
        found += [frames[a : b + 1] for a, b in pairwise(cuts) if own[a] == push]
    slides = Trajectories.from_list(found)
    ended = torch.zeros(len(slides), slides.time - 1)
    ended[torch.arange(len(slides)), slides.lengths - 2] = 1.0
    return Lessons(slides, None, Cumulants(Trajectories(ended, slides.lengths - 1), weight=config.weight))


def matching_of(config: Config, method: Method, share: float) -> Matching:
    """Return how a method matches after a share of its budget."""
    greedy = Greedy(config.horizon, falling(share, config.exploration))
    others: dict[str, Matching] = {
        "joint": OrEnd(greedy),
        "separate": OrEnd(greedy),
        "ends": Fixed(LONGEST),
        "every-frame": Fixed(1),
        "actions-fixed-1": Fixed(1),
        "actions-fixed-4": Fixed(4),
    }
    return others.get(method, greedy)


def trained(config: Config, method: Method, walks: Walks) -> tuple[list[nn.Module], Row, list[list[nn.Module]]]:
    """Train a method's models until the budget is spent, each on its share of it; return them, and what was kept of each."""
    of = lessons(config, method, walks)
    pushes = {"separate": 0, "actions-blind": 1}.get(method, config.horizon if method.startswith("actions") else 1)
    beside = "clock" if method.startswith("actions") else "ended"
    models: list[nn.Module] = []
    kept: list[list[nn.Module]] = []
    spent, steps = 0, 0
    for place, lesson in enumerate(of):
        weights = stream(config.seed, "weights", place)
        model = Pushed(lesson.frames.frame_shape[0], pushes, beside, weights, config.hidden, config.gain)
        own, copies = _train(config, method, model, lesson, config.steps * config.evaluations // len(of))
        spent, steps = spent + own.spent, steps + own.steps
        models.append(model)
        kept.append(copies)
    return models, {"spent": spent, "steps": steps}, kept


def _train(config: Config, method: Method, model: nn.Module, lesson: Lessons, budget: int) -> tuple[Spending, list[nn.Module]]:
    """Train one model in place; return what was spent, and a copy of the model at each look's share of it."""
    generator = stream(config.seed, "batches")
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    spending = Spending(budget, config.evaluations, guess=float(lesson.frames.lengths.float().mean()))
    stopping, kept = EarlyStopping(LOOKS), list[nn.Module]()
    while spending.goes_on:
        rows, share = spending.draw(len(lesson.frames), generator), spending.share
        given = None if lesson.given is None else lesson.given[rows]
        matched = match(
            Dynamics(model, BinaryCrossEntropyWithLogits(), given, cumulants=lesson.counted[rows]),
            lesson.frames[rows],
            matching_of(config, method, share),
            teacher_forcing=falling(share, config.sampling),
            generator=generator,
            average="steps",
        )
        optimizer.param_groups[0]["lr"] = rate_at(config.learning_rate, share)
        descend(optimizer, matched.loss, clip=1.0)
        spending.add(matched.evaluations, rows)
        if stopping.due(spending.share):  # a step that passes several looks is that of each
            kept += [deepcopy(model)] * (stopping.looked - len(kept))
    return spending, kept


def scores(config: Config, method: Method, models: list[nn.Module], test: Walks) -> Row:
    """Return how often roll-outs end in the right cell, and what they cost."""
    found = _roll_actions(config, method, models[0], test) if method.startswith("actions") else _roll_options(models, test)
    right = (cells(found.frames[-1], config.side) == test.ends[:, -1]).all(1)
    return {"accuracy": float(right.double().mean()), "rollout": found.evaluations / len(right)}


def _stepped(model: nn.Module, frames: Tensor, given: Tensor | None) -> tuple[Tensor, Tensor]:
    """Apply a model once; return the next frames and the number beside them."""
    dynamics = Dynamics(model, BinaryCrossEntropyWithLogits(), given, cumulants=Cumulants(None))
    rolled = rollout(dynamics, frames, max_steps=1)
    assert rolled.gained is not None  # the dynamics have cumulants
    return rolled.trajectories.last(), rolled.gained.sums[:, -1]


def _roll_options(models: list[nn.Module], test: Walks) -> Rolled:
    """Roll out each option of a plan until it is predicted to have ended, then go on with the next."""
    frames, evaluations, stands = test.frames.first().clone(), 0, list[Tensor]()
    for plan in test.plans.T:
        going = torch.arange(len(frames))
        for _ in range(PATIENCE):
            ended = torch.zeros(len(going), dtype=torch.bool)
            for place, model in enumerate(models):
                mine = torch.arange(len(going)) if len(models) == 1 else (plan[going] == place).nonzero()[:, 0]
                if len(mine):
                    rows = going[mine]
                    given = plan[rows] if len(models) == 1 else None
                    frames[rows], number = _stepped(model, frames[rows], given)
                    ended[mine] = number > 0.5
            evaluations += len(going)
            going = going[~ended]
            if not len(going):
                break
        stands.append(frames.clone())
    return Rolled(stands, evaluations)


def _roll_actions(config: Config, method: Method, model: nn.Module, test: Walks) -> Rolled:
    """Roll out with the true episode's pushes, which a model meets where its own clock says it is, until they are used up."""
    (lesson,) = lessons(config, method, test)
    assert isinstance(lesson.given, Actions)  # the method has actions
    frames, evaluations = test.frames.first().clone(), 0
    times, last = torch.zeros(len(frames)), test.frames.lengths - 1
    step = {"actions-fixed-1": 1.0, "actions-fixed-4": 4.0}.get(method)
    for _ in range(test.frames.time):
        now = times.round().long()
        going = (now < last).nonzero()[:, 0]
        if not len(going):
            break
        frames[going], clock = _stepped(model, frames[going], lesson.given.at(going, now[going]))
        times[going] += clock.float().clamp(min=1.0) if step is None else step
        evaluations += len(going)
    return Rolled([frames], evaluations)
