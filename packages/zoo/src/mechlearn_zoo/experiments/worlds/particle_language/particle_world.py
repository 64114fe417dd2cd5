"""Particles that walk and speak in a plane, differentiable from end to end: the world in which agents invent a language.

Mordatch and Abbeel 2018 (https://arxiv.org/abs/1703.04908, section 3): agents and landmarks have a position and a colour,
agents a velocity; every agent sees all in a frame of its own, turned and shifted, so that places cannot be told by
coordinates. Forces are
smooth: a step is differentiated like any other layer. Index conventions: b worlds, n agents, m landmarks, frames (b, n, 2,
2) whose rows are an agent's own axes.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_decay,
    check_floats,
    check_generator,
    check_ids,
    check_positive,
    check_whole,
)


class World(NamedTuple):
    """Where everything is.

    Attributes:
        places: (b, n, 2) of the agents.
        speeds: (b, n, 2).
        landmarks: (b, m, 2).
        colours: (b, m) of the landmarks: each colour once, in random order.
        frames: (b, n, 2, 2) rotation of each agent's view.
    """

    places: Float[Tensor, "b n 2"]
    speeds: Float[Tensor, "b n 2"]
    landmarks: Float[Tensor, "b m 2"]
    colours: Int[Tensor, "b m"]
    frames: Float[Tensor, "b n 2 2"]


def begin(worlds: int, agents: int, landmarks: int, generator: Generator) -> World:
    """Return worlds with agents and landmarks at random in [-1, 1]^2, at rest."""
    for name, size in (("worlds", worlds), ("agents", agents), ("landmarks", landmarks)):
        check_whole(name, size, least=1)
    check_generator("generator", generator)
    places = 2 * torch.rand(worlds, agents, 2, generator=generator) - 1
    marks = 2 * torch.rand(worlds, landmarks, 2, generator=generator) - 1
    colours = torch.rand(worlds, landmarks, generator=generator).argsort(1)
    angles = 2 * math.pi * torch.rand(worlds, agents, generator=generator)
    cos, sin = angles.cos(), angles.sin()
    frames = torch.stack([torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2)
    return World(places, torch.zeros_like(places), marks, colours, frames)


def step(world: World, forces: Float[Tensor, "b n 2"], time: float = 0.1, damping: float = 0.5) -> World:
    """Return the world after the agents pushed, each in its own frame.

    v' = damping v + force time, x' = x + v' time (section 3.1, without collisions).

    Args:
        world: before.
        forces: (b, n, 2) along each agent's own axes.
        time: of the step, positive.
        damping: share of the speed that is left, in [0, 1).
    """
    check_floats("forces", forces, *world.places.shape, like=world.places)
    check_all_finite("forces", forces, way_out="Clamp what the policy gives.")
    check_positive("time", time)
    check_decay("damping", damping)
    pushed = (world.frames.mT @ forces.unsqueeze(-1)).squeeze(-1)
    speeds = damping * world.speeds + time * pushed
    return world._replace(places=world.places + time * speeds, speeds=speeds)


def seen(world: World) -> Float[Tensor, "b n k 2"]:
    """Return where each agent sees all bodies, agents then landmarks, (b, n, n + m, 2): in its own frame, from itself."""
    bodies = torch.cat([world.places, world.landmarks], 1)
    way = bodies[:, None] - world.places[:, :, None]
    return way @ world.frames.mT


def distances(world: World, goals: Int[Tensor, "b n"]) -> Float[Tensor, "b n"]:
    """Return how far each agent is from the landmark it should be at, by the landmark's index; minus this is its reward."""
    check_ids("goals", goals, *world.places.shape[:2], count=world.landmarks.shape[1])
    wanted = world.landmarks.gather(1, goals[..., None].long().expand(-1, -1, 2))
    return (world.places - wanted).norm(dim=-1)
