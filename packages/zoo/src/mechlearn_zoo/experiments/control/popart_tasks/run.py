"""One actor-critic on eight variants of Catch whose rewards differ by four orders of magnitude; in two their size matters.

An update is one episode of every environment; all methods see the same frames and begin with the same weights. The policy is
told nothing but the picture, the critic has a head for each task.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, Interval
from torch import Generator, Tensor

from claimlab import Limited, Positive, Preset, Row, Share, checkpoint, number
from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn_zoo.learners.actor_critic import ActorCritic, entropy, falling
from mechlearn_zoo.methods.control import Rollout, art, collect, normalize, pop, unnormalize, vtrace
from mechlearn_zoo.tasks.agents.atari import Games
from mechlearn_zoo.tasks.agents.catch import VARIANTS, Board, Catch

SCALES = (0.1, 1.0, 10.0, 100.0, 1000.0, 1.0, 30.0, 0.1)
PRIZES = (3, 4)
"""Variants with two balls; clipped to [-1, 1] both are worth the same."""
GAMES = ("breakout", "pong", "qbert", "seaquest", "space_invaders", "boxing", "ms_pacman", "asterix")


class Method(NamedTuple):
    """What is done about scales."""

    popart: bool = False
    clip: bool = False
    mask: bool = False
    normalise: str | None = None


METHODS = {
    "none": Method(), "clipping": Method(clip=True), "popart": Method(popart=True),
    "popart-clipping": Method(popart=True, clip=True), "and-mask": Method(mask=True),
    "normalised": Method(normalise="model"), "and-mask-normalised": Method(mask=True, normalise="model"),
    "popart-and-mask": Method(popart=True, mask=True),
}  # fmt: skip
REPORTS = 20


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of everything that is drawn."""
    world: Literal["catch", "atari"] = "catch"
    """The eight variants of Catch, or eight Atari games at once."""
    updates: Annotated[int, Ge(1)] = 800
    """Of each method."""
    envs: Annotated[int, Ge(1)] = 16
    """Environments of each task."""
    steps: Annotated[int, Ge(1)] = 9
    """Of an update in every environment; 9 are an episode of Catch."""
    rate: Positive = 1e-2
    """Adam's learning rate, which falls linearly to 0."""
    beta: Annotated[float, Interval(gt=0, le=1)] = 0.1
    """PopArt's step, on a batch's mean of each task."""
    threshold: Share = 0.25
    """Of the AND-mask over tasks: a component survives where the signs of tasks agree by so much; 0.25 is five of eight."""


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(Config(world="atari", updates=60_000, envs=4, steps=20, rate=6e-4, beta=3e-2), seeds=3),
}
HIDDEN = {"catch": 128, "atari": 256}
DISCOUNT, ENTROPY, VALUE = 0.99, 0.003, 0.5


class Learned(NamedTuple):
    """Losses of all steps (T * B,), and how far PopArt's update moved an output, as a share of its size, in float64."""

    losses: Tensor
    moved: float


def learn(model: ActorCritic, rollout: Rollout, tasks: Tensor, method: Method, beta: float) -> Learned:
    """Return unreduced losses of all steps, time first, after PopArt's update where there is one."""
    steps = tasks.expand(rollout.steps, -1)
    flat = steps.reshape(-1)
    features = model.features(rollout.observations[:-1].flatten(0, 1))
    logs = model.policy(features).log_softmax(-1)
    log_pi = logs.gather(-1, rollout.actions.reshape(-1, 1))[:, 0]
    paid = rollout.rewards.clamp(-1, 1) if method.clip else rollout.rewards
    with torch.no_grad():
        last = model.value.values(model.features(rollout.observations[-1]), tasks)
        values = torch.cat((model.value.values(features, flat).view_as(steps), last[None]))
        ends = rollout.final_observations
        final = None if ends is None else model.value.values(model.features(ends), steps[rollout.truncated])
        found = vtrace(replace(rollout, rewards=paid), values, log_pi.view_as(steps), DISCOUNT, final_values=final)
        moved = 0.0
        if method.popart:
            moved = _moved(model, features, flat, found.targets.reshape(-1), beta)
            model.value.update(found.targets, steps, beta, "mean")
        wanted = normalize(model.value.state, found.targets.reshape(-1), flat)
        advantages = found.advantages.reshape(-1) / model.value.state.scale[flat].float()
    errors = wanted - model.value(features, flat)
    return Learned(-advantages * log_pi - ENTROPY * entropy(logs) + VALUE * errors.square(), moved)


