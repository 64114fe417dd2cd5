"""Theorems that every rule obeys, as assertions; after TorchJD's property kit."""

from collections.abc import Callable

import torch
from torch import Tensor

from craik.agreement.rules import Combined

Combine = Callable[[Tensor], Combined]


def assert_permutation_invariant(combine: Combine, g: Tensor, seed: int) -> None:
    """The order of the environments does not matter."""
    order = torch.randperm(len(g), generator=torch.Generator().manual_seed(seed))
    _assert_same(combine(g[order]), combine(g))


def assert_duplication_invariant(combine: Combine, g: Tensor) -> None:
    """Counting every environment twice changes nothing."""
    _assert_same(combine(torch.cat([g, g])), combine(g))


def assert_positively_homogeneous(combine: Combine, g: Tensor, factor: float = 4.0) -> None:
    """Scaling every gradient scales the result and leaves the mask; a power of two, so exactly."""
    scaled, plain = combine(factor * g), combine(g)
    _assert_same(scaled, Combined(factor * plain.gradient, plain.survives))


def _assert_same(found: Combined, expected: Combined) -> None:
    assert torch.equal(found.survives, expected.survives)
    torch.testing.assert_close(found.gradient, expected.gradient, rtol=1e-12, atol=1e-15)
