"""Linear models of many methods and settings, trained side by side on every example at each step.

Index conventions as in `directions`: m a member of M, e an environment of E, j an input of J.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.nn.stacks import StackedAdam
from mechlearn_zoo.experiments.own_data.linear_units.directions import (
    Board,
    Direction,
    Penalty,
    Way,
    and_mask,
    average,
    fishr,
    geometric,
    homogeneous,
    iga,
    irm,
    published,
    qualitative,
    see,
    vrex,
)  # fmt: skip

SHRINK = 5.0
"""Times the learning rate: how fast rules that test for conflict let go of what they mask (`agreement.decay_masked`)."""


class Method(NamedTuple):
    """One way to train.

    Attributes:
        way: where the members go.
        penalty: added to the mean loss; then the members follow the gradient of the two.
        strengths: of the penalty, exponents of ten between which it is drawn.
        descent: plain gradient descent in place of Adam.
        shrink: let go of what is masked.
        oracle: train on examples whose spurious inputs are shuffled.
    """

    way: Way = average
    penalty: Penalty | None = None
    strengths: tuple[float, float] = (0.0, 0.0)
    descent: bool = False
    shrink: bool = False
    oracle: bool = False


METHODS: dict[str, Method] = {
    "ERM": Method(),
    "AND-mask, published": Method(published, descent=True),
    "AND-mask": Method(and_mask),
    "geometric mean": Method(geometric),
    "Gail-Simon": Method(qualitative, shrink=True),
    "Cochran": Method(homogeneous, shrink=True),
    "IRM": Method(penalty=irm, strengths=(0.0, 3.0)),
    "IGA": Method(penalty=iga, strengths=(1.0, 5.0)),
    "V-REx": Method(penalty=vrex, strengths=(-1.0, 5.0)),
    "Fishr": Method(penalty=fishr, strengths=(1.0, 4.0)),
    "oracle": Method(oracle=True),
}
"""By the name that rows have. IRM's strengths are the published l / (1 - l), IGA's the published ones; V-REx's and Fishr's are
DomainBed's."""


class Settings(NamedTuple):
    """What differs between members, (M, 1) each: learning rate, weight decay, strength of the penalty."""

    rate: Float[Tensor, "m 1"]
    decay: Float[Tensor, "m 1"]
    strength: Float[Tensor, "m 1"]


Watch = Callable[[Tensor, float], None]
"""What looks at members' weights (M, J) after a share of their training, and changes nothing of it."""


def train(
    board: Board,
    method: Method,
    settings: Settings,
    own: Bool[Tensor, "e m 1"],
    start: Tensor,
    steps: int,
    watch: Watch | None = None,
) -> Tensor:
    """Return the members' weights (M, J) after so many steps from a start, each by its own environments."""
    weights = start.clone()
    optimizer = StackedAdam([weights], settings.rate[:, 0], settings.decay[:, 0])
    for step in range(steps):
        if method.penalty is None:
            gradient, kept = method.way(see(board, weights, own))
        else:
            gradient, kept = penalised(board, weights, own, method.penalty, settings.strength)
        if method.descent:
            weights -= settings.rate * (gradient + settings.decay * weights)
        else:
            weights.grad = gradient
            optimizer.step()
        if method.shrink and kept is not None:
            weights *= 1 - SHRINK * settings.rate * ~kept
        if watch is not None:
            watch(weights, (step + 1) / steps)
    return weights


def penalised(board: Board, weights: Tensor, own: Tensor, penalty: Penalty, strength: Tensor) -> Direction:
    """Follow the gradient of the mean loss and a penalty; a member's weights are in its own penalty alone."""
    free = weights.detach().requires_grad_()
    seen = see(board, free, own)
    (gradient,) = torch.autograd.grad((strength * penalty(seen)).sum(), free)
    return Direction(seen.over_own(seen.gradients).detach() + gradient)
