"""IRMv1: how far a fixed scaling of the outputs is from optimal in each environment (Arjovsky et al. 2019, section 3.1)."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from mechlearn.arguments import check_callable, check_data, check_floats, check_returned, check_shape, check_tensor
from mechlearn.environments import EnvironmentIds, group

Loss = Callable[[Tensor, Tensor], Tensor]
"""From outputs and targets of B examples to B unreduced losses."""


def irm_penalty(
    outputs: Float[Tensor, "b *outputs"], targets: Shaped[Tensor, "b *targets"], environments: EnvironmentIds, loss: Loss
) -> Float[Tensor, ""]:
    """Return mean_e (d L_e(w f) / dw at w = 1)^2, the penalty of equation IRMv1, to be weighted and added to the mean loss.

    (https://arxiv.org/abs/1907.02893; equation 7 of the paper on explanations that are hard to vary.) The mean over
    environments stands where the texts have their sum, as in DomainBed. The square is of the whole sample's derivative;
    the product over two halves of each environment, which the authors' appendix takes for being unbiased, is not offered.

    Args:
        outputs: f(x), the network's outputs before the loss (logits), with their graph.
        targets: what ``loss`` compares them with.
        environments: B ids, the environment of each example: integers, texts or anything hashable.
        loss: from outputs and targets to (B,) unreduced losses.

    Raises:
        TypeError: if outputs are not floats, targets are not a tensor, the loss is not a function, or ids cannot be hashed.
        ValueError: if the loss reduces, or targets or ids do not fit the outputs.
    """
    check_floats("outputs", outputs, "...", "O")
    check_tensor("targets", targets)
    check_shape("targets", targets, len(outputs), *targets.shape[1:], way_out="One for each example.")
    for name, values in (("outputs", outputs), ("targets", targets)):
        check_data(name, values)
    check_callable("loss", loss, "a function from outputs and targets to one loss for each example")
    # One w for each example's environment: all E derivatives come from one backward pass.
    scale = outputs.new_ones(len(outputs), requires_grad=True)
    losses = loss(outputs * scale.view(-1, *[1] * (outputs.dim() - 1)), targets)
    check_returned("loss", losses, "one unreduced loss for each example", len(outputs))
    groups = group(losses, environments)
    (by_example,) = torch.autograd.grad(losses.sum(), scale, create_graph=True)
    return groups.means(by_example).square().mean()
