"""Parameters that broadcast: scales, shifts, biases, tokens and positions, and whatever else meets rows component by component.

The gradient of such a read is delta, times a factor of its own shape, summed over every dimension along which the parameter is
repeated. Its examples lie along one of these.
"""

from collections.abc import Callable, Sequence

from torch import Size, Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.rows import WHOLE, Read
from mechlearn.agreement.engine.analysis.saved import output_shape, saved, slot_shape
from mechlearn.agreement.engine.layers.layout import Layout
from mechlearn.agreement.engine.layers.terms import CHUNK_ELEMENTS, Stacked, Term

Factor = Callable[[Node, int], Tensor | float]
"""From a node and a slot to d output / d slot, component by component; it broadcasts with delta."""


def add(node: Node, slot: int) -> float:
    """X + alpha y: shifts, biases that are added, positions."""
    return 1.0 if slot == 0 else float(saved(node, "alpha"))


def subtract(node: Node, slot: int) -> float:
    """X - alpha y."""
    return 1.0 if slot == 0 else -float(saved(node, "alpha"))


def multiply(node: Node, slot: int) -> Tensor | float:
    """X y: the scales of RMSNorm, of a layer's residual, of adapters."""
    return saved(node, "other" if slot == 0 else "self")


def choose(node: Node, slot: int) -> Tensor:
    """X where a condition holds, else y: learned mask tokens."""
    condition: Tensor = saved(node, "condition")
    return condition if slot == 0 else ~condition  # the condition itself has no slot


def leak(node: Node, slot: int) -> Tensor:
    """PReLU: the slope's gradient is the input where it is not positive."""
    del slot
    inputs: Tensor = saved(node, "self")
    return inputs.clamp(max=0)


def scaled_bias(node: Node, slot: int) -> float:
    """Beta bias + alpha product: the bias of a product of matrices."""
    del slot
    return float(saved(node, "beta"))


