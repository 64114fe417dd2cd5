"""One step of the temporal AND-mask over a list of tensors, in three ways that compute the same.

`craik.agreement.optim` says what the step is; `loop_step` is the one to read.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

_torch: Any = torch  # the foreach functions have an underscore, but every optimiser in and around torch builds on them


class Tensors(NamedTuple):
    """Parameters, gradients, the three averages and the counts of steps, parameter by parameter."""

    theta: list[Tensor]
    g: list[Tensor]
    m: list[Tensor]
    v: list[Tensor]
    a: list[Tensor]
    step: list[Tensor]


class Scalars(NamedTuple):
    """One step's numbers.

    Attributes:
        lr: with Adam's correction of m, negative to ascend.
        least: what abs(a) must reach.
        kept: what the weight decay leaves of theta.
        correction: what v is divided by.
        inside: whether eps is added inside the root.
    """

    lr: float | Tensor
    beta1: float
    beta2: float
    beta3: float
    least: float | Tensor
    eps: float
    kept: float | Tensor
    correction: float | Tensor
    inside: bool


def loop_step(tensors: Tensors, s: Scalars) -> None:
    """One tensor after the other."""
    for theta, g, m, v, a, _ in zip(*tensors, strict=True):
        m.mul_(s.beta1).add_(g, alpha=1 - s.beta1)
        v.mul_(s.beta2).addcmul_(g, g, value=1 - s.beta2)
        a.mul_(s.beta3).add_(g.sign(), alpha=1 - s.beta3)
        root = (v / s.correction + s.eps).sqrt_() if s.inside else (v / s.correction).sqrt_().add_(s.eps)
        moved = torch.where(a.abs() >= s.least, m, 0).div_(root)
        theta.sub_(moved.mul_(s.lr)).mul_(s.kept)


def foreach_step(tensors: Tensors, s: Scalars) -> None:
    """One operation after the other, each over all tensors: few kernel launches on a GPU."""
    theta, g, m, v, a, _ = tensors
    _torch._foreach_mul_(m, s.beta1)
    _torch._foreach_add_(m, g, alpha=1 - s.beta1)
    _torch._foreach_mul_(v, s.beta2)
    _torch._foreach_addcmul_(v, g, g, 1 - s.beta2)
    _torch._foreach_mul_(a, s.beta3)
    _torch._foreach_add_(a, _torch._foreach_sign(g), alpha=1 - s.beta3)
    root = _torch._foreach_div(v, s.correction)
    if s.inside:
        _torch._foreach_add_(root, s.eps)
    _torch._foreach_sqrt_(root)
    if not s.inside:
        _torch._foreach_add_(root, s.eps)
    moved = [torch.where(own.abs() >= s.least, moment, 0) for own, moment in zip(a, m, strict=True)]
    _torch._foreach_div_(moved, root)
    _torch._foreach_mul_(moved, s.lr)
    _torch._foreach_sub_(theta, moved)
    _torch._foreach_mul_(theta, s.kept)


def compiled_step(tensors: Tensors, s: Scalars) -> None:
    """The loop, fused by torch.compile.

    Raises:
        RuntimeError: there is no compiler.
    """
    # What changes from step to step goes in as tensors: a number would be compiled in.
    changing = {name: torch.tensor(getattr(s, name), dtype=torch.float64) for name in ("lr", "least", "kept", "correction")}
    try:
        _fused()(tensors, s._replace(**changing))
    except RuntimeError as error:
        if "compil" not in f"{type(error).__name__} {error}".lower():
            raise
        raise RuntimeError(
            f"`compiled=True` should find a C++ compiler that torch.compile can use. Found: {str(error).splitlines()[0]} "
            "Install one, or leave compiled off."
        ) from error


@functools.cache
def _fused() -> Callable[[Tensors, Scalars], None]:
    return torch.compile(loop_step, dynamic=False)
