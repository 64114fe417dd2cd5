"""Directions of a layer's inputs in which environments differ, and what each example does at every linear layer.

For a linear layer with inputs a and output gradients d, environment e's weight gradient is g_e = mean_i d_i a_i^T. As quadratic
forms on directions u of the inputs, summed over the layer's units: C_B the scatter of g_e between environments (divided by
E - 1), C_W the mean of their squared standard errors, T = C_B - C_W what they differ by beyond noise, and
S = mean^T mean - C_B / E what they have in common: `mechlearn.agreement.Heterogeneous` for directions in place of components.
"""

import math
from collections.abc import Collection
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

SIGNIFICANCE = 1.64
"""Standard deviations above noise that a direction needs."""


def apart(
    gradients: Float[Tensor, "e o i"], within: Float[Tensor, "i i"], significance: float = SIGNIFICANCE
) -> Float[Tensor, "i k"]:
    """Return orthonormal directions of a linear layer's inputs in which environments differ by more than they have in common.

    Eigenvectors of T - S with a positive eigenvalue, and with u C_B u above (1 + significance sqrt(2 / (E - 1))) u C_W u.

    Args:
        gradients: g_e.
        within: C_W.
        significance: standard deviations above noise that a direction needs.
    """
    count, mean = len(gradients), gradients.mean(0)
    centred = gradients - mean
    between = torch.einsum("eoi,eoj->ij", centred, centred) / (count - 1)
    values, vectors = torch.linalg.eigh(between - within - (mean.T @ mean - between / count))
    across, noise = (torch.einsum("ik,ij,jk->k", vectors, form, vectors) for form in (between, within))
    return vectors[:, (values > 0) & (across > (1 + significance * math.sqrt(2 / (count - 1))) * noise)]


def forward(model: nn.Sequential, x: Tensor, layers: Collection[nn.Module]) -> list[Tensor]:
    """Return the inputs and outputs of some layers in turn, and the logits last."""
    seen: list[Tensor] = []
    for module in model:
        inputs, x = x, cast(Any, module)(x)
        if any(module is layer for layer in layers):
            seen += [inputs, x]
    return [*seen, x[:, 0]]


def backward(loss: Tensor, seen: list[Tensor], environments: int) -> list[tuple[Tensor, Tensor]]:
    """Fill all gradients; return layers' inputs (e, n, i) and single examples' loss gradients at their outputs (e, n, o)."""
    outputs = seen[1::2]
    for output in outputs:
        output.retain_grad()
    loss.backward()
    pairs: list[tuple[Tensor, Tensor]] = []
    for inputs, output in zip(seen[::2], outputs, strict=True):
        deltas = cast("Tensor", output.grad) * len(inputs)  # the loss is a mean: of single examples' losses
        pairs.append((inputs.detach().unflatten(0, (environments, -1)), deltas.unflatten(0, (environments, -1))))
    return pairs
