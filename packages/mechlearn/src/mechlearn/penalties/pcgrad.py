"""PCGrad: gradients that conflict are projected onto each other's normal plane (Yu et al. 2020)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_data, check_each, check_floats, check_generator
from mechlearn.environments import EnvironmentIds, group
from mechlearn.penalties.gradients import environment_gradients
from mechlearn.scaling import row_powers


def pcgrad(gradients: Float[Tensor, "..."], generator: Generator) -> Float[Tensor, " p"]:
    """Return the sum of the projected gradients: algorithm 1 of https://arxiv.org/abs/2001.06782.

    Each gradient goes through the others in a random order; wherever its product with one is negative, what it has along that
    one is removed. The result depends on the order, and so on the generator, from three environments on. Counting
    environments twice changes it too. Divide by E to compare learning rates with averaging.

    Args:
        gradients: (E, P), one environment's gradient a row.
        generator: of the orders, on the CPU.

    Raises:
        TypeError: if gradients are not floats, or there is no generator.
        ValueError: if gradients are not a matrix or have no rows or columns, or the generator is on another device.
    """
    check_floats("gradients", gradients, "E", "P", way_out="Put one environment's gradient in each row.")
    check_data("gradients", gradients)
    # Rows over powers of two, which round nothing: whatever their lengths, products of two are within float32.
    rows = gradients.to(torch.promote_types(gradients.dtype, torch.float32))
    powers = row_powers(rows)
    rows = rows / powers
    # All vectors stay combinations of the rows, so that products of rows are all that the algorithm needs.
    gram = (rows @ rows.T).to("cpu", torch.float64)
    count = len(rows)
    weights = torch.eye(count, dtype=torch.float64)
    check_generator("generator", generator, beside=weights)
    for i in range(count):
        for j in torch.randperm(count, generator=generator).tolist():
            product = weights[i] @ gram[j]
            if j != i and product < 0:
                weights[i, j] -= product / gram[j, j]
    return ((powers.to(weights) * weights).sum(0).to(rows) @ rows).to(gradients.dtype)


def pcgrad_gradients(
    losses: Float[Tensor, "..."], environments: EnvironmentIds, parameters: Sequence[Tensor], generator: Generator
) -> list[Tensor]:
    """Return PCGrad's gradient for each parameter, to be put into ``.grad``: E backward passes, E stacked gradients.

    Source: `pcgrad`, algorithm 1 of https://arxiv.org/abs/2001.06782, on all parameters as one vector.

    Args:
        losses: (B,) unreduced, with their graph, which is kept.
        environments: B ids, the environment of each example: integers, texts or anything hashable.
        parameters: what to differentiate with respect to.
        generator: of the orders, on the CPU.

    Raises:
        TypeError: if ids cannot be hashed, parameters are not a list of tensors, or there is no generator.
        ValueError: reduced losses, ids that do not fit, a generator of another device.
    """
    check_each("parameters", parameters, Tensor, "tensors", way_out="Pass list(model.parameters()).")
    flat = pcgrad(environment_gradients(losses, group(losses, environments), parameters, create_graph=False), generator)
    pieces = flat.split([parameter.numel() for parameter in parameters])
    return [piece.view(parameter.shape) for piece, parameter in zip(pieces, parameters, strict=True)]
