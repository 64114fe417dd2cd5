"""What an agent sees of the world, and what it does: one network for all agents."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.experiments.worlds.particle_language.attention import attend
from mechlearn_zoo.experiments.worlds.particle_language.particle_world import World, seen
from mechlearn_zoo.nn.graphs import gated


class Acts(NamedTuple):
    """What an agent does, all in its own frame.

    Attributes:
        force: (..., 2).
        logits: (..., symbols) of what it says.
        attended: (..., 2) the place that it takes for its goal.
        gaze: (..., 2) the place that it looks at; zeros of who does not look.
        memory: (..., units).
    """

    force: Tensor
    logits: Tensor
    attended: Tensor
    gaze: Tensor
    memory: Tensor


class Policy(nn.Module):
    """What every agent does: a memory of what was heard, attention of it over the landmarks, then a force and a symbol.

    Args:
        colours: of landmarks.
        symbols: that can be said.
        generator: of the initial weights.
        heard: numbers that come from the others in a step.
        addressees: numbers that say whom a goal is for; with any of them, what is attended to depends on what is told, too.
        looks: whether it also looks at a place, by what it is told alone.
        width: of hidden layers.
        memory: units of the gated memory.
    """

    def __init__(
        self,
        colours: int,
        symbols: int,
        generator: Generator,
        heard: int,
        addressees: int = 0,
        looks: bool = False,
        width: int = 64,
        memory: int = 32,
    ) -> None:
        super().__init__()
        told = colours + addressees
        self.entity = nn.Sequential(linear(2 + colours, width, "default", generator), nn.ELU())
        self.hear = gated(heard, 3 * memory, memory, generator)
        self.again = gated(memory, 3 * memory, memory, generator)
        self.query: nn.Module = linear(memory, width, "default", generator)
        if addressees:
            asked = (linear(memory + told, width, "default", generator), nn.ELU())
            self.query = nn.Sequential(*asked, linear(width, width, "default", generator))
        seen = width + 4 + told + memory + 2 * looks
        body = (linear(seen, width, "default", generator), nn.ELU())
        self.body = nn.Sequential(*body, linear(width, 2 + symbols, "default", generator))
        self.look = linear(told, width, "default", generator) if looks else None
        self.memory, self.addressees = memory, addressees

    def forward(self, marks: Tensor, speed: Tensor, told: Tensor, heard: Tensor, h: Tensor) -> Acts:
        """Return what agents do.

        Args:
            marks: (..., m, 2 + colours) the landmarks, in each one's own frame.
            speed: (..., 2) its own.
            told: (..., d).
            heard: (..., heard).
            h: (..., memory) before.
        """
        r_x, z_x, n_x = self.hear(heard).chunk(3, -1)
        r_h, z_h, n_h = self.again(h).chunk(3, -1)
        z = (z_x + z_h).sigmoid()
        h = (1 - z) * (n_x + (r_x + r_h).sigmoid() * n_h).tanh() + z * h
        features = self.entity(marks)
        query = self.query(torch.cat([h, told], -1) if self.addressees else h)
        context = attend(query.unsqueeze(-2), features, torch.cat([features, marks[..., :2]], -1)).context.squeeze(-2)
        seen, gaze = [context, speed, told, h], torch.zeros_like(speed)
        if self.look is not None:
            gaze = attend(self.look(told).unsqueeze(-2), features, marks[..., :2]).context.squeeze(-2)
            seen.append(gaze)
        out = self.body(torch.cat(seen, -1))
        return Acts(out[..., :2].tanh(), out[..., 2:], context[..., -2:], gaze, h)


def views(world: World, goals: Tensor) -> tuple[Tensor, Tensor]:
    """Return what each agent sees of the landmarks, (b, n, m, 2 + colours), and its goal, (b, n, 2), in its own frame."""
    places = seen(world)[:, :, world.places.shape[1] :]
    colours = one_hot(world.colours, world.colours.shape[1]).float()[:, None].expand(-1, places.shape[1], -1, -1)
    goal = places.gather(2, goals[..., None, None].expand(-1, -1, 1, 2)).squeeze(2)
    return torch.cat([places, colours], -1), goal
