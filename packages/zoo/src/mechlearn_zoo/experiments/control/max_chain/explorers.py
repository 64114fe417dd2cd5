"""Who explores: an object with `begin()` at each episode, `act(state)` and `learn(state, action, after)`, tables inside.

All get the same steps. Planners replan after every step; reactive ones make ten updates of Q-learning from what they have seen.
"""

from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Generator, Tensor
from torch.special import entr

from mechlearn_zoo.finite import FiniteMDP
from mechlearn_zoo.methods.control.disagreement import jensen_shannon, plan


@runtime_checkable
class Explorer(Protocol):
    """What the loop asks of an explorer."""

    def begin(self) -> None:
        """An episode starts."""

    def act(self, state: int) -> int:
        """Choose."""
        ...

    def learn(self, state: int, action: int, after: int) -> None:
        """See what happened."""


class Planner:
    """Planning on a utility of an ensemble: Jensen and Shannon's disagreement (MAX), or the entropy of the mean prediction.

    The members share all data and differ in their priors: P_i = (counts + w d_i) / (n + w), d_i ~ Dirichlet(1 / N): after one
    visit of a deterministic transition they agree on it. Acts by value iteration in the transitions of a member drawn anew.
    """

    def __init__(self, states: int, utility: str, generator: Generator, members: int = 5, weight: float = 0.01) -> None:
        draw = np.random.default_rng(int(torch.randint(2**31, (), generator=generator)))
        prior = draw.dirichlet(np.full(states, 1 / states), size=(members, states, 2))
        self._prior, self._weight, self._utility = torch.as_tensor(prior), weight, utility
        self._counts = torch.zeros(states, 2, states, dtype=torch.float64)
        self._generator = generator

    def begin(self) -> None:
        """Nothing: plans are made at each step."""

    def act(self, state: int) -> int:
        """Take the first step of a plan in a drawn member."""
        models = (self._counts + self._weight * self._prior) / (self._counts.sum(-1, keepdim=True) + self._weight)
        utility = jensen_shannon(models) if self._utility == "disagreement" else entr(models.mean(0)).sum(-1)
        member = models[int(torch.randint(len(models), (), generator=self._generator))]
        return int(plan(_process(member), utility, member.shape[0])[-1, state])

    def learn(self, state: int, action: int, after: int) -> None:
        """Count."""
        self._counts[state, action, after] += 1


class Bonus:
    """Q-learning on the bonus 1 / sqrt(n(s, a)), from an optimistic start; a pessimistic one never moves."""

    def __init__(self, states: int, generator: Generator, start: float = 20.0, updates: int = 10) -> None:
        self._draw = np.random.default_rng(int(torch.randint(2**31, (), generator=generator)))
        self._q, self._counts = np.full((states, 2), start), np.zeros((states, 2))
        self._seen, self._updates = list[tuple[int, int, int]](), updates

    def begin(self) -> None:
        """Nothing."""

    def act(self, state: int) -> int:
        """The better action, evenly at a tie."""
        best = np.flatnonzero(self._q[state] == self._q[state].max())
        return int(self._draw.choice(best))

    def learn(self, state: int, action: int, after: int) -> None:
        """Update the newest transition and some older ones."""
        self._counts[state, action] += 1
        self._seen.append((state, action, after))
        older = self._draw.integers(len(self._seen), size=self._updates - 1)
        for s, a, t in [self._seen[-1], *(self._seen[i] for i in older)]:
            target = self._counts[s, a] ** -0.5 + 0.95 * self._q[t].max()
            self._q[s, a] += 0.5 * (target - self._q[s, a])


class Heads:
    """Bootstrapped Q (Osband et al. 2016): ten heads with starts and data of their own, one of them followed for an episode."""

    def __init__(self, states: int, generator: Generator, heads: int = 10, updates: int = 10) -> None:
        self._draw = np.random.default_rng(int(torch.randint(2**31, (), generator=generator)))
        self._q = self._draw.normal(size=(heads, states, 2))
        self._seen, self._masks, self._updates, self._head = list[tuple[int, int, int]](), list[np.ndarray](), updates, 0

    def begin(self) -> None:
        """Choose a head."""
        self._head = int(self._draw.integers(len(self._q)))

    def act(self, state: int) -> int:
        """As the head likes."""
        return int(self._q[self._head, state].argmax())

    def learn(self, state: int, action: int, after: int) -> None:
        """Half of the heads learn from a transition; there is no reward, so that values only spread."""
        self._seen.append((state, action, after))
        self._masks.append(self._draw.random(len(self._q)) < 0.5)
        older = self._draw.integers(len(self._seen), size=self._updates - 1)
        for i in [len(self._seen) - 1, *older]:
            s, a, t = self._seen[i]
            change = 0.5 * (0.95 * self._q[:, t].max(1) - self._q[:, s, a])
            self._q[:, s, a] += change * self._masks[i]


class Walker:
    """Acts evenly at random."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def begin(self) -> None:
        """Nothing."""

    def act(self, state: int) -> int:
        """Toss a coin."""
        return int(torch.randint(2, (), generator=self._generator))

    def learn(self, state: int, action: int, after: int) -> None:
        """Nothing."""


METHODS = ("max", "prediction-error", "bonus", "bootstrap", "random")


def explorer(name: str, states: int, generator: Generator) -> Explorer:
    """Return one by name."""
    if name in ("max", "prediction-error"):
        return Planner(states, "disagreement" if name == "max" else "entropy", generator)
    if name == "bonus":
        return Bonus(states, generator)
    return Heads(states, generator) if name == "bootstrap" else Walker(generator)


def _process(model: Tensor) -> FiniteMDP:
    states = len(model)
    start = torch.zeros(states, dtype=torch.float64)
    start[1] = 1
    return FiniteMDP(model / model.sum(-1, keepdim=True), torch.zeros(states, 2, dtype=torch.float64), start, 1.0)
