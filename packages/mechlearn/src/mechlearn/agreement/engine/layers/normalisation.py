"""Normalisations: autograd's own kernels for scale and shift, on one environment's rows after another.

The sums over rows that these kernels form are the environment's where only its rows are given to them. What is normalised by,
the saved means and inverse deviations, is as the forward pass found it.

On other devices than a CPU a kernel for each environment costs more than what it computes, and a BatchNorm's wants what its
other kernels have saved: there scale and shift are sums of delta times what was normalised, all environments' at once.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.rows import WHOLE, Read
from mechlearn.agreement.engine.analysis.saved import saved
from mechlearn.agreement.engine.layers.layout import Layout
from mechlearn.agreement.engine.layers.scaling import reduced
from mechlearn.agreement.engine.layers.terms import Stacked, Term

INPUT, WEIGHT, BIAS = range(3)
"""What every normalisation's node reads."""

NATIVE = "NativeBatchNormBackward0"
"""The node of torch's own BatchNorm; those of libraries name what they save otherwise."""


def layer(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the terms of a layer norm's scale and shift."""
    shape = list(saved(node, "normalized_shape"))
    mask = [False, WEIGHT in slots, BIAS in slots]
    inputs, mean, deviation = (saved(node, name) for name in ("input", "result1", "result2"))
    if delta.device.type != "cpu":
        return [_reduced(delta, (inputs - mean) * deviation if slot == WEIGHT else None, shape, layout) for slot in slots]
    deltas, dim = layout.along(delta)
    rows = [layout.grouped(t, dim) for t in (deltas, *(layout.along(t)[0] for t in (inputs, mean, deviation)))]
    weight, bias = saved(node, "weight"), saved(node, "bias")

    def form(some: slice) -> tuple[Tensor | None, ...]:
        one, x, mean, deviation = (t[some] for t in rows)
        # The kernel reads both through their addresses: of steps that lie first, adjacent environments are views with strides.
        mean, deviation = mean.contiguous(), deviation.contiguous()
        return torch.ops.aten.native_layer_norm_backward(one, x, shape, mean, deviation, weight, bias, mask)

    return _stacked(form, slots, layout)


def mean_square(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the term of the scale of an RMSNorm that is one operation, as torch has it on a GPU."""
    shape, normed = list(saved(node, "normalized_shape")), saved(node, "input") * saved(node, "result1")
    return [_reduced(delta, normed, shape, layout) for _ in slots]


def group(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the terms of a group norm's scale and shift."""
    inputs, *statistics = (saved(node, name) for name in ("input", "result1", "result2"))
    examples, channels, space, groups = (int(saved(node, name)) for name in ("N", "C", "HxW", "group"))
    # Each example's channels as channels of their own of one example: the kernel's sums over examples are then over one.
    every = examples * channels
    delta, inputs = (t.contiguous().view(1, every, space) for t in (delta, inputs))
    mean, deviation = (t.reshape(1, -1) for t in statistics)
    mask, sizes = [False, WEIGHT in slots, BIAS in slots], (1, every, space, examples * groups)
    weight: Tensor | None = saved(node, "weight")
    scale = (delta if weight is None else weight).new_empty(every)  # that there is one, and its type, is all that is read of it
    found = torch.ops.aten.native_group_norm_backward(delta, inputs, mean, deviation, scale, *sizes, mask)
    return _by_channel(found, slots, channels, layout)


def batch(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the terms of a batch norm's scale and shift, normalised by stored statistics or by those of the call."""
    inputs: Tensor = saved(node, "input")
    training, (examples, channels) = bool(saved(node, "training")), inputs.shape[:2]
    names = ("result1", "result2") if training else ("running_mean", "running_var")
    # Each example's channels as channels of their own of one example: the kernel's sums over examples are then over one.
    delta, inputs = (t.contiguous().view(1, examples * channels, -1) for t in (delta, inputs))
    one, two = (saved(node, name).repeat(examples) for name in names)
    mask, eps = [False, WEIGHT in slots, BIAS in slots], float(saved(node, "eps" if node.name() == NATIVE else "epsilon"))
    if delta.device.type != "cpu":
        normed = (inputs - one[:, None]) * (two if training else (two + eps).rsqrt())[:, None]
        return _by_channel((None, (delta * normed).sum((0, 2)), delta.sum((0, 2))), slots, channels, layout)
    given = (None, None, one, two) if training else (one, two, None, None)
    found = torch.ops.aten.native_batch_norm_backward(delta, inputs, None, *given, training, eps, mask)
    return _by_channel(found, slots, channels, layout)


def _by_channel(found: tuple[Tensor | None, ...], slots: Sequence[int], channels: int, layout: Layout) -> list[Term]:
    """Sum each example's gradients within its environment."""
    terms: list[Term] = []
    for slot in slots:
        gradients = found[slot]
        if gradients is None:
            raise RuntimeError(f"A normalisation's kernel should return slot {slot}. Found nothing.")
        rows = gradients.view(-1, channels)
        terms.append(Stacked(layout.by_first(len(rows)).sums(rows)))
    return terms


def why_not(read: Read) -> str | None:
    """Say why a normalisation has no formula: it normalises across examples, as far as its examples are known."""
    return None if read.rows.dim in (WHOLE, 0) else "is a scale or shift with components of its own for each example"


def why_no_layer(read: Read) -> str | None:
    """Say why a layer norm has no formula."""
    ahead = len(saved(read.node, "input").shape) - len(saved(read.node, "normalized_shape"))
    return None if read.rows.dim < ahead else "is a scale or shift with components of its own for each example"


def _reduced(delta: Tensor, normed: Tensor | None, shape: Sequence[int], layout: Layout) -> Term:
    """Return each environment's sum of delta, times what was normalised."""
    return Stacked(reduced(delta if normed is None else delta * normed, torch.Size(shape), layout))


def _stacked(form: Callable[[slice], tuple[Tensor | None, ...]], slots: Sequence[int], layout: Layout) -> list[Term]:
    """Call a kernel on each environment's rows and stack what it returns for each slot."""
    whole = layout.rows.dim == WHOLE
    pairs = zip(layout.slices(), layout.sizes, strict=True)
    found = [form(slice(None) if whole else some) if size else None for some, size in pairs]
    return [Stacked(_stack([None if gradients is None else gradients[slot] for gradients in found])) for slot in slots]


def _stack(gradients: Sequence[Tensor | None]) -> Tensor:
    """Stack gradients, 0 where there is none."""
    zero = next(torch.zeros_like(gradient) for gradient in gradients if gradient is not None)
    return torch.stack([zero if gradient is None else gradient for gradient in gradients])
