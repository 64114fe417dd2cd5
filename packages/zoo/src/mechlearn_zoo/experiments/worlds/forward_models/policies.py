"""A hunter that learns among scripted ones, with a forward model's predictions of what they do next, or without.

Advantage actor-critic (Mnih et al. 2016) on returns of a few steps; the first agent learns, the others follow their script.
Both learners have the same network: where there are no predictions their inputs are zeros.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from claimlab import Row
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.worlds.forward_models.models import ACTIONS, Relational, scene
from mechlearn_zoo.experiments.worlds.forward_models.stag_hunt import Hunt, Play, chosen, moved, slipped, spread
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.nn.categorical import sample_categorical
from mechlearn_zoo.nn.graphs import GraphState

UNROLL = 10
"""Steps of a return, before the critic."""
DISCOUNT = 0.9
STAG, HARE = 2.5, 1.0
"""What a catch is worth to each who stands there, as the script has it."""


class Step(NamedTuple):
    """One step of all hunts: log-probabilities and entropies of what was done, values before, rewards; all (b,)."""

    log_probs: Tensor
    entropies: Tensor
    values: Tensor
    rewards: Tensor


class Hunting:
    """Hunts side by side, and what the forward model remembers of them."""

    def __init__(self, hunt: Hunt, count: int, model: Relational | None, generator: Generator) -> None:
        self.hunt, self.count, self.model, self.generator = hunt, count, model, generator
        self.stags = torch.arange(hunt.targets) % 2 == 1
        self.begin()

    def begin(self) -> None:
        """Begin everywhere."""
        self.places = spread(self.hunt, self.count, self.generator)
        self.before = torch.zeros(self.count, self.hunt.agents, dtype=torch.int64)
        self.memory: GraphState | None = None
        self.time = 0

    def features(self) -> Tensor:
        """Return what the learner sees: the ways to all others and targets, and predictions of the others' next actions."""
        ways = (self.places[:, 1:] - self.places[:, :1]).flatten(1).float() / self.hunt.side
        others = torch.zeros(self.count, self.hunt.agents - 1, ACTIONS)
        if self.model is not None:
            others = self._predicted(self.model)
        return torch.cat([ways, others.flatten(1)], 1)

    @torch.no_grad()
    def _predicted(self, model: Relational) -> Tensor:
        # Two steps, of which the model reads the second: what was done before is the first one's action.
        places, actions = self.places[:, None].expand(-1, 2, -1, -1), torch.stack([self.before, self.before], 1)
        habits = torch.zeros(*actions.shape, 0)
        graph = scene(Play(places, actions, self.stags, habits, torch.zeros(self.count)), self.hunt.side)
        graph = graph._replace(nodes=graph.nodes[:, 1:], edges=graph.edges[:, 1:], globals=graph.globals[:, 1:])
        found = model.body(graph, self.hunt.agents, self.memory)
        self.memory = found.state
        return found.logits[:, 0, 1:].softmax(-1)

    def act(self, own: Tensor) -> Tensor:
        """Move everybody; return what the learner has caught, (b,)."""
        agents = self.hunt.agents
        actions = slipped(chosen(self.places[:, :agents], self.places[:, agents:], self.stags), self.hunt.slip, self.generator)
        self.before = torch.cat([own[:, None], actions[:, 1:]], 1)
        self.places, caught = moved(self.places, self.before, self.hunt, self.stags, self.generator)
        self.time += 1
        return (caught[:, 0] * torch.where(self.stags, STAG, HARE)).sum(1)


def learn(hunt: Hunt, model: Relational | None, updates: int, count: int, seed: int) -> Row:
    """Return the mean reward a step while a learner trains, and in the last quarter."""
    generator = Generator().manual_seed(seed)
    inputs = 2 * (hunt.agents + hunt.targets - 1) + ACTIONS * (hunt.agents - 1)
    network = relu_mlp((inputs, 64, 64, ACTIONS + 1), generator)
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    hunting, earned = Hunting(hunt, count, model, generator), list[float]()
    for _ in range(updates):
        if hunting.time + UNROLL > hunt.steps:
            hunting.begin()
        steps = [taken(network, hunting) for _ in range(UNROLL)]
        # What follows is valued without remembering it: the model's memory goes on from the next unroll's first step.
        memory = hunting.memory
        with torch.no_grad():
            value = network(hunting.features())[:, -1]
        hunting.memory = memory
        descend(optimizer, loss(steps, value), clip=1.0)
        earned.append(float(torch.stack([step.rewards for step in steps]).mean()))
    last = earned[-max(1, updates // 4) :]
    return {"reward": sum(earned) / len(earned), "last": sum(last) / len(last), "budget": updates * UNROLL * count}


def taken(network: nn.Module, hunting: Hunting) -> Step:
    """Take one step everywhere."""
    answer = network(hunting.features())
    logs, value = answer[:, :-1].log_softmax(-1), answer[:, -1]
    action = sample_categorical(logs.detach(), hunting.generator)
    entropy = -(logs.exp() * logs).sum(-1)
    return Step(logs.gather(1, action[:, None])[:, 0], entropy, value, hunting.act(action))


def loss(steps: list[Step], value: Tensor) -> Tensor:
    """Return the actor's and the critic's loss on discounted returns."""
    total = torch.zeros(())
    for step in reversed(steps):
        value = step.rewards + DISCOUNT * value
        advantage = value - step.values
        total = total - (advantage.detach() * step.log_probs + 0.01 * step.entropies - 0.5 * advantage.square()).mean()
    return total / len(steps)
