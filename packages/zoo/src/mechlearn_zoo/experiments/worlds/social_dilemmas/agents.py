"""Agents that see, hear, act and say: many networks of their own weights as one, with batched products.

A member is an agent of an arm. It sees a window of its world and hears the symbol that each other agent said in the step
before; what is heard enters the second layer, so that asking "what if another symbol had been heard" costs that layer alone.

Index conventions: m members, arm by arm and in an arm agent by agent; r arms, n agents, o = n - 1 others in order, b examples,
k symbols, a actions. The symbol k is none: nothing has been said yet.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot


class Answers(NamedTuple):
    """What members make of what they see and hear.

    Attributes:
        acts: (m, b, a) log-probabilities of actions.
        says: (m, b, k) log-probabilities of symbols.
        values: (m, b, 2) of rewards, and of what messages are paid for.
        inner: (m, b, h) what the second layer adds up, before its units.
    """

    acts: Float[Tensor, "m b a"]
    says: Float[Tensor, "m b k"]
    values: Float[Tensor, "m b 2"]
    inner: Float[Tensor, "m b h"]


class Speakers(nn.Module):
    """Members of one architecture: two hidden layers of rectified units, a head for actions and one for symbols, a value each.

    The head of symbols reads the hidden layers and does not train them: what messages are paid for changes actions through
    what is heard, and in no other way.

    Args:
        arms: how many groups.
        agents: of each group.
        inputs: numbers of a view.
        actions: of each agent.
        symbols: that it can say.
        hidden: units of each hidden layer.
        generator: of the initial weights, which are the same in every arm.
    """

    def __init__(
        self, arms: int, agents: int, inputs: int, actions: int, symbols: int, hidden: int, generator: Generator
    ) -> None:
        super().__init__()
        self.arms, self.agents, self.actions, self.symbols = arms, agents, actions, symbols

        def drawn(fan: int, units: int, scale: float = 1.0) -> nn.Parameter:
            bound = scale * math.sqrt(3.0 / fan)
            weight = torch.empty(agents, fan, units).uniform_(-bound, bound, generator=generator)
            return nn.Parameter(weight.repeat(arms, 1, 1))

        self.see, self.think = drawn(inputs, hidden, 2.0), drawn(hidden, hidden, math.sqrt(2.0))
        self.hear = drawn((agents - 1) * symbols, hidden, 2.0)
        self.act, self.say = drawn(hidden, actions + 1, 0.1), drawn(hidden, symbols + 1, 0.1)
        self.see_bias, self.think_bias = (nn.Parameter(torch.zeros(arms * agents, 1, hidden)) for _ in range(2))
        self.act_bias = nn.Parameter(torch.zeros(arms * agents, 1, actions + 1))
        self.say_bias = nn.Parameter(torch.zeros(arms * agents, 1, symbols + 1))

    def forward(self, seen: Float[Tensor, "m b i"], heard: Int[Tensor, "m b o"]) -> Answers:
        """Return what members make of views and of the symbols heard, which are `symbols` where nothing was said."""
        sounds = one_hot(heard, self.symbols + 1)[..., :-1].flatten(2).to(seen)
        first = torch.baddbmm(self.see_bias, seen, self.see).relu()
        inner = torch.baddbmm(torch.baddbmm(self.think_bias, first, self.think), sounds, self.hear)
        hidden = inner.relu()
        acts = torch.baddbmm(self.act_bias, hidden, self.act)
        says = torch.baddbmm(self.say_bias, hidden.detach(), self.say)
        values = torch.stack([acts[..., -1], says[..., -1]], -1)
        return Answers(acts[..., :-1].log_softmax(-1), says[..., :-1].log_softmax(-1), values, inner)

    def groups(self) -> list[list[nn.Parameter]]:
        """Return the parameters that apples train, and those that what messages are paid for trains."""
        talking = [self.say, self.say_bias]
        return [[one for one in self.parameters() if all(one is not other for other in talking)], talking]

    def supposing(self, inner: Float[Tensor, "p b h"], heard: Int[Tensor, "p b o"], first: int) -> Float[Tensor, "p b o k a"]:
        """Return log-probabilities of actions had another symbol been heard from one other agent, all else as it was.

        Args:
            inner: (p, b, h) of members `first`, `first` + 1, ..., from `forward`.
            heard: (p, b, o) what they heard; everybody must have said something.
            first: of these members.
        """
        some = slice(first, first + len(inner))
        sounds = self.hear[some].unflatten(1, (self.agents - 1, self.symbols))  # (p, o, k, h)
        members, slots = torch.arange(len(inner))[:, None, None], torch.arange(self.agents - 1)
        without = inner[:, :, None] - sounds[members, slots, heard]
        inside = (without[..., None, :] + sounds[:, None]).relu()  # (p, b, o, k, h)
        logits = torch.baddbmm(self.act_bias[some, :, :-1], inside.flatten(1, 3), self.act[some, :, :-1])
        return logits.log_softmax(-1).view(*inside.shape[:-1], self.actions)


def others(agents: int) -> Int[Tensor, "n o"]:
    """Return the others of each agent, in order."""
    return torch.tensor([[other for other in range(agents) if other != agent] for agent in range(agents)])


def slots(agents: int) -> Int[Tensor, "n o"]:
    """Return at which place each agent stands among the others of each of its others."""
    return torch.tensor([[agent - (agent > other) for other in range(agents) if other != agent] for agent in range(agents)])
