"""Model-based active exploration: plan to where an ensemble of models disagrees (Shyam, Jaskowski and Gomez 2019).

U(s, a) is how much the members' predictions of the next state diverge: for finite states Jensen and Shannon's divergence
H(mean_i P_i) - mean_i H(P_i), which is the mutual information of the member and the next state; for Gaussian members with the
Renyi entropy of order 2 in Shannon's place, in closed form:

JRD = -ln[(1 / E^2) sum_ij N(mu_i; mu_j, S_i + S_j)] - (1 / E) sum_i (1/2) ln((4 pi)^d |S_i|).

Noise that all members predict alike is worth nothing, unlike under a bonus for prediction errors. Exploring is then planning
in the model with U as the reward. Index conventions: e a member of E, b of a batch, s and t states, d numbers of a Gaussian.

Not for: a single model, or members that are copies of each other (no disagreement, no exploration). What they disagree about
where they have seen nothing is the prior's doing: members drawn from a posterior still disagree after a deterministic
transition has been seen once.

>>> told, noisy = torch.eye(2), torch.full((2, 2), 0.5)  # two members, certain of different states; two that expect noise
>>> jensen_shannon(told).item() > 0.69, jensen_shannon(noisy).item() == 0
(True, True)
"""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.special import entr

from mechlearn.arguments import check_all_finite, check_numbers, check_one_of, check_shape, check_whole
from mechlearn_zoo.finite import ROUNDING, FiniteMDP
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "MAX", 2019, "Shyam, Jaskowski and Gomez", "https://arxiv.org/abs/1810.12162",
    "E models; E (E - 1) / 2 pairs a prediction; a plan for every replanning",
)  # fmt: skip

Divergence = Literal["renyi", "moments"]
"""Renyi's of order 2, which is no divergence where members' widths differ (it can be negative); or Shannon's entropy of the
Gaussian with the mixture's moments less the mean of the members': an upper bound on Jensen and Shannon's, never negative."""

_COLUMNS = 256
"""Predictions in a block: two buffers for 32 members of 18 numbers are about 1 MiB, a second cache."""


def jensen_shannon(probabilities: Float[Tensor, "..."]) -> Float[Tensor, "*b"]:
    """Return H(mean_e P_e) - mean_e H(P_e), nats: between 0 (all alike) and ln E (all certain, of different states).

    Args:
        probabilities: (E, *b, S), rows that sum to 1; with gradients, if wanted. Rows of half types are divided by their sums
            in float32.

    Raises:
        TypeError: no tensor.
        ValueError: fewer than two members, negative probabilities, or rows that do not sum to 1.
    """
    _check_members("probabilities", probabilities)
    half, off = probabilities.dtype in (torch.float16, torch.bfloat16), max(1e-4, ROUNDING.get(probabilities.dtype, 0.0))
    probabilities = probabilities.to(torch.promote_types(probabilities.dtype, torch.float32))
    sums = probabilities.detach().sum(-1)
    if not bool((probabilities >= 0).all()) or not bool(((sums - 1).abs() <= off).all()):
        raise ValueError(
            "`probabilities` should have rows that sum to 1. "
            f"Found sums from {float(sums.min()):.4g} to {float(sums.max()):.4g}, least {float(probabilities.min()):.3g}. "
            "Take the softmax of logits."
        )
    if half:
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return _entropy(probabilities.mean(0)) - _entropy(probabilities).mean(0)


def _entropy(probabilities: Tensor) -> Tensor:
    """H over the last axis; 0 log 0 = 0, and so is its gradient, which a softmax would turn into NaN."""
    some = probabilities > 0
    return torch.where(some, entr(torch.where(some, probabilities, 1)), 0).sum(-1)


def jensen_renyi(
    means: Float[Tensor, "..."], variances: Float[Tensor, "..."], *, kind: Divergence = "renyi"
) -> Float[Tensor, "*b"]:
    """Return how far Gaussian predictions with diagonal covariances are apart, nats; 0 where all members are equal.

    Predictions are taken in blocks that stay in the cache, pairs once for both orders; memory beyond the input is a block's.
    It is a reward: no gradient flows. It is computed in the wider of both types, float32 at least.

    Args:
        means: (E, *b, d).
        variances: of the same shape, positive.
        kind: see `Divergence`.

    Raises:
        TypeError: no tensors.
        ValueError: fewer than two members, shapes that differ, means that are not finite, or variances that are not positive
            and finite.
    """
    _check_members("means", means)
    check_numbers("variances", variances)
    check_one_of("kind", kind, ("renyi", "moments"))
    if variances.shape != means.shape:
        raise ValueError(
            f"`variances` should have the shape of `means`. Found {tuple(variances.shape)} and {tuple(means.shape)}."
        )
    wide = torch.promote_types(torch.promote_types(means.dtype, variances.dtype), torch.float32)
    means, variances = means.detach().to(wide), variances.detach().to(wide)
    if means.numel() == 0:
        return means.new_zeros(means.shape[1:-1])
    check_all_finite("means", means, way_out="A model that diverged gives such: lower its learning rate.")
    low, high = variances.aminmax()
    if not 0 < float(low) <= float(high) < math.inf:
        raise ValueError(f"`variances` should be positive and finite. Found {float(low):.3g} to {float(high):.3g}.")
    members, d = means.shape[0], means.shape[-1]
    parts = [values.reshape(members, -1, d).split(_COLUMNS, 1) for values in (means, variances)]
    found = [
        (_moments if kind == "moments" else _renyi)(*(part.transpose(1, 2).contiguous() for part in block))  # (E, d, C)
        for block in zip(*parts, strict=True)
    ]
    return torch.cat(found).view(means.shape[1:-1])


