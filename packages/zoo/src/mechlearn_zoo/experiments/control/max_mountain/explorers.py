"""Who explores: an object with `begin()` at each episode, `act(state)` and `learn(seen)`; all get the same steps."""

from typing import Protocol, runtime_checkable

import torch
from torch import Generator, Tensor

from mechlearn_zoo.learners.planning import Ensemble, cem, disagreement
from mechlearn_zoo.learners.q_learning import QLearner
from mechlearn_zoo.methods.control.disagreement import jensen_renyi

Seen = tuple[Tensor, Tensor, Tensor, Tensor]
"""All transitions: states (n, s), actions (n, a), next states (n, s), and (n, 1) of 1 where nothing follows."""


@runtime_checkable
class Explorer(Protocol):
    """What the loop asks of an explorer."""

    def begin(self) -> None:
        """Start an episode."""

    def act(self, state: Tensor) -> Tensor:
        """Choose an action (a,)."""
        ...

    def learn(self, seen: Seen) -> None:
        """Learn after a fit of the ensemble."""


class Walker:
    """Acts evenly at random."""

    def __init__(self, actions: int, generator: Generator) -> None:
        self._actions, self._generator = actions, generator

    def begin(self) -> None:
        """Do nothing."""

    def act(self, state: Tensor) -> Tensor:
        """Draw."""
        return 2 * torch.rand(self._actions, generator=self._generator) - 1

    def learn(self, seen: Seen) -> None:
        """Learn nothing."""


class Planner:
    """MAX: take the first action of a plan towards states on which the ensemble will disagree, after every step anew."""

    def __init__(self, ensemble: Ensemble, actions: int, horizon: int, generator: Generator) -> None:
        self._ensemble, self._generator = ensemble, generator
        self._plan = torch.zeros(horizon, actions)

    def begin(self) -> None:
        """Forget the plan."""
        self._plan = torch.zeros_like(self._plan)

    def act(self, state: Tensor) -> Tensor:
        """Plan from what is left of the last plan."""
        left = torch.cat((self._plan[1:], torch.zeros_like(self._plan[:1])))
        self._plan = cem(lambda plans: disagreement(self._ensemble, state, plans), left, self._generator)
        return self._plan[0]

    def learn(self, seen: Seen) -> None:
        """Learn nothing beside the ensemble."""


class Reactive:
    """Double Q-learning on what the ensemble disagrees about in real transitions, paid by its last fit; five levels of action.

    Args:
        ensemble: that pays.
        states: numbers of a state.
        actions: numbers of an action.
        updates: after each fit of the ensemble.
        fresh: start with new weights after each fit, as the authors' code does.
        generator: of weights, actions and batches.
    """

    def __init__(
        self, ensemble: Ensemble, states: int, actions: int, updates: int, fresh: bool, generator: Generator
    ) -> None:  # fmt: skip
        self._ensemble, self._updates, self._fresh, self._generator = ensemble, updates, fresh, generator
        self._levels = torch.cartesian_prod(*[torch.linspace(-1, 1, 5)] * actions).view(-1, actions)
        self._widths = (states, 64, 64, len(self._levels))
        self._q = QLearner(self._widths, generator)

    def begin(self) -> None:
        """Do nothing."""

    def act(self, state: Tensor) -> Tensor:
        """Take the best level, or any in a tenth of the steps."""
        return self._levels[self._q.act(state)]

    def learn(self, seen: Seen) -> None:
        """Update on batches of all transitions."""
        if self._fresh:
            self._q = QLearner(self._widths, self._generator)
        states, actions, following, ended = seen
        taken = torch.cdist(actions, self._levels).argmin(1)
        paid = jensen_renyi(*self._ensemble.predict(states, actions))
        self._q.learn(states, taken, paid, following, ended[:, 0], self._updates)
