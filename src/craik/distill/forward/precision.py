"""Inputs of another precision than a module's parameters, explained."""

from collections.abc import Generator
from contextlib import contextmanager

from torch import Tensor, nn


@contextmanager
def precision(what: str, x: Tensor, module: nn.Module) -> Generator[None]:
    """Explain the failure of a forward pass in the block by the type of its inputs, where that is no parameter's.

    Inputs of another type are not refused beforehand, because a module may convert them.

    Raises:
        TypeError: in the place of torch's own error.
    """
    try:
        yield
    except RuntimeError as error:
        known = {parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()}
        if not x.is_floating_point() or x.dtype in known:
            raise
        raise TypeError(
            f"The {what}'s inputs should have the floating-point type of its parameters, or be converted by it. Found "
            f"{x.dtype} beside {', '.join(sorted(map(str, known)))}. Convert one of the two with .to()."
        ) from error
