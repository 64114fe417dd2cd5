"""Group DRO: the worst environment's loss, by weights that follow the losses (Sagawa et al. 2020)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_not_negative, check_numbers, check_result, ends
from mechlearn.environments import EnvironmentIds, group


def group_dro_loss(
    losses: Float[Tensor, "..."], environments: EnvironmentIds, weights: Float[Tensor, " e"], step_size: float = 0.01
) -> tuple[Float[Tensor, ""], Float[Tensor, " e"]]:
    """Return sum_e q_e L_e to be minimised, and q, which the next step takes.

    Algorithm 1 of https://arxiv.org/abs/1911.08731: q_e <- q_e exp(eta L_e), divided by its sum, then a step on the weighted
    loss, in which q is a constant. Begin with equal weights. The paper draws one environment a step; here each step has some
    examples of all, as in DomainBed, whose step size is .01. Its adjustment for sizes (C / sqrt(n_e)) and its strong
    regularisation are left to the caller.

    Not for sites whose labels differ in noise: the noisiest has the largest loss, whatever is learned, and gets all the weight.

    Args:
        losses: (B,) unreduced, with their graph.
        environments: B ids, the environment of each example: integers, texts or anything hashable; every environment in every
            step.
        weights: (E,) at least 0, not all 0; environments in the order of their ids.
        step_size: eta; 0 keeps the weights.

    Raises:
        TypeError: ids that cannot be hashed, weights that are no tensor.
        ValueError: reduced losses, ids that do not fit, another number of weights than of environments, weights that are
            negative, infinite, NaN or all 0, a negative step size; losses, or new weights, that are not finite.
    """
    check_not_negative("step_size", step_size)
    check_numbers("weights", weights)
    means = group(losses, environments).means(losses)
    if weights.shape != means.shape:
        raise ValueError(
            f"`weights` should hold one for each of the {len(means)} environments of the batch. Found shape "
            f"{tuple(weights.shape)}. Begin with equal ones, and draw from all environments in every step."
        )
    _check_weights(weights)
    check_result(means, {"losses": losses}, way_out="Lower the learning rate.")
    updated = followed(weights, means.detach(), step_size)
    check_result(updated, {"losses": losses}, way_out="Lower the step size.")
    return (updated * means).sum(), updated


def _check_weights(weights: Tensor) -> None:
    found = ends(weights)
    if found and not 0 <= found[0] <= found[1] < math.inf:
        raise ValueError(f"`weights` should be finite and at least 0. Found {found[0]} to {found[1]}. Begin with equal ones.")
    if found and not found[1]:
        raise ValueError("`weights` should not all be 0: no environment would count. Found only 0. Begin with equal ones.")


def followed(
    weights: Float[Tensor, "*m e"], means: Float[Tensor, "*m e"], step_size: float | Float[Tensor, "*m 1"]
) -> Float[Tensor, "*m e"]:
    """Return q_e exp(eta L_e) / sum over e, for one set of weights or for many."""
    logs = weights.log() + step_size * means
    return torch.softmax(logs, -1)
