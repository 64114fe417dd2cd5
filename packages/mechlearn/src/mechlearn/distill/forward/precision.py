"""Inputs of another precision than a module's parameters, explained."""

from collections.abc import Generator
from contextlib import contextmanager

from torch import nn

from mechlearn.distill.examples.inputs import Inputs, tensors


@contextmanager
def precision(what: str, x: Inputs, module: nn.Module) -> Generator[None]:
    """Explain the failure of a forward pass in the block by the type of its inputs, where that is no parameter's.

    Inputs of another type are not refused beforehand, because a module may convert them.
    """
    try:
        yield
    except (RuntimeError, TypeError) as error:
        known = {parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()}
        other = next((t.dtype for t in tensors(x) if t.is_floating_point() and t.dtype not in known), None)
        if other is None:
            raise
        raise TypeError(
            f"The {what}'s inputs should have the floating-point type of its parameters, or be converted by it. Found "
            f"{other} beside {', '.join(sorted(map(str, known)))}. Convert one of the two with .to()."
        ) from error
