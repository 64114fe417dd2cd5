"""One step of the temporal AND-mask over a list of tensors, in three ways that compute the same.

`craik.agreement.optim` says what the step is; `loop_step` is the one to read.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

_torch: Any = torch  # foreach and (un)flatten have an underscore, but optimisers and wrappers in and around torch build on them

BLOCK_ELEMENTS = 2**16
"""Elements that the foreach step works on at a time on a CPU: seven arrays of 256 KiB pass through its caches once."""


class Tensors(NamedTuple):
    """Parameters, gradients and the three averages, parameter by parameter."""

    theta: list[Tensor]
    g: list[Tensor]
    m: list[Tensor]
    v: list[Tensor]
    a: list[Tensor]


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
    for theta, g, m, v, a in zip(*tensors, strict=True):
        m.lerp_(g, 1 - s.beta1)
        v.mul_(s.beta2).addcmul_(g, g, value=1 - s.beta2)
        a.mul_(s.beta3).add_(g.sign(), alpha=1 - s.beta3)
        root = (v / s.correction + s.eps).sqrt_() if s.inside else (v / s.correction).sqrt_().add_(s.eps)
        # A product, not a selection: what is NaN or infinite stays visible under the mask.
        moved = m * (a.abs() >= s.least)
        theta.sub_(moved.div_(root).mul_(s.lr)).mul_(s.kept)


def foreach_step(tensors: Tensors, s: Scalars) -> None:
    """One operation after the other, each over many tensors: few kernel launches on a GPU, few Python calls on a CPU."""
    for block in _blocks(tensors):
        _foreach_block(block, s)


def _foreach_block(tensors: Tensors, s: Scalars) -> None:
    theta, g, m, v, a = tensors
    _torch._foreach_lerp_(m, g, 1 - s.beta1)
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
    moved = _torch._foreach_abs(a)
    for agreement in moved:  # there is no foreach comparison
        agreement.ge_(s.least)
    _torch._foreach_mul_(moved, m)
    _torch._foreach_div_(moved, root)
    _torch._foreach_mul_(moved, s.lr)
    _torch._foreach_sub_(theta, moved)
    _torch._foreach_mul_(theta, s.kept)


def _blocks(tensors: Tensors) -> Iterator[Tensors]:
    """Cut large tensors and gather small ones, so that what an operation reads is what the one before has left in cache."""
    if tensors.theta[0].device.type != "cpu":
        yield tensors
        return
    block, elements = _empty(), 0
    for row in zip(*tensors, strict=True):
        for piece in _pieces(row):
            for column, tensor in zip(block, piece, strict=True):
                column.append(tensor)
            elements += piece[0].numel()
            if elements >= BLOCK_ELEMENTS:
                yield block
                block, elements = _empty(), 0
    if elements:
        yield block


def _pieces(row: tuple[Tensor, ...]) -> list[tuple[Tensor, ...]]:
    if row[0].numel() <= BLOCK_ELEMENTS or not all(tensor.is_contiguous() for tensor in row):
        return [row]
    return list(zip(*(tensor.view(-1).split(BLOCK_ELEMENTS) for tensor in row), strict=True))


def _empty() -> Tensors:
    return Tensors([], [], [], [], [])


def compiled_step(tensors: Tensors, s: Scalars) -> None:
    """The loop, fused by torch.compile into one pass over the memory.

    What is compiled works on flat tensors of any length, so that one compilation serves every model: large tensors as they
    are, small or strided ones gathered into one and scattered back.

    Raises:
        RuntimeError: there is no compiler; nothing has moved.
    """
    # As a tensor: numbers would be compiled in, and another learning rate would be another compilation.
    numbers = _numbers(s, tensors.theta[0])
    large, small = _empty(), _empty()
    for row in zip(*tensors, strict=True):
        flat = row[0].numel() >= BLOCK_ELEMENTS and all(tensor.is_contiguous() for tensor in row)
        for column, tensor in zip(large if flat else small, row, strict=True):
            column.append(tensor)
    for row in zip(*large, strict=True):
        _call(tuple(_flat(tensor) for tensor in row), numbers, s.inside)
        torch.autograd.graph.increment_version((row[0], *row[2:]))
    if small.theta:
        gathered = tuple(_torch._utils._flatten_dense_tensors(column) for column in small)
        _call(gathered, numbers, s.inside)
        _scatter(gathered, small)


def _flat(tensor: Tensor) -> Tensor:
    """Return the same memory as one dimension. No view: the compiler would make another kernel for each shape viewed."""
    return tensor.new_empty(0).set_(tensor.untyped_storage(), tensor.storage_offset(), (tensor.numel(),), (1,))


def _numbers(s: Scalars, like: Tensor) -> Tensor:
    decays = [number for beta in (s.beta1, s.beta2, s.beta3) for number in (beta, 1 - beta)]
    numbers = [*decays, s.lr, s.least, s.eps, s.kept, 1 / s.correction]
    return torch.tensor(numbers, dtype=torch.promote_types(like.dtype, torch.float32), device=like.device)


def _scatter(gathered: tuple[Tensor, ...], small: Tensors) -> None:
    for name, flat, column in zip(Tensors._fields, gathered, small, strict=True):
        if name != "g":
            _torch._foreach_copy_(column, _torch._utils._unflatten_dense_tensors(flat, column))


def _call(row: tuple[Tensor, ...], numbers: Tensor, inside: bool) -> None:
    try:
        _fused()(*row, numbers, inside)
    except RuntimeError as error:
        if "compil" not in f"{type(error).__name__} {error}".lower():
            raise
        raise RuntimeError(
            f"`compiled=True` should find a C++ compiler that torch.compile can use. Found: {str(error).splitlines()[0]} "
            "Install one, or leave compiled off; nothing has moved."
        ) from error


def _flat_step(theta: Tensor, g: Tensor, m: Tensor, v: Tensor, a: Tensor, numbers: Tensor, inside: bool) -> None:
    beta1, rest1, beta2, rest2, beta3, rest3, lr, least, eps, kept, correction = numbers.unbind()
    m1 = beta1 * m + rest1 * g
    v1 = beta2 * v + rest2 * (g * g)
    a1 = beta3 * a + rest3 * g.sign()
    root = (v1 * correction + eps).sqrt() if inside else (v1 * correction).sqrt() + eps
    moved = lr * m1 * (a1.abs() >= least) / root
    theta.copy_((theta - moved) * kept)
    m.copy_(m1)
    v.copy_(v1)
    a.copy_(a1)


@functools.cache
def _fused() -> Callable[..., None]:
    # The function itself: a run-time type checker around it would be compiled too, and again at every call.
    return torch.compile(inspect.unwrap(_flat_step), dynamic=True)