def _moved(model: ActorCritic, features: Tensor, tasks: Tensor, targets: Tensor, beta: float) -> float:
    """Return the largest relative change of an output by the update that is to come, in float64."""
    layer, every = model.value, features.double()
    old, weight, bias = layer.state, layer.weight.double(), layer.bias.double()
    new = art(old, targets, tasks, beta, "mean")
    after_weight, after_bias = pop(weight, bias, old, new)
    before, after = (
        unnormalize(state, (every * w[tasks]).sum(-1) + b[tasks], tasks)
        for state, w, b in ((old, weight, bias), (new, after_weight, after_bias))
    )
    size = old.scale[tasks] * (1 + bias[tasks].abs() + (every * weight[tasks]).abs().sum(-1)) + old.mean[tasks].abs()
    return float(((after - before).abs() / size).max())


def train(config: Config, name: str, world: Catch | Games) -> Iterator[Row]:
    """Yield every task's score on the way: the mean reward of the episodes that ended, as a share of the task's scale."""
    generator, method = Generator().manual_seed(config.seed), METHODS[name]
    model = ActorCritic(world.observation_shape, world.actions, VARIANTS, HIDDEN[config.world], generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.rate)
    rule = AndMask(config.threshold) if method.mask else Mean()
    agreement = Agreement(model, rule, normalise=method.normalise)
    tasks = torch.arange(VARIANTS).repeat_interleave(config.envs)
    scales = torch.tensor(SCALES if config.world == "catch" else [1.0] * VARIANTS)
    rate, start = falling(config.rate, config.updates), None
    saved = checkpoint(name, model, optimizer, generator)
    yield from saved.values
    ended, moved, since = torch.zeros(VARIANTS), 0.0, 0
    for update in range(saved.done, config.updates):
        rollout = collect(world, model.act, config.steps, generator, start)
        start = None if config.world == "catch" else rollout.observations[-1]
        optimizer.param_groups[0]["lr"] = rate(update)
        optimizer.zero_grad()
        learned = learn(model, rollout, tasks, method, config.beta)
        if method.mask or method.normalise:
            agreement.backward(learned.losses, tasks.expand(rollout.steps, -1).reshape(-1))
        else:
            learned.losses.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 40.0)
        optimizer.step()
        ended += rollout.rewards.sum(0).view(VARIANTS, -1).mean(1) / scales
        moved, since = max(moved, learned.moved), since + 1
        if (update + 1) % max(1, config.updates // REPORTS) == 0 or update + 1 == config.updates:
            scores = (ended / since).tolist()
            row = {"kind": "curve", "method": name, "frames": (update + 1) * config.steps * len(tasks), "moved": moved}
            row |= {"mean": sum(scores) / VARIANTS, "worst": min(scores)}
            yield saved.keep(update + 1, row | {f"task_{index}": score for index, score in enumerate(scores)})
            ended, since = torch.zeros(VARIANTS), 0
    saved.finish()


def run(config: Config) -> Iterator[Row]:
    """Yield the scores of every method."""
    for name in METHODS:
        yield from train(config, name, catch(config) if config.world == "catch" else Games(GAMES, config.envs))


def catch(config: Config) -> Catch:
    """Return the eight variants with their scales and prizes."""
    tasks = torch.arange(VARIANTS).repeat_interleave(config.envs)
    return Catch(tasks, Generator(), Board(scales=SCALES, prizes=PRIZES))


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    done = number(row, "frames") / (config.updates * config.steps * config.envs * VARIANTS)
    return (list(METHODS).index(str(row["method"])) + done) / len(METHODS), str(row["method"])
