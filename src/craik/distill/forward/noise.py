"""Random numbers in a forward pass, which an unroll and its backward pass would draw differently, are refused."""

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

_RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)  # pyright: ignore[reportPrivateUsage]  # all dropouts
_WITH_DROPOUT = (nn.RNNBase, nn.MultiheadAttention)

_Source = tuple[Callable[[], Tensor], Callable[[Tensor], object]]
"""How to read and how to set a random generator's state."""


@contextmanager
def no_draws(what: str, module: nn.Module) -> Generator[None]:
    """Refuse forward passes in the block that move a random generator; all generators are put back.

    The generators are torch's global ones, of the CPU and of the module's CUDA devices, and those that are attributes of its
    layers. `check_repeats` finds what comes from elsewhere.

    Args:
        what: "student" or "teacher".
        module: what runs in the block.

    Raises:
        ValueError: a generator was moved.
    """
    sources = _sources(module)
    before = [read() for read, _ in sources]
    moved = False
    try:
        yield
    finally:
        for (read, write), state in zip(sources, before, strict=True):
            if not torch.equal(read(), state):
                moved = True
                write(state)
    if moved:
        raise _drawn(what, "it moved a random generator")


def _sources(module: nn.Module) -> list[_Source]:
    sources: list[_Source] = [(torch.get_rng_state, torch.set_rng_state)]
    for device in {parameter.device for parameter in module.parameters() if parameter.is_cuda}:
        sources.append((partial(torch.cuda.get_rng_state, device), partial(torch.cuda.set_rng_state, device=device)))
    for layer in module.modules():
        own = [value for value in vars(layer).values() if isinstance(value, torch.Generator)]
        sources += [(generator.get_state, generator.set_state) for generator in own]
    return sources


def check_repeats(what: str, found: Sequence[Tensor], again: Callable[[], Sequence[Tensor]]) -> None:
    """Refuse a forward pass that gives other results when it is run again, beyond rounding.

    Args:
        what: "student" or "teacher".
        found: what a pass gave.
        again: the same pass once more.

    Raises:
        ValueError: the results differ.
    """
    second = again()
    # Among other batches the first may have been rounded otherwise, or normalised with all of them: then like with like.
    if not _close(found, second) and not _close(second, again()):
        raise _drawn(what, "two passes over the same batch differ")


def _close(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    return all(alike(a, b) for a, b in zip(some, others, strict=True))


def alike(a: Tensor, b: Tensor) -> bool:
    """Tell whether two results are one and the same up to rounding: half the digits of their type."""
    if not a.is_floating_point():
        return torch.equal(a, b)
    tolerance = math.sqrt(torch.finfo(a.dtype).eps)
    scale = float(a.nan_to_num().abs().max()) if a.numel() else 0.0
    return torch.allclose(a, b, rtol=0.0, atol=tolerance * scale, equal_nan=True)


def _drawn(what: str, found: str) -> ValueError:
    return ValueError(
        f"The {what}'s forward pass should not draw random numbers: an unroll and its backward pass would see different ones. "
        f"Found that {found}. Look for functional dropout or noise, and turn it off."
    )


def draws(layer: nn.Module) -> bool:
    """Tell whether one of torch's layers draws random numbers in its present mode."""
    if not layer.training:
        return False
    if isinstance(layer, nn.modules.dropout._DropoutNd):  # pyright: ignore[reportPrivateUsage]  # all dropouts
        return layer.p > 0
    if isinstance(layer, _WITH_DROPOUT):
        return bool(layer.dropout)
    return isinstance(layer, _RANDOM)
