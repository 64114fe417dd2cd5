"""An ensemble of networks that predict the next state, and a plan of continuous actions by the cross-entropy method.

    ensemble = Ensemble(states=2, actions=1, generator=generator)
    ensemble.fit(observations, actions, following, 50, generator)
    plan = cem(lambda plans: disagreement(ensemble, state, plans), torch.zeros(25, 1), generator)

States and actions are scaled to about [-1, 1]. Index conventions: e a member of E, p a plan of P, h a step of H.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn.functional import softplus

from mechlearn.arguments import check_whole
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.nn.stacks import Stack
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control.disagreement import jensen_renyi

FLOOR, BATCH, RATE = 1e-2, 128, 1e-3
"""Least variance of a prediction, in units of the data's changes; rows of a step of a fit, and its learning rate."""


class Ensemble:
    """Members that predict Gaussian changes of the state; they differ in their first weights and the order of their data.

    Args:
        states: numbers of a state.
        actions: numbers of an action.
        generator: of the first weights.
        members: E, at least 2.
        units: of each of two hidden layers.
    """

    def __init__(self, states: int, actions: int, generator: Generator, members: int = 5, units: int = 64) -> None:
        check_whole("members", members, 2, why="one cannot disagree")
        self.stack = Stack([relu_mlp((states + actions, units, units, 2 * states), generator) for _ in range(members)])
        self.optimizer = torch.optim.Adam(self.stack.parameters(), lr=RATE)
        self.scale = torch.ones(states)

    def __len__(self) -> int:
        """Return E."""
        return len(self.stack)

    def changes(self, states: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and variances of scaled changes, (E, n, s) each, for rows (n, s) or a member's own (E, n, s)."""
        rows = torch.cat((states, actions), -1)
        means, raw = self.stack(rows.expand(len(self), *rows.shape[-2:])).chunk(2, -1)
        return means, softplus(raw) + FLOOR

    @torch.no_grad()
    def predict(self, states: Float[Tensor, "n s"], actions: Float[Tensor, "n a"]) -> tuple[Tensor, Tensor]:
        """Return each member's mean and variance of the next state, (E, n, s) each."""
        means, variances = self.changes(states, actions)
        return states + self.scale * means, self.scale.square() * variances

    def fit(self, states: Tensor, actions: Tensor, following: Tensor, steps: int, generator: Generator) -> None:
        """Learn from all transitions (n, ...), each member from its own draws; no steps set only the changes' scale."""
        changes = following - states
        self.scale = changes.std(0).clamp_min(1e-6)
        for _ in range(steps):
            rows = torch.randint(len(states), (len(self), BATCH), generator=generator)
            means, variances = self.changes(states[rows], actions[rows])
            errors = (changes[rows] / self.scale - means).square()
            descend(self.optimizer, 0.5 * (errors / variances + variances.log()).mean((1, 2)).sum())


def disagreement(ensemble: Ensemble, start: Float[Tensor, " s"], plans: Float[Tensor, "p h a"]) -> Float[Tensor, " p"]:
    """Return the sum over steps of Jensen and Renyi's divergence on the way; plan p is imagined in member p mod E.

    Imagined states are cut to [-1, 1], where the scaled ones lie.
    """
    rows, state, found = torch.arange(len(plans)), start.expand(len(plans), -1), list[tuple[Tensor, Tensor]]()
    for actions in plans.unbind(1):
        found.append(ensemble.predict(state, actions))
        state = found[-1][0][rows % len(ensemble), rows].clamp(-1, 1)
    means, variances = (torch.stack(part, 1) for part in zip(*found, strict=True))
    return jensen_renyi(means, variances).sum(0)


def cem(
    score: Callable[[Tensor], Tensor], mean: Float[Tensor, "h a"], generator: Generator,
    population: int = 64, elite: int = 8, rounds: int = 3,
) -> Float[Tensor, "h a"]:  # fmt: skip
    """Return a plan in [-1, 1] of a high score: draw plans, keep the best, draw around these.

    Args:
        score: from plans (P, H, a) to (P,).
        mean: where the search starts.
        generator: of what is drawn.
        population: P, plans in a round.
        elite: how many of these the next round starts from.
        rounds: how often.
    """
    spread = torch.ones_like(mean)
    for _ in range(rounds):
        plans = (mean + spread * torch.randn(population, *mean.shape, generator=generator)).clamp(-1, 1)
        best = plans[score(plans).topk(elite).indices]
        mean, spread = best.mean(0), best.std(0)
    return mean
