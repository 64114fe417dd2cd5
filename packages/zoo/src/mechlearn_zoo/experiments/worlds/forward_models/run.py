"""Four models of the same play, tested on as many agents and on more; then averaging and the AND-mask on teams with habits.

Early stopping is a baseline: further hunts and teams, drawn like those that judge, say when to stop.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Saved, Share, checkpoint, part
from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn_zoo.experiments.worlds.forward_models.boards import board
from mechlearn_zoo.experiments.worlds.forward_models.models import Alone, Answer, Flat, Relational
from mechlearn_zoo.experiments.worlds.forward_models.policies import learn
from mechlearn_zoo.experiments.worlds.forward_models.stag_hunt import Hunt, Play, hunts
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.methods.worlds import next_action_losses, perfect_steps
from mechlearn_zoo.nn.graphs import edge_norms, edges_to
from mechlearn_zoo.tasks.streams import same_stream, stream

MODELS = ("relational", "relational without memory", "each alone", "flat")
RULES = ("averaging", "AND-mask")
LOOKS = 10
"""At either rule's training on teams; at that of each of the four models there are eight."""
SOON = 5
"""Steps within which an agent should stand on an object that an edge foretells."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 400
    """First seed: of the play, the initial weights and the batches."""
    parts: tuple[Literal["policies", "teams"], ...] = ("policies", "teams")
    """What comes after the models: a learner that has predictions, teams with habits; () leaves them out."""
    episodes: Annotated[int, Ge(2)] = 1000
    """Recorded hunts of four agents among six targets."""
    steps: Annotated[int, Ge(1)] = 1000
    """Optimiser steps of each model, Adam; the last quarter has a tenth of the learning rate."""
    batch: Annotated[int, Ge(1)] = 16
    """Windows in a step."""
    window: Annotated[int, Ge(2)] = 10
    """Steps of a window."""
    hidden: Annotated[int, Ge(1)] = 32
    """Width inside the graph networks; the others have four times as much."""
    learning_rate: Positive = 4.5e-3
    """Adam's."""
    clip: Annotated[float, Ge(0)] = 0.0
    """Largest norm of a model's gradient in a step; 0 leaves it as it is."""
    teams: Annotated[int, Ge(2)] = 8
    """Teams with habits of their own, to train on."""
    team_episodes: Annotated[int, Ge(1)] = 60
    """Hunts of each."""
    habits: Annotated[int, Ge(1)] = 4
    """Numbers of a habit."""
    team_steps: Annotated[int, Ge(1)] = 150
    """Steps with teams, of 4 windows each."""
    team_threshold: Share = 1.0
    """The AND-mask's: all teams have to agree."""
    policy_updates: Annotated[int, Ge(1)] = 400
    """Updates of a learner among scripted hunters, of 10 steps each."""
    policy_hunts: Annotated[int, Ge(1)] = 64
    """Hunts that it learns from side by side."""
    test: Annotated[int, Ge(1)] = 100
    """Hunts to test on, each time."""


PRESETS = {
    "quick": Preset(Config(parts=("teams",), clip=0.1), seeds=3, tolerance=1e-2),
    # A learner that has the predictions of such a model.
    "policies": Preset(Config(parts=("policies",), clip=0.1), seeds=6, tolerance=1e-2),
    # The models alone, nearer to the end of their training.
    "longer": Preset(
        Config(seed=500, parts=(), steps=2000, window=15, learning_rate=3e-3, team_steps=200, policy_updates=400),
        seeds=6,
        tolerance=1e-2,
    ),
    "paper": Preset(
        Config(
            episodes=20_000,
            steps=20_000,
            window=15,
            hidden=64,
            learning_rate=3e-3,
            team_steps=10_000,
            policy_updates=5000,
            test=1000,
        ),
        seeds=6,
        tolerance=1e-2,
    ),
}


def run(config: Config) -> Iterator[Row]:
    """Yield each model's accuracy on the way and at its end; what edges foretell; then both rules on new teams."""
    hunt = Hunt()
    play, test = hunts(config.seed, config.episodes, hunt), hunts(config.seed + 2**31, config.test, hunt)
    more = hunts(config.seed + 2**31, config.test, Hunt(agents=6, targets=8))
    for name in MODELS:
        yield from part(name, modelled(config, name, hunt, play, (test, more)))
    yield {"kind": "persistence", "accuracy": float((test.actions[:, 1:] == test.actions[:, :-1]).double().mean())}
    if "teams" in config.parts:
        yield from new_teammates(config)


