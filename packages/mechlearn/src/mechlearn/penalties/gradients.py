"""Environment gradients side by side, for methods that compare whole gradients: E backward passes, E x P numbers."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.environments import Environments


def environment_gradients(
    losses: Float[Tensor, " b"], groups: Environments, parameters: Sequence[Tensor], *, create_graph: bool
) -> Float[Tensor, "e p"]:
    """Return every environment's gradient of its mean loss over all parameters, flat: E backward passes.

    A parameter that an environment's loss does not reach has gradient 0 there.
    """
    rows: list[Tensor] = []
    for mean in groups.means(losses):
        found = torch.autograd.grad(mean, parameters, retain_graph=True, create_graph=create_graph, materialize_grads=True)
        rows.append(torch.cat([gradient.flatten() for gradient in found]))
    return torch.stack(rows)
