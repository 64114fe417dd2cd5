"""Who should be where, and who is told so: between two agents, and among three who must say for whom it is."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from mechlearn_zoo.experiments.worlds.particle_language.particle_world import World, begin
from mechlearn_zoo.experiments.worlds.particle_language.settings import Config

THREE = 3


class Errand(NamedTuple):
    """What there is to do in each world.

    Attributes:
        world: at its beginning.
        goals: (b, n) index of the landmark that each agent should be at.
        told: (b, n, d) what each agent is told: a colour, one-hot; among three, then whom it is for, one-hot.
        colours: (b, n) that each agent is told.
        offsets: (b, n) whom it is for: 0 the agent itself, else how many places further round the ring.
        tellers: (b, n) who is told each agent's goal.
    """

    world: World
    goals: Tensor
    told: Tensor
    colours: Tensor
    offsets: Tensor
    tellers: Tensor


def among_two(config: Config, worlds: int, generator: Generator) -> Errand:
    """Return worlds in which each of two agents is told the colour of the other's goal."""
    world = begin(worlds, 2, config.landmarks, generator)
    goals = torch.randint(0, config.landmarks, (worlds, 2), generator=generator)
    colours = world.colours.gather(1, goals.flip(1))
    told = one_hot(colours, config.landmarks).float()
    return Errand(world, goals, told, colours, torch.ones_like(goals), torch.tensor([[1, 0]]).expand(worlds, 2))


def among_three(config: Config, worlds: int, generator: Generator, new: bool = False) -> Errand:
    """Return worlds in which each of three agents is told a colour, and which agent, itself or another, should be there.

    Any permutation of addressees is as likely as any other, so that an agent cannot tell from whom it is to address itself
    who has something to say to it.

    Args:
        config: of landmarks.
        worlds: how many.
        generator: of everything that is drawn.
        new: one agent in each world is told the pair of colour and addressee that is held out of training, unless none
            addresses the next one.
    """
    world = begin(worlds, THREE, config.landmarks, generator)
    addressees = torch.rand(worlds, THREE, generator=generator).argsort(1)
    offsets = (addressees - torch.arange(THREE)) % THREE
    colours = torch.randint(0, config.landmarks, offsets.shape, generator=generator)
    others = (colours + torch.randint(1, config.landmarks, offsets.shape, generator=generator)) % config.landmarks
    colours = torch.where(held_out(colours, offsets), others, colours)
    if new:
        first = (offsets == 1) & ((offsets == 1).cumsum(1) == 1)
        colours = torch.where(first, 0, colours)
    told = torch.cat([one_hot(colours, config.landmarks), one_hot(offsets, THREE)], -1).float()
    tellers = addressees.argsort(1)
    goals = world.colours.argsort(1).gather(1, colours.gather(1, tellers))
    return Errand(world, goals, told, colours, offsets, tellers)


def held_out(colours: Tensor, offsets: Tensor) -> Tensor:
    """Return which pairs are held out of training: one colour where it is for the next agent round the ring.

    One pair and not more: were each colour missing for somebody, the colour would say for whom it is.
    """
    return (offsets == 1) & (colours == 0)
