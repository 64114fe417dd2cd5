"""Attention by dot products as a plain function (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, equation 1)."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.arguments import check_finite, check_floats, check_mask


class Attended(NamedTuple):
    """What came out, (..., q, d), and the weights it was averaged by, (..., q, k): rows sum to 1."""

    context: Float[Tensor, "..."]
    weights: Float[Tensor, "..."]


def attend(
    queries: Float[Tensor, "..."],
    keys: Float[Tensor, "..."],
    values: Float[Tensor, "..."],
    mask: Bool[Tensor, "..."] | None = None,
    scale: float | None = None,
) -> Attended:
    """Return softmax(queries keys^T * scale) values, with its weights.

    Where the weights are not wanted, `torch.nn.functional.scaled_dot_product_attention` is the faster one.

    Args:
        queries: (..., q, d).
        keys: (..., k, d).
        values: (..., k, dv).
        mask: True for keys that may be attended to, broadcast against (..., q, k). A query for which none may gets zeros.
        scale: of the products; None for 1 / sqrt(d).
    """
    for name, tensor in (("queries", queries), ("keys", keys), ("values", values)):
        check_floats(name, tensor, "...", "rows", "features", like=queries, way_out="Add an axis.")
    if scale is not None:
        check_finite("scale", scale)
    if queries.shape[-1] != keys.shape[-1] or keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            "Queries and keys should have the same last axis, keys and values the same number of rows. Found "
            f"{tuple(queries.shape)}, {tuple(keys.shape)}, {tuple(values.shape)}. Check which axis is which."
        )
    _check_together(queries[..., :1, :1], keys[..., :1, :1], values[..., :1, :1])
    scores = queries @ keys.mT * (1 / math.sqrt(queries.shape[-1]) if scale is None else scale)
    weights = _softmax(scores, mask)
    return Attended(weights @ values, weights)


def _softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    check_mask("mask", mask, "...")
    _check_together(scores, mask, whole=scores)
    # The least number instead of -inf: where all is masked, softmax of -inf would be NaN, in the gradient, too.
    least = max(-1e30, torch.finfo(scores.dtype).min)
    low = scores.masked_fill(~mask, -math.inf).amax(-1, keepdim=True).clamp(min=least).detach()
    weights = (scores - low).masked_fill(~mask, -math.inf).exp()
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


def _check_together(*tensors: Tensor, whole: Tensor | None = None) -> None:
    """Reject leading axes that do not broadcast, and those that would make a whole larger."""
    shapes = [tuple(tensor.shape) for tensor in tensors]
    try:
        found = torch.broadcast_shapes(*shapes)
    except RuntimeError:
        found = None
    if found is None or (whole is not None and found != whole.shape):
        raise ValueError(
            f"Leading axes should broadcast, a mask's to the scores'. Found {', '.join(map(str, shapes))}. Check which axis is "
            "which."
        )