def modelled(config: Config, name: str, hunt: Hunt, play: Play, tests: tuple[Play, Play]) -> Iterator[Row]:
    """Yield a model's accuracy on the way and at its end, on as many agents and on more; and what its edges foretell."""
    model, (test, more) = make(name, config, hunt), tests
    validation, stopping = hunts(validation_seed(config, "models"), config.test, hunt), EarlyStopping()
    saved = checkpoint("training", stopping)
    yield from saved.values
    for step in fit(config, model, play, hunt.side, saved):
        answer = answered(model, test, hunt.side)
        row: Row = {"kind": "curve", "model": name, "step": step, "accuracy": right(answer, test)}
        found: Row = {"accuracy": row["accuracy"], "perfect": unmistaken(answer, test)}
        stopping.look(step / config.steps, accuracy(model, validation, hunt.side), found)
        yield saved.keep(step, row)
    saved.stay()
    answer = answered(model, test, hunt.side)
    yield {
        "kind": "final",
        "model": name,
        "parameters": sum(p.numel() for p in model.parameters()),
        "accuracy": right(answer, test),
        "perfect": unmistaken(answer, test),
        "accuracy_of_more": accuracy(model, more, hunt.side) if name.startswith("relational") else None,
        "budget": config.steps,
        **stopping.row,
    }
    if answer.edges is not None and isinstance(model, Relational) and name == "relational":
        yield foretold(answer.edges, test)
        yield partners(answer.edges, test)
        yield board(answer.edges, test)
        if "policies" in config.parts:
            yield from policies(config, model)


def validation_seed(config: Config, what: str) -> int:
    """Return the seed of play that says when to stop."""
    return stream(config.seed, "validation", what).initial_seed()


def make(name: str, config: Config, hunt: Hunt) -> nn.Module:
    """Return a model with the initial weights of a config's seed."""
    generator = Generator().manual_seed(config.seed)
    if name == "each alone":
        return Alone(hunt.targets, hunt.habits, 4 * config.hidden, generator)
    if name == "flat":
        return Flat(hunt.agents, hunt.targets, hunt.habits, 4 * config.hidden, generator)
    return Relational(hunt.habits, config.hidden, generator, name == "relational")


def fit(config: Config, model: nn.Module, play: Play, side: int, saved: Saved | None = None) -> Iterator[int]:
    """Train on windows of recorded play; yield the step eight times on the way, which the caller keeps."""
    saved = saved or Saved()
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.steps)], gamma=0.1)
    generator = same_stream(config.seed)
    saved.restore(model, optimizer, scheduler, generator)
    for step in range(saved.done + 1, config.steps + 1):
        some = windows(play, torch.randint(len(play.actions), (config.batch,), generator=generator), config.window, generator)
        loss = next_action_losses(model(some, side).logits, some.actions).mean()
        descend(optimizer, loss, scheduler, config.clip or None)
        if step % max(1, config.steps // 8) == 0:
            yield step
        else:
            saved.keep(step)


def windows(play: Play, episodes: Tensor, length: int, generator: Generator) -> Play:
    """Return a stretch of each episode, all from one random start; the first step's last action is taken as none."""
    steps = play.actions.shape[1]
    start = int(torch.randint(max(1, steps - length + 1), (1,), generator=generator))
    at = slice(start, start + length)
    places, actions, habits = (tensor[episodes, at] for tensor in (play.places, play.actions, play.habits))
    return Play(places, actions, play.stags, habits, play.teams[episodes])


def new_teammates(config: Config) -> Iterator[Row]:
    """Train on teams with habits by either rule; yield accuracy on these teams and on teams that nobody has seen.

    Both also where further new teams, which nothing is trained or judged on, are foretold best.
    """
    hunt = Hunt(habits=config.habits)
    play = hunts(config.seed, config.team_episodes, hunt, config.teams)
    known = hunts_of(play, same_stream(config.seed), config.test)
    new, further = (
        hunts(seed, max(1, config.test // config.teams), hunt, config.teams)
        for seed in (config.seed + 2**31, validation_seed(config, "teams"))
    )
    for rule in RULES:
        model = Relational(config.habits, config.hidden, Generator().manual_seed(config.seed))
        agreement = Agreement(model, Mean() if rule == "averaging" else AndMask(config.team_threshold, rescale=True))
        optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.team_steps)], gamma=0.1)
        generator = same_stream(config.seed)
        first = torch.arange(config.teams)[:, None] * config.team_episodes
        stopping = EarlyStopping(LOOKS)
        for step in kept_steps(rule, config.team_steps, model, optimizer, scheduler, generator, stopping):
            rows = (first + torch.randint(config.team_episodes, (config.teams, 4), generator=generator)).flatten()
            some = windows(play, rows, config.window, generator)
            optimizer.zero_grad()
            agreement.backward(next_action_losses(model(some, hunt.side).logits, some.actions), some.teams)
            optimizer.step()
            scheduler.step()
            if stopping.due(share := (step + 1) / config.team_steps):
                validation = accuracy(model, further, hunt.side)
                if stopping.improves(validation):
                    found: Row = {"known": accuracy(model, known, hunt.side), "new": accuracy(model, new, hunt.side)}
                    stopping.look(share, validation, found)
        ends: Row = {"known": accuracy(model, known, hunt.side), "new": accuracy(model, new, hunt.side)}
        yield {"kind": "teams", "rule": rule, **ends, "budget": config.team_steps, **stopping.row}


