"""An auxiliary loss gated by the cosine of its gradient with the main loss's (Du et al. 2018)."""

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_one_of, check_tensor
from mechlearn.scaling import power_of_two
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Gradient-gated auxiliary loss",
    2018,
    "Du et al., section 3, weighted and unweighted",
    "https://arxiv.org/abs/1812.02224",
    "two backward passes through what is shared",
)


class Gated(NamedTuple):
    """A loss to be descended, and how its gate stood.

    Attributes:
        loss: whose gradient by the shared parameters is g_main + w g_aux, and by all others that of main + auxiliary.
        cosine: of g_main and g_aux over all shared parameters; 0 where one of them is 0.
        weight: w, the gate.
    """

    loss: Float[Tensor, ""]
    cosine: float
    weight: float


def gated_loss(
    main: Float[Tensor, ""],
    auxiliary: Float[Tensor, ""],
    shared: Iterable[Tensor],
    gate: Literal["weighted", "unweighted"] = "weighted",
) -> Gated:
    """Return main + auxiliary with the auxiliary gradient gated where the two tasks share parameters.

    Weighted, w = max(0, cos(g_main, g_aux)); unweighted, w = 1 where the cosine is at least 0, else 0. Heads of their own get
    the whole of their gradients, so that a closed gate does not stop the auxiliary head from learning. Under gradient descent
    the shared parameters go to critical points of the main loss (the text's proposition 1); with an optimiser that normalises,
    such as Adam, that argument is lost. Not for gradients of few examples: the cosine of noise is about 0, and the auxiliary
    loss hardly counts.

    Args:
        main: the mean label loss, with its graph.
        auxiliary: the mean auxiliary loss, with its graph.
        shared: the parameters that both depend on.
        gate: "weighted" or "unweighted".

    Raises:
        TypeError: what are no tensors.
        ValueError: losses that are no scalars, another gate, nothing shared, a loss that depends on nothing shared, gradients
            that are not finite.
    """
    check_one_of("gate", gate, ("weighted", "unweighted"))
    parameters = [parameter for parameter in shared if parameter.requires_grad]
    if not parameters:
        raise ValueError("`shared` should hold parameters that require a gradient. Found none. Give those before both heads.")
    rows: list[tuple[Tensor, ...]] = []
    for name, loss in (("main", main), ("auxiliary", auxiliary)):
        check_tensor(name, loss)
        if loss.dim() != 0:
            raise ValueError(f"`{name}` should be a mean loss, a scalar. Found shape {tuple(loss.shape)}. Average it.")
        rows.append(_gradients(name, loss, parameters))
    cosine = _cosine(*rows)
    if not math.isfinite(cosine):
        raise ValueError(
            "The gradients of `main` and `auxiliary` by what is shared should be finite. Found NaN or infinity, which has no "
            "direction. Lower the learning rate."
        )
    weight = max(0.0, cosine) if gate == "weighted" else float(cosine >= 0)
    # Worth 0, with the gradient (w - 1) g_aux by what is shared.
    turned = torch.stack([(g * (p - p.detach())).sum() for g, p in zip(rows[1], parameters, strict=True)]).sum()
    return Gated(main + auxiliary + (weight - 1) * turned, cosine, weight)


def _gradients(name: str, loss: Tensor, parameters: list[Tensor]) -> tuple[Tensor, ...]:
    found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True) if loss.requires_grad else [None]
    if all(gradient is None for gradient in found):
        raise ValueError(
            f"`{name}` should depend on the shared parameters. Found that it depends on none. Look for detach(), or leave out "
            "what only one of the two reads."
        )
    return tuple(torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True))


def _cosine(some: tuple[Tensor, ...], others: tuple[Tensor, ...]) -> float:
    one, other = _in_range(some), _in_range(others)
    dot = torch.stack([(a * b).sum() for a, b in zip(one, other, strict=True)]).sum()
    norms = [torch.stack([g.square().sum() for g in gradients]).sum().sqrt() for gradients in (one, other)]
    product = norms[0] * norms[1]
    return 0.0 if float(product) == 0 else float(dot / product)


def _in_range(gradients: tuple[Tensor, ...]) -> list[Tensor]:
    """Return them in float32 at least and over the power of two at or below their largest entry, which rounds nothing."""
    wide = [g.to(torch.promote_types(g.dtype, torch.float32)) for g in gradients]
    largest = torch.stack([g.abs().max() for g in wide if g.numel()] or [torch.zeros(())]).max()
    return [g / power_of_two(largest) for g in wide]