def plan(model: FiniteMDP, utility: Float[Tensor, "*b S A"], horizon: int) -> Int[Tensor, "h *b S"]:
    """Return the best action in each state with h = 1 .. horizon steps to go: value iteration on utility in a model.

    Args:
        model: transitions as one believes them, a drawn member's or the mean's; its own rewards count nothing.
        utility: (*b, S, A) reward of exploring.
        horizon: steps to go.

    Raises:
        TypeError: no tensor, no whole number.
        ValueError: utility of other states or actions than the model's, a horizon below 1.
    """
    check_whole("horizon", horizon, 1)
    states, actions = model.transitions.shape[-3:-1]
    check_shape("utility", utility, "...", states, actions, way_out="One for each state and action of the model.")
    values, chosen = torch.zeros_like(utility[..., 0], dtype=torch.float64), list[Tensor]()
    for _ in range(horizon):
        ahead = torch.einsum("...sat,...t->...sa", model.transitions, values)
        best = (utility.double() + model.discount * ahead).max(-1)
        values = best.values
        chosen.append(best.indices)
    return torch.stack(chosen)


def _renyi(means: Tensor, variances: Tensor) -> Tensor:
    """-ln of the mean of all pairs' overlaps; a member with itself gives N(mu; mu, 2 S) = ((4 pi)^d |S|)^(-1/2)."""
    logs = variances.log()
    if not _narrow(variances):  # JRD does not change when a coordinate is scaled
        scale = logs.mean(0)
        variances, means, logs = variances * (-scale).exp(), means * (-0.5 * scale).exp(), logs - scale
    own = -0.5 * (logs.sum(1) + means.shape[1] * math.log(4 * math.pi))  # (E, C)
    # Every pair of two stands for both orders.
    overlaps = torch.cat([own, _overlaps(means, variances).add_(math.log(2))])
    return 2 * math.log(len(means)) - overlaps.logsumexp(0) + own.mean(0)


def _overlaps(means: Tensor, variances: Tensor) -> Tensor:
    """Return ln N(mu_i; mu_j, S_i + S_j) of all pairs i < j of a block (E, d, C): (E (E - 1) / 2, C)."""
    apart, widths = torch.empty_like(means[1:]), torch.empty_like(means[1:])
    constant, place, together = means.shape[1] * math.log(2 * math.pi), 0, _factors(variances)
    out = means.new_empty(len(means) * (len(means) - 1) // 2, means.shape[-1])
    for i in range(len(means) - 1):
        rest = len(means) - 1 - i
        gap = torch.sub(means[i + 1 :], means[i], out=apart[:rest])
        width = torch.add(variances[i + 1 :], variances[i], out=widths[:rest])
        total = gap.mul_(gap).div_(width).sum(1)
        for part in width.split(together, 1):
            total += part.prod(1).log_()
        torch.mul(total.add_(constant), -0.5, out=out[place : place + rest])
        place += rest
    return out


def _narrow(variances: Tensor) -> bool:
    """Whether products of several widths stay far from float32's ends."""
    low, high = variances.aminmax()
    return bool(high < 1e4) and bool(low > 1e-4)


def _factors(variances: Tensor) -> int:
    """How many sums of two variances can be multiplied before a logarithm is taken: within 1e-37 to 1e37 in any case."""
    low, high = (float(end) for end in variances.aminmax())
    return max(1, int(37 / max(abs(math.log10(2 * low)), abs(math.log10(2 * high)), 1e-3)))


def _moments(means: Tensor, variances: Tensor) -> Tensor:
    centred = means - means.mean(0)
    covariance = torch.einsum("edb,efb->bdf", centred, centred) / len(means) + torch.diag_embed(variances.mean(0).T)
    return 0.5 * (torch.linalg.slogdet(covariance).logabsdet - variances.log().sum(1).mean(0))


def _check_members(name: str, values: Tensor) -> None:
    check_numbers(name, values)
    if values.dim() < 2 or len(values) < 2 or values.shape[-1] == 0:
        raise ValueError(
            f"`{name}` should have two members or more in front: (E, ..., numbers). Found {tuple(values.shape)}. "
            "Members disagree, a single model cannot."
        )
