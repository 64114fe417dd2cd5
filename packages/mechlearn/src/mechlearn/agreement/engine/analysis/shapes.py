"""Operations that move elements: views, selections of fixed places, joins."""

import math

import numpy as np
import torch
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.owners import Array, Batch, Known, Own, Rows, Shape, collapse, project, reshape
from mechlearn.agreement.engine.analysis.saved import dimension, dimensions, saved, signed
from mechlearn.agreement.engine.analysis.trials import tried


def view(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Pass ownership through a view, flatten, squeeze or unsqueeze."""
    return own if out == into else reshape(batch, own, out, into)


def transpose(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Swap two dimensions."""
    dims = len(out)
    a, b = (dimension(node, dims, name) for name in ("dim0", "dim1"))
    swapped = {a: b, b: a}
    return project(batch, own, [(d, swapped.get(d, d)) for d in range(dims)], out, into)


def matrix_transpose(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Swap the dimensions of a matrix, or leave a vector alone."""
    return project(batch, own, ((0, 1), (1, 0)), out, into) if len(out) == 2 else own


def permute(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Reorder dimensions."""
    dims = len(out)
    order = [signed(d) % dims for d in saved(node, "dims")]
    return project(batch, own, list(enumerate(order)), out, into)


def select(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Put a gradient at one index of a dimension; elsewhere it is 0."""
    dim = dimension(node, len(into))
    if isinstance(own, Rows) and not batch.precise:
        return project(batch, own, [(d, d + (d >= dim)) for d in range(len(out))], out, into)
    index = signed(saved(node, "index"))
    placed = np.expand_dims(batch.array(own, len(out)), dim)
    return batch.tidy(_place(placed, dim, into[dim], slice(index, index + 1 or None)))


def cut(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Put a gradient at the indices of a slice; elsewhere it is 0."""
    if out == into:
        return own
    dim = dimension(node, len(into))
    if isinstance(own, Rows) and own.dim != dim and not batch.precise:
        return own
    start, end, step = (signed(saved(node, name)) for name in ("start", "end", "step"))
    where = slice(*slice(start, end, step).indices(into[dim]))
    return batch.tidy(_place(batch.array(own, len(out)), dim, into[dim], where))


def _place(own: Array, dim: int, size: int, where: slice) -> Array:
    shape = list(own.shape)
    shape[dim] = size
    placed = np.full(shape, -1, own.dtype)
    placed[(slice(None),) * dim + (where,)] = own
    return placed


def pad(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Take the part of a gradient that was not padding."""
    if isinstance(own, Rows) and out[own.dim] == into[own.dim]:
        return own
    array = batch.array(own, len(out))
    # Pairs (before, after), the last dimension's first.
    pads = [signed(p) for p in saved(node, "pad")]
    for k, (before, after) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        dim = len(into) - 1 - k
        if array.shape[dim] > 1:
            kept = slice(max(before, 0), out[dim] - max(after, 0))
            array = array[(slice(None),) * dim + (kept,)]
            # Padding by less than nothing cuts off: what was cut receives no gradient.
            widths = [(max(-before, 0), max(-after, 0)) if d == dim else (0, 0) for d in range(len(into))]
            array = np.pad(array, widths, constant_values=-1)
    return batch.tidy(array)


def cat(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Take one part of a concatenation's gradient."""
    dim = dimension(node, len(out))
    if isinstance(own, Rows) and own.dim != dim:
        return own
    array = batch.array(own, len(out))
    if array.shape[dim] == 1:
        return own
    start = _start_of_part(node, slot, dim, out[dim])
    if start is None:
        return batch.tidy(collapse(array, (dim,)))
    return batch.tidy(array[(slice(None),) * dim + (slice(start, start + into[dim]),)])


def _start_of_part(node: Node, slot: int, dim: int, whole: int) -> int | None:
    """Return where a part begins; None where parts before it and after it need no gradient, and so have no size here."""
    parts = [None if child is None else child._input_metadata[k].shape[dim] for child, k in node.next_functions]  # pyright: ignore
    before, rest = parts[:slot], parts[slot:]
    if None not in before:
        return sum(before)  # pyright: ignore
    return None if None in rest else whole - sum(rest)  # pyright: ignore


def stack(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Take one part of a stack's gradient."""
    dim = dimension(node, len(out))
    if isinstance(own, Rows) and own.dim != dim:
        return Rows(own.dim - (own.dim > dim), own.outer, own.inner)
    array = batch.array(own, len(out))
    index = slot if array.shape[dim] > 1 else 0
    return batch.tidy(np.asarray(array.take(index, dim)))


def repeat(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Add up a gradient over repetitions."""
    shift = len(out) - len(into)
    if isinstance(own, Rows):
        times = out[own.dim] // into[own.dim - shift] if own.dim >= shift and into[own.dim - shift] else 0
        if times and own.outer % times == 0:
            return Rows(own.dim - shift, own.outer // times, own.inner)
    array = batch.array(own, len(out))
    if 0 in into:
        return np.full((1,) * len(into), -1)
    array = collapse(array, tuple(range(shift)))
    array = array.reshape(array.shape[shift:])
    for dim, size in enumerate(into):
        if array.shape[dim] > 1:
            split = array.reshape(*array.shape[:dim], -1, size, *array.shape[dim + 1 :])
            array = collapse(split, (dim,)).squeeze(dim)
    return batch.tidy(array)


def flip(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Reverse dimensions."""
    dims = dimensions(node, len(out), "dims")
    if isinstance(own, Rows) and own.dim not in dims:
        return own
    return batch.tidy(np.flip(batch.array(own, len(out)), tuple(dims)))


def roll(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Shift along dimensions."""
    dims, shifts = [signed(d) for d in saved(node, "dims")], [signed(s) for s in saved(node, "shifts")]
    if isinstance(own, Rows) and dims and own.dim not in {d % len(out) for d in dims}:
        return own
    array = batch.array(own, len(out))
    if dims:
        return batch.tidy(np.roll(array, [-s for s in shifts], dims))
    full = np.broadcast_to(array, out)
    return batch.tidy(np.roll(full.reshape(-1), -shifts[0]).reshape(out))


def diagonal(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Put a gradient on a diagonal; elsewhere it is 0."""
    one, two = dimension(node, len(into), "dim1"), dimension(node, len(into), "dim2")
    rest = [d for d in range(len(into)) if d not in (one, two)]
    last = len(out) - 1
    array = batch.array(own, len(out))
    if array.shape[last] == 1:
        return project(batch, own, list(enumerate(rest)), out, into)
    offset = signed(saved(node, "offset"))
    placed = np.full([*array.shape[:last], into[one], into[two]], -1)
    steps = np.arange(out[last])
    placed[..., steps + max(0, -offset), steps + max(0, offset)] = array
    # The two new dimensions are last so far: move them to where they belong.
    placed = np.moveaxis(placed, (-2, -1), (one, two))
    return batch.tidy(placed)


def unfold(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Put windows of one dimension back, where they overlap."""
    dim = dimension(node, len(into), "dimension")
    return project(batch, own, [(d, d) for d in range(len(into)) if d != dim], out, into)


def split(batch: Batch, node: Node, owns: dict[int, Known], into: Shape) -> Own:
    """Join the gradients of a split's parts; a part that nothing read has none. Parts are as large as the split says."""
    dim = dimension(node, len(into))
    size = getattr(node, "_saved_split_size", None)
    sizes = (
        [size] * (into[dim] // size) + ([into[dim] % size] if into[dim] % size else []) if size else saved(node, "split_sizes")
    )
    return _join(batch, owns, [signed(s) for s in sizes], dim, into)


def unbind(batch: Batch, node: Node, owns: dict[int, Known], into: Shape) -> Own:
    """Join the gradients of an unbound tensor's parts."""
    dim = dimension(node, len(into))
    found = next(iter(owns.values()))
    if isinstance(found, Rows) and not batch.precise and all(isinstance(own, Rows) and own == found for own in owns.values()):
        return Rows(found.dim + (found.dim >= dim), found.outer, found.inner)
    parts: dict[int, Known] = {k: np.expand_dims(batch.array(own, len(into) - 1), dim) for k, own in owns.items()}
    return _join(batch, parts, [1] * into[dim], dim, into)


def as_strided(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Pass ownership through a new look at the same memory: as it is if it moves nothing, as where pools keep the order.

    What moves is found by trying: its backward pass scatters, so that 1..n come back as 1..n only where each stays in place.
    """
    count = math.prod(out)
    if out == into:
        numbers = torch.arange(1.0, count + 1, dtype=torch.float64, device=node._input_metadata[0].device).view(out)  # pyright: ignore
        found = node(numbers)  # pyright: ignore
        if torch.equal(found, numbers):
            return own
    return tried(batch, node, slot, own, out, into)


def _join(batch: Batch, owns: dict[int, Known], sizes: list[int], dim: int, into: Shape) -> Own:
    found = next(iter(owns.values()))
    alike = isinstance(found, Rows) and all(isinstance(own, Rows) and own == found for own in owns.values())
    if isinstance(found, Rows) and alike and found.dim != dim and not batch.precise:
        return found
    arrays = {k: batch.array(own, len(into)) for k, own in owns.items()}
    common = [max(array.shape[d] for array in arrays.values()) for d in range(len(into))]
    parts: list[Array] = []
    for k, size in enumerate(sizes):
        common[dim] = size
        parts.append(np.broadcast_to(arrays[k], common) if k in arrays else np.full(common, -1))
    return batch.tidy(np.concatenate(parts, dim))
