"""Parameters as a dictionary of tensors by name, as `torch.func.functional_call` takes them, and the few operations on them."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from mechlearn.scaling import widened

Params = dict[str, Tensor]
"""Tensors by parameter name."""


def parameters_of(module: nn.Module) -> Params:
    """Return a module's trainable parameters, detached: the module's own memory, and no graph."""
    return {name: parameter.detach() for name, parameter in module.named_parameters() if parameter.requires_grad}


def constants_of(module: nn.Module) -> Params:
    """Return what a forward pass reads beside the trainable parameters: frozen parameters, and copies of all buffers.

    Buffers are copied because a forward pass may write to them (BatchNorm's running averages).
    """
    frozen = {name: parameter.detach() for name, parameter in module.named_parameters() if not parameter.requires_grad}
    return frozen | {name: buffer.detach().clone() for name, buffer in module.named_buffers()}


def map_params(function: Callable[..., Tensor], *params: Params) -> Params:
    """Apply a function to the tensors of each name."""
    first, *others = params
    return {name: function(tensor, *(other[name] for other in others)) for name, tensor in first.items()}


def add_scaled(params: Params, factor: float | Tensor, others: Params) -> Params:
    """Return params + factor * others."""
    return {name: tensor + factor * others[name] for name, tensor in params.items()}


def leaves(params: Params) -> Params:
    """Return the same values as new leaves of the graph, which require a gradient."""
    return {name: tensor.detach().requires_grad_() for name, tensor in params.items()}


def zeros_like(params: Params) -> Params:
    """Return zeros of the same shapes."""
    return map_params(torch.zeros_like, params)


def dot(first: Params, second: Params) -> Tensor:
    """Return the inner product of two sets of parameters, a scalar, of half types in float32: in theirs it would overflow."""
    return torch.stack([(widened(tensor) * widened(second[name])).sum() for name, tensor in first.items()]).sum()


def count_bytes(tensors: Iterable[Tensor]) -> int:
    """Return how many bytes the tensors' elements take."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