def hunts_of(play: Play, generator: Generator, count: int) -> Play:
    """Return some recorded hunts."""
    some = torch.randperm(len(play.actions), generator=generator)[:count]
    return Play(play.places[some], play.actions[some], play.stags, play.habits[some], play.teams[some])


def answered(model: nn.Module, play: Play, side: int) -> Answer:
    """Return what a model says of recorded play, without gradients."""
    with torch.no_grad():
        return model(play, side)


def right(answer: Answer, play: Play) -> float:
    """Return the share of actions that the logits put first."""
    return float((answer.logits.argmax(-1) == play.actions).double().mean())


def unmistaken(answer: Answer, play: Play) -> float:
    """Return the mean number of steps until the first mistake."""
    return float(perfect_steps(answer.logits, play.actions).double().mean())


def accuracy(model: nn.Module, play: Play, side: int) -> float:
    """Return the same of a model."""
    return right(answered(model, play, side), play)


def foretold(edges: Tensor, play: Play) -> Row:
    """Return how well edge norms, and nearness alone, say that an agent stands on an object soon: areas under ROC."""
    agents, steps = play.actions.shape[2], play.actions.shape[1] - SOON
    senders, receivers = edges_to(agents, play.places.shape[2])
    objects = (senders >= agents).nonzero()[:, 0]
    way = play.places[:, :, senders[objects]] - play.places[:, :, receivers[objects]]
    there = play.places[:, :, receivers[objects]]
    wanted = play.places[:, :steps, senders[objects]]
    soon = torch.zeros(wanted.shape[:-1], dtype=torch.bool)
    for ahead in range(1, SOON + 1):
        soon |= (there[:, ahead : ahead + steps] == wanted).all(-1)
    near = -way.abs().sum(-1)[:, :steps].double()
    norms = edge_norms(edges)[:, :steps, objects].double()
    return {"kind": "edges", "norms": area(norms, soon), "nearness": area(near, soon)}


def partners(edges: Tensor, play: Play) -> Row:
    """Return how well norms of edges between agents, and nearness alone, say that both stand on one stag soon."""
    agents, steps = play.actions.shape[2], play.actions.shape[1] - SOON
    senders, receivers = edges_to(agents, play.places.shape[2])
    pairs = (senders < agents).nonzero()[:, 0]
    one, other = play.places[:, :, receivers[pairs]], play.places[:, :, senders[pairs]]
    stags = play.places[:, :steps, None, agents:][:, :, :, play.stags]
    soon = torch.zeros(one[:, :steps].shape[:-1], dtype=torch.bool)
    for ahead in range(1, SOON + 1):
        there, with_it = one[:, ahead : ahead + steps], other[:, ahead : ahead + steps]
        soon |= (there == with_it).all(-1) & (there[..., None, :] == stags).all(-1).any(-1)
    near = -(one - other).abs().sum(-1)[:, :steps].double()
    return {"kind": "partners", "norms": area(edge_norms(edges)[:, :steps, pairs].double(), soon), "nearness": area(near, soon)}


def policies(config: Config, model: Relational) -> Iterator[Row]:
    """Yield how a learner does among scripted hunters, without predictions of what they do next and with."""
    for informed in (False, True):
        found = learn(Hunt(), model if informed else None, config.policy_updates, config.policy_hunts, config.seed)
        yield {"kind": "policy", "predictions": informed, **found}


def area(scores: Tensor, truth: Tensor) -> float:
    """Return the area under the ROC: the chance that a true one has the higher score, ties counting half."""
    values, labels = scores.flatten(), truth.flatten()
    _, place, counts = values.unique(return_inverse=True, return_counts=True)
    ranks = (counts.cumsum(0).double() - (counts - 1) / 2)[place]
    yes = int(labels.sum())
    no = len(labels) - yes
    return float((ranks[labels].sum() - yes * (yes + 1) / 2) / (yes * no)) if yes and no else 0.5


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] in ("partners", "board", "policy"):
        return 0.3, str(row["kind"])
    if row["kind"] in ("teams", "persistence", "edges"):
        return 0.85, str(row["kind"])
    return 0.8 * (MODELS.index(str(row["model"])) + 1) / len(MODELS), str(row["model"])
