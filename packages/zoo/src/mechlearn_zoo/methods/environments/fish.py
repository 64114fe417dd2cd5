"""Fish: small steps on one environment after another, and a step towards where they end (Shi et al. 2022)."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_positive, check_whole
from mechlearn.params import Params
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper("Fish", 2022, "Shi et al., algorithm 1", "https://arxiv.org/abs/2104.09937", "E passes, one after another")


def fish_gradients(
    loss: Callable[[Params, int], Float[Tensor, ""]],
    parameters: Mapping[str, Tensor],
    environments: int,
    rate: float,
    generator: Generator,
) -> Params:
    """Return (theta - theta~) / (alpha E), to be put into ``.grad``; E inner steps of size alpha lead from theta to theta~.

    Algorithm 1 of https://arxiv.org/abs/2104.09937: in a random order of the environments,
    theta~ <- theta~ - alpha dL_e(theta~) / dtheta~, then theta <- theta + epsilon (theta~ - theta). With plain gradient descent
    at the rate epsilon * alpha * E this is that algorithm; with another optimiser it hands that one the same direction, where
    DomainBed has Adam inside and interpolates outside. To first order in alpha it is the gradient of the mean loss less
    alpha / 2 times that of the sum over pairs of environments' gradient products, divided by E, in the mean over orders: what
    raises those products is preferred.

    Not for environments that agree on a shortcut's direction and differ in its size: their gradients' products are large.
    The result depends on the order, and so on the generator.

    Args:
        loss: from parameters and an environment's number, 0 to E - 1, to its mean loss.
        parameters: theta, by name; they stay as they are.
        environments: E.
        rate: alpha, above 0. As it goes to 0 this becomes averaging.
        generator: of the order, on the CPU.

    Raises:
        TypeError: numbers of another type, no generator.
        ValueError: no environment, a rate that is not positive and finite, a generator of another device.
    """
    check_whole("environments", environments, least=1)
    check_positive("rate", rate, why="the size of the inner steps", way_out="Begin with the learning rate.")
    check_generator("generator", generator, beside=torch.empty(0, device="cpu"))
    inner = {name: value.detach() for name, value in parameters.items()}
    for environment in torch.randperm(environments, generator=generator).tolist():
        leaves = {name: value.requires_grad_() for name, value in _fresh(inner).items()}
        found = torch.autograd.grad(loss(leaves, environment), list(leaves.values()), materialize_grads=True)
        inner = {name: value.detach() - rate * own for (name, value), own in zip(leaves.items(), found, strict=True)}
    return {name: (value.detach() - inner[name]) / (rate * environments) for name, value in parameters.items()}


def _fresh(values: Params) -> Params:
    """Return the same numbers as tensors of their own, so that a caller's are not asked for gradients."""
    return {name: value.clone() for name, value in values.items()}
