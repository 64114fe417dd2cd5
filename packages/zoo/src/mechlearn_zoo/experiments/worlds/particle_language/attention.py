"""Attention as plain functions: dot products, and the two directions between words and regions of an image.

Sources: Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762, equation 1); Xu et al. 2018, AttnGAN
(https://arxiv.org/abs/1711.10485, equations 2 and 7 to 9). Index conventions: words i of T, regions j of R, features d; leading
axes broadcast, so that words (b, 1, T, d) with regions (1, c, R, d) give every pair.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.arguments import check_finite, check_floats, check_mask, check_positive


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

    Raises:
        TypeError: no tensors of floating numbers of one type; a mask that is not of booleans.
        ValueError: shapes that do not fit, no rows. Values are not looked at, as in every layer.
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
    weights = _softmax(scores, mask, -1)
    return Attended(weights @ values, weights)


def word_attention(
    words: Float[Tensor, "..."], regions: Float[Tensor, "..."], sharpness: float = 5.0, mask: Bool[Tensor, "..."] | None = None
) -> Attended:
    """Return what each word sees of an image: contexts c_i, (..., T, d), and alpha, (..., T, R).

    s_ij = e_i . v_j, softmax over the WORDS i (equation 8), then alpha_ij = softmax over regions j of gamma_1 s_ij and
    c_i = sum_j alpha_ij v_j (equation 9).

    Args:
        words: e, (..., T, d).
        regions: v, (..., R, d).
        sharpness: gamma_1, positive; 5 in the paper.
        mask: (..., T) True for words, False for padding; padding changes nothing and gets zeros.

    Raises:
        TypeError: no tensors of floating numbers of one type; a mask that is not of booleans.
        ValueError: shapes that do not fit, no rows, a sharpness that is not positive.
    """
    _check_pair(words, regions, mask)
    check_positive("sharpness", sharpness)
    shares = _softmax(words @ regions.mT, None if mask is None else mask.unsqueeze(-1), -2)
    weights = (sharpness * shares).softmax(-1)
    weights = weights if mask is None else weights.masked_fill(~mask.unsqueeze(-1), 0.0)
    return Attended(weights @ regions, weights)


def region_attention(
    regions: Float[Tensor, "..."], words: Float[Tensor, "..."], mask: Bool[Tensor, "..."] | None = None
) -> Attended:
    """Return what each region hears of a sentence: c_j = sum_i beta_ji e_i, (..., R, d), and beta, (..., R, T).

    beta_ji = softmax over words i of h_j . e_i (AttnGAN's F_attn, equation 2, after U has brought the words to the regions'
    width).

    Args:
        regions: h, (..., R, d).
        words: U e, (..., T, d).
        mask: (..., T) True for words, False for padding, which changes nothing.

    Raises:
        TypeError: no tensors of floating numbers of one type; a mask that is not of booleans.
        ValueError: shapes that do not fit, no rows.
    """
    _check_pair(words, regions, mask)
    return attend(regions, words, words, None if mask is None else mask.unsqueeze(-2), scale=1.0)


def _softmax(scores: Tensor, mask: Tensor | None, dim: int) -> Tensor:
    if mask is None:
        return scores.softmax(dim)
    check_mask("mask", mask, "...")
    _check_together(scores, mask, whole=scores)
    # The least number instead of -inf: where all is masked, softmax of -inf would be NaN, in the gradient, too.
    least = max(-1e30, torch.finfo(scores.dtype).min)
    low = scores.masked_fill(~mask, -math.inf).amax(dim, keepdim=True).clamp(min=least).detach()
    weights = (scores - low).masked_fill(~mask, -math.inf).exp()
    total = weights.sum(dim, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


def _check_together(*tensors: Tensor, whole: Tensor | None = None) -> None:
    """Refuse leading axes that do not broadcast, and those that would make a whole larger."""
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


def _check_pair(words: Tensor, regions: Tensor, mask: Tensor | None) -> None:
    if mask is not None:
        check_mask("mask", mask, "...", "T")
    check_floats("words", words, "...", "rows", "features", way_out="Add an axis.")
    check_floats("regions", regions, "...", "rows", "features", like=words, way_out="Add an axis.")
    if words.shape[-1] != regions.shape[-1]:
        raise ValueError(
            f"Words and regions should have one width, the last axis. Found {words.shape[-1]} and {regions.shape[-1]}. "
            "Bring one to the other's by a linear layer."
        )
    _check_together(words[..., :1, :1], regions[..., :1, :1])
