"""Environment gradients of norm 1: what environments agree on, whatever the scale of their losses.

An environment whose loss is a thousand times larger has a gradient a thousand times longer, and the mean that a mask lets
through is then its gradient. Signs do not see that. Divided by its norm each environment weighs the same.
"""

from collections.abc import Collection, Mapping
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_one_of

By = Literal["tensor", "model"]


def norms(gradients: Mapping[str, Float[Tensor, "e *p"]], by: By) -> dict[str, Float[Tensor, " e"]]:
    """Return what each environment's gradient of each parameter is to be divided by; 1 where it is all zeros.

    Args:
        gradients: by parameter name, one environment's gradient a row.
        by: "tensor" takes the Euclidean norm of the parameter's own gradient, "model" that over all parameters.

    Returns:
        (E,) for each parameter, in float64; with "model" the same for all.
    """
    check_one_of("by", by, ("tensor", "model"))
    found = {name: lengths(gradient) for name, gradient in gradients.items()}
    if by == "tensor":
        return {name: or_one(own) for name, own in found.items()}
    return dict.fromkeys(found, or_one(lengths(torch.stack(list(found.values()), dim=1))))


def lengths(gradients: Float[Tensor, "e *p"]) -> Float[Tensor, " e"]:
    """Return the Euclidean norm of each row, in float64."""
    rows = gradients.detach().unsqueeze(-1).flatten(1)
    if rows.dtype != torch.float64:  # whose numbers have squares in float64, taken while they are read
        return torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64)
    # Over its largest component, so that no square leaves the range of its type.
    largest = rows.abs().amax(1) if rows.shape[1] else rows.new_zeros(len(rows))
    return (rows / or_one(largest)[:, None]).norm(dim=1) * largest


def or_one(norms: Float[Tensor, " e"]) -> Float[Tensor, " e"]:
    """Return what to divide by: a gradient that is all zeros stays so."""
    return norms.where(norms > 0, 1.0)


def normalised(
    gradients: Mapping[str, Float[Tensor, "e *p"]], by: By, *, only: Collection[str] | None = None
) -> dict[str, Float[Tensor, "e *p"]]:
    """Divide each environment's gradient by its norm; one that is all zeros stays so.

    Signs stay what they are, so an AND-mask is the same, and what it lets through is another mean. The published code of the
    linear unit tests for invariance discovery (Aubin et al. 2021, [arXiv:2102.10867](https://arxiv.org/abs/2102.10867)) does
    this before its AND-mask with ``by="tensor"`` and ``only`` the weight: its bias keeps its scale.

    Args:
        gradients: by parameter name, one environment's gradient a row; they do not change.
        by: "tensor" divides each parameter's gradient by its own norm, "model" all by their common one, which keeps the
            direction of an environment's gradient.
        only: the parameters to divide; None for all. The others count for no norm.
    """
    check_one_of("by", by, ("tensor", "model"))
    chosen = set(gradients) if only is None else set(only)
    unknown = sorted(chosen - set(gradients))
    if unknown or not chosen:
        raise ValueError(
            f"`only` should name parameters out of {sorted(gradients)}. Found {unknown or 'none'}. Leave it out to divide all."
        )
    counts = {len(gradient) for gradient in gradients.values()}
    if len(counts) > 1:
        raise ValueError(
            f"`gradients` should have one row for each environment, the same for all parameters. Found {sorted(counts)} rows. "
            "Give an environment that does not reach a parameter a row of zeros there."
        )
    divisors = norms({name: gradients[name] for name in gradients if name in chosen}, by)
    return {name: _divided(gradient, divisors.get(name)) for name, gradient in gradients.items()}


def _divided(gradient: Tensor, divisors: Tensor | None) -> Tensor:
    if divisors is None:
        return gradient
    # In float64, as a norm may be larger than what its components' type holds.
    return (gradient.double() / divisors.view(-1, *[1] * (gradient.dim() - 1))).to(gradient.dtype)
