"""Episodes: what agents do and say, and how near they come."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from mechlearn_zoo.experiments.worlds.particle_language.agents import Policy, views
from mechlearn_zoo.experiments.worlds.particle_language.errands import Errand
from mechlearn_zoo.experiments.worlds.particle_language.particle_world import World, distances, step
from mechlearn_zoo.experiments.worlds.particle_language.settings import Config
from mechlearn_zoo.nn.categorical import gumbel_softmax


class Episode(NamedTuple):
    """What happened.

    Attributes:
        ends: (b, n) distances at the end.
        auxiliary: the auxiliary loss.
        path: (t, b, n) distances.
        symbols: (b, n, t) said.
        said: (t, b, n, K) the same one-hot, with gradients where it was sampled.
    """

    ends: Tensor
    auxiliary: Tensor
    path: Tensor
    symbols: Tensor
    said: Tensor


class Talk(NamedTuple):
    """How agents talk.

    Attributes:
        channel: what they have of each other: "symbols", "gaze" (the place that the other looks at), "bodies" (where it is
            and how fast), "none".
        greedy: the likeliest symbol, instead of a sample.
        exchanged: what is said is heard in another episode.
    """

    channel: str
    greedy: bool = False
    exchanged: bool = False


def widths(config: Config, agents: int) -> dict[str, int]:
    """Return how many numbers come from the others in a step, by channel; without one, zeros in the symbols' place."""
    return {"symbols": (agents - 1) * config.symbols, "gaze": 2, "bodies": 4, "none": (agents - 1) * config.symbols}


def play(config: Config, policy: Policy, errand: Errand, generator: Generator, talk: Talk) -> Episode:
    """Play episodes; what is said, and where is looked, is heard and seen in the next step."""
    world, goals, told = errand.world, errand.goals, errand.told
    heard = told.new_zeros(*goals.shape, widths(config, goals.shape[1])[talk.channel])
    h = told.new_zeros(*goals.shape, policy.memory)
    path: list[Tensor] = []
    spoken: list[Tensor] = []
    attended, wanted = heard, heard
    for _ in range(config.time):
        marks, wanted = views(world, goals)
        speed = (world.frames @ world.speeds.unsqueeze(-1)).squeeze(-1)
        force, logits, attended, gaze, h = policy(marks, speed, told, heard, h)
        if talk.greedy:
            said = one_hot(logits.argmax(-1), config.symbols).float()
        else:
            said = gumbel_softmax(logits, config.temperature, generator, hard=True)
        spoken.append(said)
        point = world.places + (world.frames.mT @ gaze.unsqueeze(-1)).squeeze(-1)
        world = step(world, config.push * force)
        heard = sensed(talk, world, said, point, heard)
        path.append(distances(world, goals))
    auxiliary = (attended - wanted).square().sum(-1).mean()
    said = torch.stack(spoken)
    return Episode(path[-1], auxiliary, torch.stack(path), said.argmax(-1).movedim(0, -1), said)


def sensed(talk: Talk, world: World, said: Tensor, point: Tensor, before: Tensor) -> Tensor:
    """Return what each agent has of the others, (b, n, width), the other one's places and ways in its own frame."""
    if talk.channel == "none":
        return before
    if talk.channel == "symbols":
        return heard_by_each(said.roll(1, 0) if talk.exchanged else said)
    places, speeds = (point if talk.channel == "gaze" else world.places), world.speeds
    if talk.exchanged:
        places, speeds = places.roll(1, 0), speeds.roll(1, 0)
    way = (world.frames @ (places.flip(1) - world.places).unsqueeze(-1)).squeeze(-1)
    return way if talk.channel == "gaze" else torch.cat([way, (world.frames @ speeds.flip(1).unsqueeze(-1)).squeeze(-1)], -1)


def heard_by_each(said: Tensor) -> Tensor:
    """Return what the others said, (b, n, (n - 1) K): first the next one round the ring, of one-hot symbols (b, n, K)."""
    return torch.cat([said.roll(-place, 1) for place in range(1, said.shape[1])], -1)
