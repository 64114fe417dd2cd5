"""Fishr: the same variance of gradients in every environment (Rame et al. 2022, https://arxiv.org/abs/2109.02934)."""

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_floats
from mechlearn.environments import EnvironmentIds, check_differentiable, group


def fishr_penalty(
    losses: Float[Tensor, "..."], environments: EnvironmentIds, features: Float[Tensor, "b i"], logits: Float[Tensor, "b o"]
) -> Float[Tensor, ""]:
    """Return mean_e ||v_e - mean_e v_e||^2, where v_e is the variance of the classifier's gradients within environment e.

    The classifier is a linear layer, logits = W features + bias, whose per-example gradients are delta a^T and delta; their
    squares' means are one product, so none of them is stored. As in the paper v_e is over the classifier alone and centred;
    DomainBed takes the mean over components where the paper has the norm, and smooths v_e over steps, which is not offered.

    Args:
        losses: (B,) unreduced, computed from the logits.
        environments: B ids, the environment of each example: integers, texts or anything hashable.
        features: what the last linear layer was given.
        logits: what it returned, with its graph.

    Raises:
        TypeError: if ids cannot be hashed, or features or logits are not floats.
        ValueError: if losses are reduced or not computed from the logits, ids, features or logits do not fit the losses, or
            there are fewer than two environments.
    """
    groups = group(losses, environments, least=2)
    check_floats("logits", logits, len(losses), "O")
    check_floats("features", features, len(losses), "I", like=logits)
    check_differentiable(losses)
    found = torch.autograd.grad(losses.sum(), logits, create_graph=True, allow_unused=True) if logits.requires_grad else (None,)
    (delta,) = found
    if delta is None:
        raise ValueError(
            "`losses` should be computed from `logits`. Found no graph between them. Pass what the layer returned."
        )
    # A bias is a weight of a feature that is always 1.
    features = torch.cat([features, torch.ones_like(features[:, :1])], dim=1)
    variances: list[Tensor] = []
    for e, size in enumerate(groups.sizes):
        d, a = delta[groups.index == e], features[groups.index == e]
        variances.append(d.square().T @ a.square() / size - (d.T @ a / size).square())
    v = torch.stack(variances).flatten(1)
    return (v - v.mean(0)).square().sum(1).mean()
