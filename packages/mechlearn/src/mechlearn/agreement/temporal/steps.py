"""One step of the temporal AND-mask over a list of tensors, in ways that compute the same.

`mechlearn.agreement.temporal.adam` says what the step is; `loop_step` is the one to read. The compiled way is in
`mechlearn.agreement.temporal.compiled`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

_torch: Any = torch  # foreach and (un)flatten have an underscore, but optimisers and wrappers in and around torch build on them

BLOCK_ELEMENTS = 2**16
"""Elements that the foreach step works on at a time on a CPU: seven arrays of 256 KiB pass through its caches once."""


class Tensors(NamedTuple):
    """Parameters and gradients of one type, and the three averages of `form.wide` of it, parameter by parameter."""

    theta: list[Tensor]
    g: list[Tensor]
    m: list[Tensor]
    v: list[Tensor]
    a: list[Tensor]


class Scalars(NamedTuple):
    """One step's numbers.

    Attributes:
        lr: with Adam's correction of m, negative to ascend.
        betas: decays of m, v and a.
        least: what abs(a) must reach.
        kept: what the weight decay leaves of theta.
        correction: what v is divided by.
        inside: whether eps is added inside the root.
    """

    lr: float | Tensor
    betas: tuple[float, float, float]
    least: float | Tensor
    eps: float
    kept: float | Tensor
    correction: float | Tensor
    inside: bool


def loop_step(tensors: Tensors, s: Scalars) -> None:
    """One tensor after the other."""
    beta1, beta2, beta3 = s.betas
    for theta, given, m, v, a in zip(*tensors, strict=True):
        g, place = given.to(m.dtype), theta.to(m.dtype)  # the same tensors, unless these are of half a type's width
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        a.mul_(beta3).add_(g.sign(), alpha=1 - beta3)
        root = (v / s.correction + s.eps).sqrt_() if s.inside else (v / s.correction).sqrt_().add_(s.eps)
        # A product, not a selection: what is NaN or infinite stays visible under the mask.
        moved = m * (a.abs() >= s.least)
        place.sub_(moved.div_(root).mul_(s.lr)).mul_(s.kept)
        if place is not theta:
            theta.copy_(place)


def foreach_step(tensors: Tensors, s: Scalars) -> None:
    """One operation after the other, each over many tensors: few kernel launches on a GPU, few Python calls on a CPU."""
    for block in _blocks(tensors):
        _foreach_block(block, s)


def _foreach_block(tensors: Tensors, s: Scalars) -> None:
    theta, given, m, v, a = tensors
    beta1, beta2, beta3 = s.betas
    g, place = ([one.to(m[0].dtype) for one in some] for some in (given, theta))  # as in the loop
    _torch._foreach_lerp_(m, g, 1 - beta1)
    _torch._foreach_mul_(v, beta2)
    _torch._foreach_addcmul_(v, g, g, 1 - beta2)
    _torch._foreach_mul_(a, beta3)
    _torch._foreach_add_(a, _torch._foreach_sign(g), alpha=1 - beta3)
    root = _torch._foreach_div(v, s.correction)
    if s.inside:
        _torch._foreach_add_(root, s.eps)
    _torch._foreach_sqrt_(root)
    if not s.inside:
        _torch._foreach_add_(root, s.eps)
    moved = _torch._foreach_abs(a)
    for agreement in moved:  # there is no foreach comparison
        agreement.ge_(s.least)
    _torch._foreach_mul_(moved, m)
    _torch._foreach_div_(moved, root)
    _torch._foreach_mul_(moved, s.lr)
    _torch._foreach_sub_(place, moved)
    _torch._foreach_mul_(place, s.kept)
    if theta[0].dtype != m[0].dtype:
        _torch._foreach_copy_(theta, place)


def _blocks(tensors: Tensors) -> Iterator[Tensors]:
    """Cut large tensors and gather small ones, so that what an operation reads is what the one before has left in cache."""
    if tensors.theta[0].device.type != "cpu":
        yield tensors
        return
    block, elements = empty(), 0
    for row in zip(*tensors, strict=True):
        for piece in _pieces(row):
            for column, tensor in zip(block, piece, strict=True):
                column.append(tensor)
            elements += piece[0].numel()
            if elements >= BLOCK_ELEMENTS:
                yield block
                block, elements = empty(), 0
    if elements:
        yield block


def _pieces(row: tuple[Tensor, ...]) -> list[tuple[Tensor, ...]]:
    if row[0].numel() <= BLOCK_ELEMENTS or not all(tensor.is_contiguous() for tensor in row):
        return [row]
    return list(zip(*(tensor.view(-1).split(BLOCK_ELEMENTS) for tensor in row), strict=True))


def empty() -> Tensors:
    """Return no tensors, to append to."""
    return Tensors([], [], [], [], [])


def first_nonfinite(tensors: Sequence[Tensor]) -> int | None:
    """Return the position of a tensor that holds NaN or infinity; None where there is none."""
    # A sum is one pass over the memory, a test of every component two; only a suspicion pays for the second.
    sums = torch.stack([tensor.sum().to(tensors[0]) for tensor in tensors])
    if bool(torch.isfinite(sums).all()):
        return None
    return next((k for k, tensor in enumerate(tensors) if not bool(torch.isfinite(tensor).all())), None)
