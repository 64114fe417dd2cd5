"""Who explores: an object with `begin()` at each episode, `act(state)` and `learn(seen)`; all get the same steps."""

from typing import Protocol, runtime_checkable

import torch
from torch import Generator, Tensor
from torch.nn.functional import smooth_l1_loss

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.learners.planning import Ensemble, cem, disagreement
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
        self._start()

    def _start(self) -> None:
        self._q, self._slow = (relu_mlp(self._widths, self._generator) for _ in range(2))
        self._slow.load_state_dict(self._q.state_dict())
        self._optimizer = torch.optim.Adam(self._q.parameters(), lr=1e-3)

    def begin(self) -> None:
        """Do nothing."""

    def act(self, state: Tensor) -> Tensor:
        """Take the best level, or any in a tenth of the steps."""
        if torch.rand((), generator=self._generator) < 0.1:
            return self._levels[torch.randint(len(self._levels), (), generator=self._generator)]
        return self._levels[self._q(state).argmax()]

    def learn(self, seen: Seen) -> None:
        """Update on batches of all transitions."""
        if self._fresh:
            self._start()
        taken = torch.cdist(seen[1], self._levels).argmin(1, keepdim=True)
        paid = jensen_renyi(*self._ensemble.predict(*seen[:2]))
        for _ in range(self._updates):
            rows = torch.randint(len(paid), (256,), generator=self._generator)
            states, following, lasting = seen[0][rows], seen[2][rows], 1 - seen[3][rows, 0]
            with torch.no_grad():
                ahead = self._slow(following).gather(1, self._q(following).argmax(1, keepdim=True))
            target = paid[rows] + 0.99 * lasting * ahead[:, 0]
            descend(self._optimizer, smooth_l1_loss(self._q(states).gather(1, taken[rows])[:, 0], target))
            with torch.no_grad():
                for slow, fast in zip(self._slow.parameters(), self._q.parameters(), strict=True):
                    slow.lerp_(fast, 0.01)
