"""Values of a table: shrunken means of returns, and values solved from counted transitions."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn_zoo.tasks.finite.returns import Returns


def ridge(
    states: Int[Tensor, " b"], returns: Float[Tensor, " b"], count: int, strengths: Sequence[float]
) -> Iterator[Float[Tensor, " S"]]:
    """Yield for each strength the ridge regression of returns on one-hot states, without an intercept: shrunken means."""
    sums = torch.zeros(count, dtype=torch.float64).index_add(0, states, returns.double())
    visits = torch.bincount(states, minlength=count).double()
    yield from (sums / (visits + strength) for strength in strengths)


def counted(episodes: Returns, count: int, discount: float) -> Float[Tensor, " S"]:
    """Return the values of the process that the kept steps of some episodes show: transitions and rewards by frequency.

    The maximum-likelihood model, solved (certainty equivalence; what batch TD(0) converges to, Sutton and Barto 2018, section
    6.3). A state that is never left has the value 0.
    """
    before = torch.cat([episodes.states[:, None], episodes.visited[:, :-1]], 1)
    acted = before >= 0
    origin, after, paid = before[acted], episodes.visited[acted], episodes.rewards[acted]
    goes = torch.zeros(count, count, dtype=torch.float64)
    on = after >= 0
    goes.index_put_((origin[on], after[on]), torch.ones(int(on.sum()), dtype=torch.float64), accumulate=True)
    visits = torch.bincount(origin, minlength=count).double().clamp(min=1)
    rewards = torch.zeros(count, dtype=torch.float64).index_add(0, origin, paid) / visits
    return torch.linalg.solve(torch.eye(count, dtype=torch.float64) - discount * goes / visits[:, None], rewards)
