"""BatchNorm in train mode over the n batches of an unroll, each normalised where it lies with its own statistics.

vmap's own rule lays the n batches beside the channels: it copies what goes in and what comes out, and again on the way back.
A loop over the batches does the same arithmetic without the copies, each batch small enough for a cache.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import batch_norm
from torch.overrides import TorchFunctionMode


class BatchByBatch(TorchFunctionMode):
    """Within this block, inside `vmap`, `torch.nn.functional.batch_norm` of batch statistics runs batch by batch."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:  # noqa: ANN401  # whatever the function returns
        del types
        run = _normalised if func is batch_norm else func
        return run(*args, **(kwargs or {}))


def _normalised(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    count = x.numel() // x.shape[1]
    if not training or count < 2 or eps <= 0 or (weight is None) != (bias is None):  # torch's own rule, or its own sentence
        return batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)
    output, mean, variance = _OneBatch.apply(x, weight, bias, eps)
    if running_mean is not None and running_var is not None:
        running_mean.mul_(1 - momentum).add_(momentum * mean)
        running_var.mul_(1 - momentum).add_(momentum * count / (count - 1) * variance)
    return output


class _OneBatch(torch.autograd.Function):
    """BatchNorm of one batch (B, C, ...): output, mean and (biased) variance. Under vmap it becomes `_EachBatch`."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        raise NotImplementedError  # `BatchByBatch` is entered for vmap alone

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ANN401  # torch's protocol
        raise NotImplementedError

    @staticmethod
    def vmap(
        info: Any,  # noqa: ANN401  # torch's protocol
        in_dims: tuple[int | None, ...],
        *args: Any,  # noqa: ANN401
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        """Normalise n batches; weights that are different for each are applied apart."""
        x, weight, bias, eps = args
        batches = x.expand(info.batch_size, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        if in_dims[1] is None and in_dims[2] is None:
            return _EachBatch.apply(batches, weight, bias, eps), (0, 0, 0)
        output, mean, variance = _EachBatch.apply(batches, None, None, eps)
        scale, shift = (_beside(tensor, dim, batches.dim()) for tensor, dim in ((weight, in_dims[1]), (bias, in_dims[2])))
        return (output * scale + shift, mean, variance), (0, 0, 0)


def _beside(tensor: Any, dim: int | None, dims: int) -> Tensor:  # noqa: ANN401  # a tensor
    """Return weights (C,) or (n, C) in a shape that multiplies batches (n, B, C, ...) of so many dimensions."""
    rows: Tensor = tensor[None] if dim is None else tensor.movedim(dim, 0)
    return rows.reshape(len(rows), 1, -1, *[1] * (dims - 3))


class _EachBatch(torch.autograd.Function):
    """n batches (n, B, C, ...), each with its own statistics."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401  # torch's protocol
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        output = torch.empty_like(x, memory_format=torch.contiguous_format)
        kind = torch.float32 if x.dtype in (torch.bfloat16, torch.float16) else x.dtype
        mean, scale = (torch.empty(len(x), x.shape[2], dtype=kind, device=x.device) for _ in range(2))
        for i in range(len(x)):
            out = (output[i], mean[i], scale[i])
            torch.native_batch_norm(x[i], weight, bias, None, None, True, 0.0, eps, out=out)
        variance = scale.reciprocal().square() - eps
        ctx.save_for_backward(x, weight, mean, scale)
        ctx.eps = eps
        ctx.mark_non_differentiable(mean, variance)
        return output, mean, variance

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  # the decorator hides the names
        ctx: Any,  # noqa: ANN401  # torch's protocol
        *grad_outputs: Any,  # noqa: ANN401
    ) -> tuple[Tensor, Tensor | None, Tensor | None, None]:
        gradient: Tensor = grad_outputs[0]
        x, weight, mean, scale = ctx.saved_tensors
        affine = weight is not None
        found = torch.empty_like(x, memory_format=torch.contiguous_format)
        rows = torch.empty(2, len(x), x.shape[2], dtype=mean.dtype, device=x.device)
        for i in range(len(x)):
            gradients = torch.ops.aten.native_batch_norm_backward(
                gradient[i], x[i], weight, None, None, mean[i], scale[i], True, ctx.eps, (True, affine, affine)
            )
            found[i] = gradients[0]
            if affine:
                rows[0, i], rows[1, i] = gradients[1], gradients[2]
        totals = rows.sum(1) if affine else (None, None)
        return found, totals[0], totals[1], None
