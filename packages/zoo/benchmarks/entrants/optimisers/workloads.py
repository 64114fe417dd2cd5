"""Sets of parameters to step: their shapes, and parameters with gradients drawn from a seed."""

from collections.abc import Callable

import torch
from mechlearn_zoo_benchmarks.entrants.masks.networks import fastresnet
from torch import Generator, nn

Shapes = list[tuple[int, ...]]


def fast(small: bool) -> Shapes:
    """FastResNet, 6.6 M parameters: a few large tensors and many small ones."""
    with torch.device("meta"):
        return [tuple(parameter.shape) for parameter in fastresnet(width=8 if small else 64).parameters()]


def many_small(small: bool) -> Shapes:
    """Eight hundred tensors of at most 256 components, as a deep network of narrow layers has them."""
    return [(16, 16), (16,)] * (4 if small else 400)


def one_large(small: bool) -> Shapes:
    """One matrix of a million components."""
    return [(10, 10) if small else (1000, 1000)]


def tiny(small: bool) -> Shapes:
    """A small perceptron, where calls cost more than arithmetic."""
    del small
    return [(32, 8), (32,), (1, 32), (1,)]


WORKLOADS: dict[str, Callable[[bool], Shapes]] = {
    "fastresnet": fast,
    "many-small": many_small,
    "one-large": one_large,
    "tiny": tiny,
}


def parameters(name: str, small: bool, seed: int, dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    """Return a workload's parameters with gradients."""
    generator = Generator().manual_seed(seed)
    held = [nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in WORKLOADS[name](small)]
    for parameter in held:
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(dtype)
    return held
