"""What a forward pass has written into, seen by torch's own count of writes (`Tensor._version`), for a comparison."""

from typing import Any

import torch
from torch import Tensor

from mechlearn.distill.examples.inputs import Inputs, tensors

_functorch: Any = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]  # compiled, without stubs


def writes(tensor: Tensor) -> int:
    """Return how often memory was written to; of a tensor within `torch.func.vmap`, the memory behind it."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return 0 if tensor.is_inference() else tensor._version


def all_writes(inputs: Inputs) -> list[int]:
    """Return `writes` of all tensors of inputs."""
    return [writes(tensor) for tensor in tensors(inputs)]


@torch.no_grad()
def put_back(inputs: Inputs, values: Inputs) -> None:
    """Write values into inputs of the same build."""
    for tensor, value in zip(tensors(inputs), tensors(values), strict=True):
        tensor.copy_(value)
