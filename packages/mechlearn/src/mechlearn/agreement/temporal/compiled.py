"""The compiled step of the temporal AND-mask: a kernel in C on a CPU, what torch.compile makes of the loop elsewhere."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mechlearn.agreement.kernels.steps import DTYPES, Steps, steps
from mechlearn.agreement.temporal import steps as temporal
from mechlearn.agreement.temporal.steps import Scalars, Tensors, empty

_torch: Any = torch  # see mechlearn.agreement.temporal.steps


def compiled_step(tensors: Tensors, s: Scalars) -> None:
    """Take a step in one pass over the memory; all tensors are of one device and type."""
    kernels = _kernels(tensors.theta[0])
    if kernels is None:
        fused_step(tensors, s)
        return
    rows = list(zip(*tensors, strict=True))
    flat = [_flat_row(*row) for row in rows]
    kernels.advance(flat, _numbers_in_c(s))
    for row, copy in zip(rows, flat, strict=True):
        if row[0] is not copy[0]:
            for tensor, moved in zip((row[0], *row[2:]), (copy[0], *copy[2:]), strict=True):
                tensor.copy_(moved)
    torch.autograd.graph.increment_version((*tensors.theta, *tensors.m, *tensors.v, *tensors.a))


def first_nonfinite(tensors: Sequence[Tensor]) -> int | None:
    """Return the position of a tensor that holds NaN or infinity; None where there is none."""
    alike = {(tensor.device, tensor.dtype) for tensor in tensors}
    kernels = _kernels(tensors[0]) if len(alike) == 1 else None
    if kernels is None:
        return temporal.first_nonfinite(tensors)
    return kernels.first_nonfinite([tensor.contiguous() for tensor in tensors])


def _kernels(like: Tensor) -> Steps | None:
    return steps() if like.device.type == "cpu" and like.dtype in DTYPES else None


def _flat_row(theta: Tensor, g: Tensor, m: Tensor, v: Tensor, a: Tensor) -> tuple[Tensor, ...]:
    """Return a row's tensors, or copies of them, with one order of components."""
    flat = theta.is_contiguous() and g.is_contiguous() and m.is_contiguous() and v.is_contiguous() and a.is_contiguous()
    row = (theta, g, m, v, a)
    return row if flat else tuple(tensor.clone(memory_format=torch.contiguous_format) for tensor in row)


def _numbers_in_c(s: Scalars) -> list[float]:
    """Return what `temporal.c` reads, in its order."""
    decays = [number for beta in s.betas for number in (beta, 1 - beta)]
    inside, outside = (s.eps, 0.0) if s.inside else (0.0, s.eps)
    return [*decays, float(s.lr), float(s.least), inside, outside, float(s.kept), 1 / float(s.correction)]


def fused_step(tensors: Tensors, s: Scalars) -> None:
    """The loop, fused by torch.compile into one pass over the memory.

    What is compiled works on flat tensors of any length, so that one compilation serves every model: large tensors as they
    are, small or strided ones gathered into one and scattered back.
    """
    # As a tensor: numbers would be compiled in, and another learning rate would be another compilation.
    numbers = _numbers(s, tensors.theta[0])
    large, small = empty(), empty()
    for row in zip(*tensors, strict=True):
        flat = row[0].numel() >= temporal.BLOCK_ELEMENTS and all(tensor.is_contiguous() for tensor in row)
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
    decays = [number for beta in s.betas for number in (beta, 1 - beta)]
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
            "`implementation='compiled'` should find a C++ compiler that torch.compile can use. Found: "
            f"{str(error).splitlines()[0]} Install one, or choose 'foreach'; nothing has moved."
        ) from error


def _flat_step(theta: Tensor, g: Tensor, m: Tensor, v: Tensor, a: Tensor, numbers: Tensor, inside: bool) -> None:
    beta1, rest1, beta2, rest2, beta3, rest3, lr, least, eps, kept, correction = numbers.unbind()
    g = g.to(m.dtype)  # a square may be more than a half type holds
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
