"""Other people's ways to train with sites, for a whole stack at once: IRM, V-REx, Fishr and group DRO.

Each adds a penalty to the mean of the own sites' losses, or weighs them; `mechlearn.penalties` has the same for one
network and cites the texts. A member sees its own sites only. Derivatives of the losses by the outputs are written out, so that
one backward pass serves all members and no second derivatives of the graph are taken.

Index conventions as in `mechlearn.tables.fitting`: m a member of M, i a row of n, e a site of E, k an output of K.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.params import Params
from mechlearn.penalties.groupdro import followed
from mechlearn.tables.fitting import Configuration, Direction, Sites, Way, row_losses, seen_through


class Seen(NamedTuple):
    """A step's rows as the members see them.

    Attributes:
        features: what the last layer is given, (M, n, U).
        outputs: (M, n, K).
        errors: derivatives of the rows' losses by the outputs, (M, n, K), times a row's weight over its site's mean weight.
        losses: of each site, (M, E).
        own: (M, E) 1 where a member trains on a site, else 0.
        sites: the batch.
    """

    features: Tensor
    outputs: Tensor
    errors: Tensor
    losses: Tensor
    own: Tensor
    sites: Sites

    def by_site(self, rows: Float[Tensor, "m n *x"]) -> Float[Tensor, "m e *x"]:
        """Return each site's mean over its rows."""
        return torch.stack([rows[:, some].mean(1) for some in self.sites.slices()], 1)

    def over_own(self, values: Float[Tensor, "m e *x"]) -> Float[Tensor, "m *x"]:
        """Return the mean over each member's own sites."""
        inside = self.own.view(*self.own.shape, *[1] * (values.dim() - 2))
        return (values * inside).sum(1) / inside.sum(1)


def seen(params: Params, sites: Sites, own: Float[Tensor, "m e"]) -> Seen:
    """Evaluate all members on a batch."""
    features, z = seen_through(params, sites.x)
    scale = torch.cat([sites.shares()[some] * (some.stop - some.start) for some in sites.slices()])[:, None]
    error = (z.softmax(-1) - sites.y if sites.task == "classification" else 2 * (z - sites.y)) * scale
    each = row_losses(z, sites.y, sites.task)
    losses = torch.stack([(each * scale[:, 0])[:, some].mean(1) for some in sites.slices()], 1)
    return Seen(features, z, error, losses, own, sites)


Penalty = Callable[[Seen], Float[Tensor, " m"]]


def irm(found: Seen) -> Float[Tensor, " m"]:
    """Return mean_e (d L_e(w f) / dw at w = 1)^2: the derivative by w is the mean of errors times outputs."""
    return found.over_own(found.by_site((found.errors * found.outputs).sum(-1)).square())


def vrex(found: Seen) -> Float[Tensor, " m"]:
    """Return mean_e (L_e - mean_e L_e)^2."""
    return found.over_own((found.losses - found.over_own(found.losses)[:, None]).square())


def fishr(found: Seen) -> Float[Tensor, " m"]:
    """Return mean_e ||v_e - mean_e v_e||^2, v_e the variance of the last layer's gradients within site e."""
    a = torch.cat([found.features, torch.ones_like(found.features[..., :1])], -1)
    variances: list[Tensor] = []
    for some in found.sites.slices():
        d, inputs, n = found.errors[:, some], a[:, some], some.stop - some.start
        variances.append(d.square().mT @ inputs.square() / n - (d.mT @ inputs / n).square())
    v = torch.stack(variances, 1).flatten(2)
    return found.over_own((v - found.over_own(v)[:, None]).square().sum(-1))


def _gradients(totals: Float[Tensor, " m"], params: Params) -> Params:
    # A member's parameters are in its own total alone, so that one pass gives each member's gradient.
    return dict(zip(params, torch.autograd.grad(totals.sum(), list(params.values())), strict=True))


def penalised(penalty: Penalty) -> Way:
    """Return the way to train on the mean of the own sites' losses and a penalty, which `Configuration.strength` weighs."""

    def way(sites: Sites, configurations: Sequence[Configuration], own: Bool[Tensor, "m e"]) -> Direction:
        inside, weights = own.to(sites.x), torch.tensor([c.strength for c in configurations]).to(sites.x)

        def direction(params: Params, batch: Sites) -> Params:
            found = seen(params, batch, inside)
            return _gradients(found.over_own(found.losses) + weights * penalty(found), params)

        return direction

    return way


def group_dro(sites: Sites, configurations: Sequence[Configuration], own: Bool[Tensor, "m e"]) -> Direction:
    """Train on the own sites' losses by weights that follow them, `Configuration.strength` being the step size."""
    inside, steps = own.to(sites.x), torch.tensor([c.strength for c in configurations]).to(sites.x)[:, None]
    weights = inside / inside.sum(1, keepdim=True)  # 0 elsewhere, and stays so: its logarithm is -inf

    def direction(params: Params, batch: Sites) -> Params:
        nonlocal weights
        losses = seen(params, batch, inside).losses
        weights = followed(weights, losses.detach(), steps)
        return _gradients((weights * losses).sum(1), params)

    return direction
