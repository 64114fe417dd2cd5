"""What an agent sees of the world, and what it does: one network for all agents."""

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from craik.nn.attention import attend
from craik.nn.graphs import gated
from craik.nn.perceptrons import linear
from craik.tasks.agents.particle_world import World, seen


class Policy(nn.Module):
    """What both agents do: a memory of what was heard, attention of it over the landmarks, then a force and a symbol."""

    def __init__(self, colours: int, symbols: int, generator: Generator, width: int = 64, memory: int = 32) -> None:
        super().__init__()
        self.entity = nn.Sequential(linear(2 + colours, width, "default", generator), nn.ELU())
        self.hear, self.again = gated(symbols, 3 * memory, memory, generator), gated(memory, 3 * memory, memory, generator)
        self.query = linear(memory, width, "default", generator)
        body = (linear(width + 4 + colours + memory, width, "default", generator), nn.ELU())
        self.body = nn.Sequential(*body, linear(width, 2 + symbols, "default", generator))
        self.memory = memory

    def forward(
        self, marks: Tensor, speed: Tensor, told: Tensor, heard: Tensor, h: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return force (..., 2), logits (..., symbols), the place attended to (..., 2) and the memory, in its frame."""
        r_x, z_x, n_x = self.hear(heard).chunk(3, -1)
        r_h, z_h, n_h = self.again(h).chunk(3, -1)
        z = (z_x + z_h).sigmoid()
        h = (1 - z) * (n_x + (r_x + r_h).sigmoid() * n_h).tanh() + z * h
        features = self.entity(marks)
        found = attend(self.query(h).unsqueeze(-2), features, torch.cat([features, marks[..., :2]], -1))
        context = found.context.squeeze(-2)
        out = self.body(torch.cat([context, speed, told, h], -1))
        return out[..., :2].tanh(), out[..., 2:], context[..., -2:], h


def views(world: World, goals: Tensor) -> tuple[Tensor, Tensor]:
    """Return what each agent sees of the landmarks, (b, n, m, 2 + colours), and its goal, (b, n, 2), in its own frame."""
    places = seen(world)[:, :, world.places.shape[1] :]
    colours = one_hot(world.colours, world.colours.shape[1]).float()[:, None].expand(-1, places.shape[1], -1, -1)
    goal = places.gather(2, goals[..., None, None].expand(-1, -1, 1, 2)).squeeze(2)
    return torch.cat([places, colours], -1), goal