def taking(factor: Factor | None) -> Callable[[Node, Sequence[int], Tensor, Layout], list[Term]]:
    """Return what takes the reads of a node that multiplies the gradient by a factor; None is 1."""

    def take(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
        """Return a stack for each slot."""
        found = [factor(node, slot) if factor else 1.0 for slot in slots]
        return [stacked(delta, slot_shape(node, slot), layout, f) for slot, f in zip(slots, found, strict=True)]

    return take


def divide(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the terms of x / y, divided as autograd divides: 1 / y and its square may be out of range where x / y is not."""
    other: Tensor = saved(node, "other")
    terms: list[Term] = []
    for slot in slots:
        shape = slot_shape(node, slot)
        if slot == 1:
            terms.append(stacked(delta, shape, layout, -(saved(node, "self") / other) / other))
        elif other.dim() == 0:
            terms.append(Stacked(reduced(delta, shape, layout) / other))
        else:
            terms.append(stacked(delta / other, shape, layout))
    return terms


def stacked(delta: Tensor, shape: Size, layout: Layout, factor: Tensor | float = 1.0) -> Stacked:
    """Return what `reduced` returns as a term; where it is the incoming gradient itself that is lent, not copied."""
    if type(factor) is float and factor == 1.0 and layout.adjacent and delta.shape == (layout.count, *shape):
        return Stacked(delta, lent=True)
    return Stacked(reduced(delta, shape, layout, factor))


def reduced(delta: Tensor, shape: Size, layout: Layout, factor: Tensor | float = 1.0) -> Tensor:
    """Return (E, *shape): each environment's sum of delta times a factor over the dimensions along which ``shape`` is repeated.

    Args:
        delta: a read's incoming gradient.
        shape: of the parameter, which broadcasts to that of ``delta``.
        layout: whose the slices of ``delta`` are.
        factor: broadcasts with ``delta``.
    """
    if layout.rows.dim == WHOLE and layout.rows.owners is not None:
        one = (delta * factor).sum_to_size(shape)
        return one.new_zeros(layout.count, *shape).index_copy_(0, layout.rows.owners.to(one.device), one[None])
    if type(factor) is float and factor == 1.0 and layout.adjacent and delta.shape[1:] == shape:  # a linear layer's bias
        return delta.reshape(layout.count, -1, *shape).sum(1)
    if isinstance(factor, Tensor) and factor.dim() > 0:
        products = _in_cache(delta, shape, layout, factor)
        if products is not None:
            return products
        delta = delta * factor
        factor = 1.0
    sums = layout.sums(_without_repeats(delta, shape, layout.rows.dim), layout.rows.dim)
    sums = sums.reshape(layout.count, *shape)
    return sums if isinstance(factor, float) and factor == 1.0 else sums * factor


def _in_cache(delta: Tensor, shape: Size, layout: Layout, factor: Tensor) -> Tensor | None:
    """Multiply and sum environment by environment where each one's rows are adjacent, so that no product leaves the cache."""
    rows, groups = layout.rows, layout.groups
    adjacent = rows.dim == 0 and rows.owners is None and rows.outer == 1 and groups.order is None
    if not adjacent or delta.device.type != "cpu" or delta.numel() < CHUNK_ELEMENTS or factor.shape != delta.shape:
        return None
    sums = delta.new_empty(layout.count, *shape)
    for e, some in enumerate(layout.slices()):
        sums[e] = (delta[some] * factor[some]).sum_to_size(shape)
    return sums


def _without_repeats(delta: Tensor, shape: Size, kept: int) -> Tensor:
    """Sum over every dimension along which a shape is repeated, but one; dimensions stay."""
    ahead = delta.dim() - len(shape)
    repeated = [d for d in range(delta.dim()) if d != kept and delta.shape[d] > 1 and (d < ahead or shape[d - ahead] == 1)]
    return delta.sum(repeated, keepdim=True) if repeated else delta


def why_not(read: Read) -> str | None:
    """Say why a broadcast read has no formula: its parameter has a component for each example."""
    if read.rows.dim == WHOLE:
        return None
    shape, whole = slot_shape(read.node, read.slot), output_shape(read.node)
    at = read.rows.dim - (len(whole) - len(shape))
    if at >= 0 and shape[at] != 1:
        return f"has a component of its own for each example ({_kind(read.node)} along dimension {at} of {tuple(shape)})"
    return None


def repeat(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the term of `Tensor.repeat`: InstanceNorm's scale and shift, or a token for each example."""
    del slots
    shape = slot_shape(node, 0)
    times = tuple(saved(node, "repeats"))
    padded = (1,) * (len(times) - len(shape)) + tuple(shape)
    pairs = [n for pair in zip(times, padded, strict=True) for n in pair]
    delta = delta.view(pairs) if delta.is_contiguous() else delta.reshape(pairs)
    rows = layout.rows
    if rows.dim != WHOLE:
        rows = rows._replace(dim=2 * rows.dim, inner=max(1, rows.inner // padded[rows.dim]))
        if rows.owners is not None:
            rows = rows._replace(owners=rows.owners[:: padded[rows.dim // 2]])
    target = Size(n for size in padded for n in (1, size))
    return [Stacked(reduced(delta, target, Layout(rows, layout.groups)).reshape(layout.count, *shape))]


def why_not_repeated(read: Read) -> str | None:
    """Say why a repeat has no formula: it repeats along another dimension than that of the examples."""
    rows = read.rows
    if rows.dim == WHOLE:
        return None
    shape, times = slot_shape(read.node, 0), tuple(saved(read.node, "repeats"))
    ahead = len(times) - len(shape)
    size = 1 if rows.dim < ahead else shape[rows.dim - ahead]
    if rows.owners is not None:
        same = rows.owners.unflatten(0, (-1, size))
        return None if bool((same == same[:, :1]).all()) else "is repeated within an example"
    return None if rows.inner % size == 0 else "is repeated within an example"


def _kind(node: Node) -> str:
    return node.name().removesuffix("Backward0").removesuffix("Backward1")
