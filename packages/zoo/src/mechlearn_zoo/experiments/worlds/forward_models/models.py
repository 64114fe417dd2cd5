"""The models that are compared, all from recorded play to logits (b, t, agents, actions), and to edges where there are any."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.experiments.worlds.forward_models.stag_hunt import MOVES, Play
from mechlearn_zoo.methods.worlds import RelationalForwardModel, relative_places
from mechlearn_zoo.nn.graphs import Graph, Widths, edges_to, gated

ACTIONS = len(MOVES)


class Answer(NamedTuple):
    """Logits (b, t, agents, actions), and edges (b, t, m, width) of models that have them."""

    logits: Tensor
    edges: Tensor | None


def scene(play: Play, side: int) -> Graph:
    """Return recorded play as graphs: nodes say who or what, last action and habit; edges the way from receiver to sender."""
    agents, nodes = play.actions.shape[2], play.places.shape[2]
    places = play.places.float() * (2 / (side - 1)) - 1
    before = torch.cat([torch.zeros_like(play.actions[:, :1]), play.actions[:, :-1]], 1)
    kinds = torch.cat([torch.zeros(agents, dtype=torch.long), 1 + play.stags.long()])
    kind = one_hot(kinds, 3).float().expand(*places.shape[:2], -1, -1)
    own = torch.cat([one_hot(before, ACTIONS).float(), play.habits], -1)
    own = torch.cat([own, own.new_zeros(*own.shape[:2], nodes - agents, own.shape[-1])], 2)
    senders, receivers = edges_to(agents, nodes)
    edges = relative_places(places, senders, receivers)
    return Graph(torch.cat([places, kind, own], -1), edges, places.new_zeros(*places.shape[:2], 1), senders, receivers)


class Relational(nn.Module):
    """A relational forward model, with its recurrent block or without."""

    def __init__(self, habits: int, hidden: int, generator: Generator, recurrent: bool = True) -> None:
        super().__init__()
        self.body = RelationalForwardModel(Widths(3, 5 + ACTIONS + habits, 1), ACTIONS, hidden, generator, recurrent)

    def forward(self, play: Play, side: int) -> Answer:
        """Return logits and edges."""
        predicted = self.body(scene(play, side), play.actions.shape[2])
        return Answer(predicted.logits, predicted.edges)


class Recurrent(nn.Module):
    """A GRU (Cho et al. 2014) over time, the same on whatever rows it is given."""

    def __init__(self, inputs: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.first, self.into = linear(inputs, hidden, "default", generator), gated(hidden, 3 * hidden, hidden, generator)
        self.again = gated(hidden, 3 * hidden, hidden, generator)

    def forward(self, x: Tensor) -> Tensor:
        """From (rows, t, inputs) to (rows, t, hidden)."""
        seen = self.into(self.first(x).relu())
        h = seen.new_zeros(len(x), seen.shape[-1] // 3)
        states: list[Tensor] = []
        for now in seen.unbind(1):
            r_x, z_x, n_x = now.chunk(3, -1)
            r_h, z_h, n_h = self.again(h).chunk(3, -1)
            new = (n_x + (r_x + r_h).sigmoid() * n_h).tanh()
            h = new + (z_x + z_h).sigmoid() * (h - new)
            states.append(h)
        return torch.stack(states, 1)


class Alone(nn.Module):
    """Each agent by itself: its node, and the ways to all objects; the same GRU for every agent. It sees no other agent."""

    def __init__(self, targets: int, habits: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.targets = targets
        self.body = Recurrent(5 + ACTIONS + habits + 4 * targets, hidden, generator)
        self.head = linear(hidden, ACTIONS, "default", generator)

    def forward(self, play: Play, side: int) -> Answer:
        """Return logits."""
        graph, agents = scene(play, side), play.actions.shape[2]
        b, t = graph.nodes.shape[:2]
        ways = graph.edges.unflatten(2, (agents, -1))[:, :, :, -self.targets :]
        stags = play.stags.float()[:, None].expand(b, t, agents, -1, 1)
        x = torch.cat([graph.nodes[:, :, :agents], torch.cat([ways, stags], -1).flatten(3)], -1)
        h = self.body(x.transpose(1, 2).flatten(0, 1)).unflatten(0, (b, agents)).transpose(1, 2)
        return Answer(self.head(h), None)


class Flat(nn.Module):
    """Everything in one row: a GRU on all nodes one after another, and logits of all agents at once."""

    def __init__(self, agents: int, targets: int, habits: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.agents = agents
        self.body = Recurrent((agents + targets) * (5 + ACTIONS + habits), hidden, generator)
        self.head = linear(hidden, agents * ACTIONS, "default", generator)

    def forward(self, play: Play, side: int) -> Answer:
        """Return logits."""
        return Answer(self.head(self.body(scene(play, side).nodes.flatten(2))).unflatten(-1, (self.agents, ACTIONS)), None)
