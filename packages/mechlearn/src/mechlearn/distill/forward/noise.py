"""Random numbers in a forward pass, which an unroll and its backward pass would draw differently, are refused."""

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import FunctionType, MethodType

import torch
from torch import Tensor, nn

_RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)  # pyright: ignore[reportPrivateUsage]  # all dropouts
_WITH_DROPOUT = (nn.RNNBase, nn.MultiheadAttention)

_Source = tuple[Callable[[], Tensor], Callable[[Tensor], object]]
"""How to read and how to set a random generator's state."""


@contextmanager
def no_draws(what: str, module: nn.Module, functions: Sequence[object] = ()) -> Generator[None]:
    """Reject passes in the block that move a random generator; all generators are put back.

    The generators are torch's global ones, of the CPU and of the module's CUDA devices, and those that are attributes of its
    layers or of the functions, or that a function closes over. `check_repeats` finds what comes from elsewhere.

    Args:
        what: "student", "teacher", or another subject of the sentence.
        module: what runs in the block.
        functions: what else runs there, such as a loss.
    """
    sources = generators_of(module, functions)
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


def generators_of(module: nn.Module, functions: Sequence[object] = ()) -> list[_Source]:
    """Return how to read and to set the random generators that passes of a module and of its losses may move."""
    sources: list[_Source] = [(torch.get_rng_state, torch.set_rng_state)]
    for device in {parameter.device for parameter in module.parameters() if parameter.is_cuda}:
        sources.append((partial(torch.cuda.get_rng_state, device), partial(torch.cuda.set_rng_state, device=device)))
    held = [value for layer in module.modules() for value in vars(layer).values()]
    held += [value for function in functions for value in _held(function)]
    own = {id(value): value for value in held if isinstance(value, torch.Generator)}
    sources += [(generator.get_state, generator.set_state) for generator in own.values()]
    return sources


def _held(function: object) -> Iterable[object]:
    """Return what a function closes over or has for defaults, or what an object has for attributes."""
    if isinstance(function, MethodType):
        return _held(function.__self__)
    if isinstance(function, partial):
        return [*function.args, *function.keywords.values(), *_held(function.func)]
    if isinstance(function, nn.Module):
        return [value for layer in function.modules() for value in vars(layer).values()]
    if isinstance(function, FunctionType):
        return [*_contents(function), *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return list(getattr(function, "__dict__", {}).values())


def _contents(function: FunctionType) -> list[object]:
    found: list[object] = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # a name that has no value yet
            found.append(cell.cell_contents)
    return found


def check_repeats(what: str, found: Sequence[Tensor], again: Callable[[], Sequence[Tensor]]) -> None:
    """Reject a forward pass that gives other results when it is run again, beyond rounding.

    Args:
        what: "student", "teacher", or another subject of the sentence.
        found: what a pass gave.
        again: the same pass once more.
    """
    second = again()
    # Among other batches the first may have been rounded otherwise, or normalised with all of them: then like with like.
    if not _close(found, second) and not _close(second, again()):
        raise _drawn(what, "two passes over the same batch differ")


def check_same_losses(first: Tensor, second: Tensor, start: int = 0) -> None:
    """Reject steps, the first of them `start`, that have other losses when they are taken a second time: (n,) either time."""
    if not alike(first, second):
        step = start + int((first - second).abs().nan_to_num().argmax()) + 1
        raise _drawn("An inner step", f"step {step} had another loss when it was run again")


def _close(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    return all(alike(a, b) for a, b in zip(some, others, strict=True))


def alike(a: Tensor, b: Tensor) -> bool:
    """Tell whether two results are one and the same within rounding error: half the digits of their type."""
    if not a.is_floating_point():
        return torch.equal(a, b)
    tolerance = math.sqrt(torch.finfo(a.dtype).eps)
    scale = float(a.detach().nan_to_num().abs().max()) if a.numel() else 0.0
    return torch.allclose(a, b, rtol=0.0, atol=tolerance * scale, equal_nan=True)


def _drawn(what: str, found: str) -> ValueError:
    subject = f"The {what}'s forward pass" if what in ("student", "teacher") else what
    return ValueError(
        f"{subject} should not draw random numbers: an unroll and its backward pass would see different ones. "
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
