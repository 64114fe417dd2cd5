"""Where linear models go that see every example of every environment: averages, masks and penalties, many members at once.

Index conventions: m a member of M (a setting and a fold), e an environment of E, i an example of n, j an input of J, the last
of which is always 1, so that a member's last weight is its bias.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import softplus

from mechlearn.agreement.normalised import normalised
from mechlearn.agreement.rules.critical import homogeneous_critical, qualitative_critical
from mechlearn.tables.training_rules.conflicts import Evidence, precisions, sides


class Board(NamedTuple):
    """Examples of E environments.

    Attributes:
        x: (E, n, J), a column of ones last.
        y: (E, n, 1) numbers, or 0 and 1.
        regression: whether they are numbers.
    """

    x: Float[Tensor, "e n j"]
    y: Float[Tensor, "e n 1"]
    regression: bool


class Seen(NamedTuple):
    """The environments as the members see them.

    Attributes:
        board: the examples.
        own: (E, M, 1) True where a member trains on an environment.
        outputs: (E, n, M).
        errors: derivatives of the losses by the outputs, (E, n, M).
        gradients: (E, M, J) of the environments' mean losses.
    """

    board: Board
    own: Bool[Tensor, "e m 1"]
    outputs: Float[Tensor, "e n m"]
    errors: Float[Tensor, "e n m"]
    gradients: Float[Tensor, "e m j"]

    def over_own(self, values: Float[Tensor, "e m k"]) -> Float[Tensor, "m k"]:
        """Return the mean over each member's own environments."""
        return (values * self.own).sum(0) / self.own.sum(0)

    def losses(self) -> Float[Tensor, "e m 1"]:
        """Return the environments' mean losses."""
        z, y = self.outputs, self.board.y
        each = (z - y).square() if self.board.regression else softplus(z) - y * z
        return each.mean(1)[..., None]


def see(board: Board, weights: Float[Tensor, "m j"], own: Bool[Tensor, "e m 1"]) -> Seen:
    """Evaluate all members on all environments."""
    z = board.x @ weights.mT
    errors = 2 * (z - board.y) if board.regression else z.sigmoid() - board.y
    return Seen(board, own, z, errors, errors.mT @ board.x / board.x.shape[1])


class Direction(NamedTuple):
    """Which way the members go: (M, J), and which components were let through, where that is known."""

    gradient: Tensor
    kept: Tensor | None = None


Way = Callable[[Seen], Direction]


def average(seen: Seen) -> Direction:
    """Follow the mean gradient."""
    return Direction(seen.over_own(seen.gradients))


def unanimous(seen: Seen, gradients: Tensor) -> Bool[Tensor, "m j"]:
    """Return where all own environments' gradients have one sign."""
    return (gradients.sign() * seen.own).sum(0).abs() >= seen.own.sum(0)


def and_mask(seen: Seen) -> Direction:
    """Follow the mean gradient where the own environments agree on its sign (thesis section 3.2.3)."""
    kept = unanimous(seen, seen.gradients)
    return Direction(seen.over_own(seen.gradients) * kept, kept)


def published(seen: Seen) -> Direction:
    """Do the same with every environment's gradient of the weights divided by its norm, as the published code does.

    The bias keeps its scale. Their threshold is drawn from [0.8, 1], which with ten environments or fewer asks for all signs.
    """
    weights = seen.gradients[..., :-1].flatten(0, 1)  # a member's environment a row
    divided = normalised({"weight": weights}, by="tensor")["weight"].view_as(seen.gradients[..., :-1])
    return and_mask(seen._replace(gradients=torch.cat([divided, seen.gradients[..., -1:]], -1)))


def geometric(seen: Seen) -> Direction:
    """Follow the geometric mean where the own environments agree on the sign, as `GeometricMean` (thesis section 3.2.2)."""
    kept = unanimous(seen, seen.gradients)
    size = seen.over_own(seen.gradients.abs().clamp(min=torch.finfo(seen.gradients.dtype).tiny).log()).exp()
    return Direction(torch.where(kept, size * seen.over_own(seen.gradients).sign(), 0.0), kept)


def qualitative(seen: Seen) -> Direction:
    """Mask what the own environments are established to pull in opposite directions, at level 0.2."""
    up, down = _summed(seen, sides)
    kept = up.minimum(down) <= _bounds(qualitative_critical, 0.2, seen)
    return Direction(seen.over_own(seen.gradients) * kept, kept)


def homogeneous(seen: Seen) -> Direction:
    """Mask what the own environments are established to differ in, by Cochran's Q at level 0.05."""
    precision, weighted, square = _summed(seen, precisions)
    explained = torch.where(precision > 0, weighted.square() / precision, 0)
    kept = (square - explained).clamp(min=0) <= _bounds(homogeneous_critical, 0.05, seen)
    return Direction(seen.over_own(seen.gradients) * kept, kept)


def _freedom(seen: Seen) -> float:
    return float(seen.errors.shape[1] - 1)


def _summed(seen: Seen, evidence: Evidence) -> list[Float[Tensor, "m j"]]:
    """Add up what own environments' gradients and standard errors say; these come from the spread of examples' gradients."""
    squares = seen.errors.square().mT @ seen.board.x.square() / seen.errors.shape[1]
    variances = (squares - seen.gradients.square()).clamp(min=0) / _freedom(seen)
    found = (evidence(*moments, _freedom(seen)) for moments in zip(seen.gradients, variances, strict=True))
    return [(torch.stack(part) * seen.own).sum(0) for part in zip(*found, strict=True)]


def _bounds(critical: Callable[[int, float], float], level: float, seen: Seen) -> Float[Tensor, "m 1"]:
    counts: list[int] = seen.own.sum(0)[:, 0].tolist()
    return torch.tensor([critical(count, level) for count in counts], dtype=torch.float64)[:, None]


Penalty = Callable[[Seen], Float[Tensor, "m 1"]]


def irm(seen: Seen) -> Float[Tensor, "m 1"]:
    """Return mean_e (d L_e(w f) / dw at w = 1)^2 (Arjovsky et al. 2019, equation IRMv1)."""
    return seen.over_own((seen.errors * seen.outputs).mean(1)[..., None].square())


def iga(seen: Seen) -> Float[Tensor, "m 1"]:
    """Return mean_e ||g_e - mean_e g_e||^2 (Koyama and Yamaguchi 2020)."""
    apart = seen.gradients - seen.over_own(seen.gradients)
    return seen.over_own(apart.square().sum(-1, keepdim=True))


def vrex(seen: Seen) -> Float[Tensor, "m 1"]:
    """Return mean_e (L_e - mean_e L_e)^2 (Krueger et al. 2021)."""
    losses = seen.losses()
    return seen.over_own((losses - seen.over_own(losses)).square())


def fishr(seen: Seen) -> Float[Tensor, "m 1"]:
    """Return mean_e ||v_e - mean_e v_e||^2, v_e the variance of examples' gradients (Rame et al. 2022)."""
    squares = seen.errors.square().mT @ seen.board.x.square() / seen.errors.shape[1]
    variances = squares - seen.gradients.square()
    return seen.over_own((variances - seen.over_own(variances)).square().sum(-1, keepdim=True))
