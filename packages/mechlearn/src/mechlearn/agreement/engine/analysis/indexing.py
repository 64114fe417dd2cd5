"""Operations whose indices are data: what they send where is read from what this call's graph saved.

Gathering gives index j of the output what index i[j] of the input holds, so its gradient is scattered; scattering the other way
round. Two environments whose slices end up in one place are found exactly.
"""

import math

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.owners import Array, Batch, Conflict, Known, Own, Rows, Shape, collapse
from mechlearn.agreement.engine.analysis.saved import dimension, numpy, saved


def index(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x[i, :, j]: scatter to the places looked up."""
    keys = _keys(node, len(into))
    array = batch.array(own, len(out))
    places, looked_up = _places(keys, into, array, out)
    return batch.tidy(_scatter(array, places, looked_up))


def index_put(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x[i, :, j] = values: the old values' gradient stays in place, the new ones' is looked up."""
    if slot == 0:
        return own
    keys = _keys(node, len(out))
    if any(key is None for key in keys) and len(into) != 1 and isinstance(own, Rows) and keys[own.dim] is None:
        # The dimension that tells examples apart is not indexed.
        shape = np.empty(out, np.bool_)[tuple(slice(None) if key is None else key for key in keys)].shape
        return _settle(batch, batch.array(own, len(out)), keys, out, shape, into)
    shape = np.broadcast_to(np.False_, out)[tuple(slice(None) if key is None else key for key in keys)].shape
    return _settle(batch, batch.array(own, len(out)), keys, out, shape, into)


def _settle(batch: Batch, array: Array, keys: list[Array | None], whole: Shape, shape: Shape, into: Shape) -> Own:
    found = np.broadcast_to(array, whole)[tuple(slice(None) if key is None else key for key in keys)]
    extra = len(shape) - len(into)
    found = collapse(found, tuple(range(extra))).reshape(found.shape[extra:]) if extra > 0 else found
    summed = tuple(d for d, size in enumerate(into) if size == 1 and found.shape[d] > 1)
    return batch.tidy(collapse(found, summed))


def index_select(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x.index_select(dim, i): scatter along one dimension."""
    dim = dimension(node, len(into))
    if isinstance(own, Rows) and own.dim != dim:
        return own
    array = batch.array(own, len(out))
    if array.shape[dim] == 1:
        array = array.repeat(out[dim], dim)
    keys: list[Array | None] = [None] * len(into)
    keys[dim] = numpy(saved(node, "index"))
    places, looked_up = _places(keys, into, array, out)
    return batch.tidy(_scatter(array, places, looked_up))


def gather(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x.gather(dim, i) and what sorts or picks along a dimension: scatter to the saved indices."""
    if not into:
        return own
    dim = dimension(node, len(into))
    name = "indices" if hasattr(node, "_saved_indices") else "index"
    if isinstance(own, Rows):
        keepdim = len(out) == len(into)
        at = own.dim if keepdim else own.dim + (own.dim >= dim)
        if at != dim and out[own.dim] == into[at]:
            return Rows(at, own.outer, own.inner)
    indices = numpy(saved(node, name))
    array = batch.array(own, len(out))
    if indices.ndim < len(into):
        indices, array = np.expand_dims(indices, dim), np.expand_dims(array, dim)
    return batch.tidy(_gathered(array, indices, dim, into))


def _gathered(array: Array, indices: Array, dim: int, into: Shape) -> Array:
    owners = np.broadcast_to(array, indices.shape)
    grid = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grid[dim] = indices
    strides = [math.prod(into[d + 1 :]) for d in range(len(into))]
    places = sum(g * s for g, s in zip(grid, strides, strict=True))
    return _scatter(owners, np.broadcast_to(places, indices.shape), into)


def scatter(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x.scatter(dim, i, src) and its kin: x's gradient stays in place, src's is gathered."""
    if slot == 0:
        return own
    dim = dimension(node, len(out))
    indices = numpy(saved(node, "index"))
    if isinstance(own, Rows) and own.dim != dim and out[own.dim] == into[own.dim]:
        return own
    array = batch.array(own, len(out))
    owners = np.broadcast_to(array, out)
    grid = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grid[dim] = indices
    placed = np.full(into, -1)
    placed[tuple(slice(n) for n in indices.shape)] = owners[tuple(grid)]
    return batch.tidy(placed)


def index_add(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x.index_add(dim, i, source), index_copy: x's gradient stays in place, source's is looked up."""
    if slot == 0:
        return own
    dim = dimension(node, len(out))
    if isinstance(own, Rows) and own.dim != dim:
        return own
    array = batch.array(own, len(out))
    return own if array.shape[dim] == 1 else batch.tidy(array.take(numpy(saved(node, "index")).reshape(-1), dim))


def masked_select(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x.masked_select(mask): the chosen elements in order go back to where they were."""
    array = np.broadcast_to(batch.array(own, 1), out)
    mask = np.broadcast_to(numpy(saved(node, "mask")), into)
    placed = np.full(into, -1)
    placed[mask] = array
    return batch.tidy(placed)


def masked_scatter(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x.masked_scatter(mask, source): x's gradient stays in place, source's first elements are what the mask chose."""
    if slot == 0:
        return own
    owners = np.broadcast_to(batch.array(own, len(out)), out)[np.broadcast_to(numpy(saved(node, "mask")), out)]
    placed = np.full(math.prod(into), -1)
    placed[: len(owners)] = owners
    return batch.tidy(placed.reshape(into))


def take(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """x.take(i): scatter to the places looked up, counted through all dimensions."""
    places = numpy(saved(node, "index")).reshape(-1)
    owners = np.broadcast_to(batch.array(own, len(out)), out).reshape(-1)
    return batch.tidy(_scatter(owners, places % max(1, math.prod(into)), into))


def segment_reduce(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Reductions over runs of rows: each row goes where its run went."""
    lengths, axis = saved(node, "lengths"), dimension(node, len(into), "axis")
    if slot != 0 or axis != 0 or lengths is None or lengths.dim() != 1:
        raise Conflict
    array = batch.array(own, len(out))
    return own if array.shape[0] == 1 else batch.tidy(array.repeat(numpy(lengths), 0))


def packed(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Rows of sequences, step by step and without padding: put each back to its sequence and step."""
    array = batch.array(own, len(out))
    if array.shape[0] == 1:
        array = array.repeat(out[0], 0)
    steps, sequences = (into[1], into[0]) if saved(node, "batch_first") else into[:2]
    running = np.arange(sequences) < numpy(saved(node, "result1"))[:steps, None]
    placed = np.full((steps, sequences, *array.shape[1:]), -1, array.dtype)
    placed[: len(running)][running] = array
    return batch.tidy(placed.swapaxes(0, 1) if saved(node, "batch_first") else placed)


def _keys(node: Node, dims: int) -> list[Array | None]:
    """Return an advanced index, one array or None (all of it) for each dimension; masks become indices."""
    keys: list[Array | None] = []
    found: list[Tensor | None] = list(saved(node, "indices"))
    for key in found:
        if key is None:
            keys.append(None)
        elif key.dtype in (torch.bool, torch.uint8):
            keys += list(np.nonzero(numpy(key.bool())))
        else:
            keys.append(numpy(key))
    return keys + [None] * (dims - len(keys))


def _places(keys: list[Array | None], into: Shape, array: Array, out: Shape) -> tuple[Array, Shape]:
    """Return where each slice of the output was looked up, and the shape that this counts through.

    Dimensions that are not indexed, and along which owners do not vary, are left out (as if of size 1).
    """
    used = [d for d, key in enumerate(keys) if key is not None]
    adjacent = used == list(range(used[0], used[-1] + 1)) if used else True
    first = used[0] if adjacent and used else 0
    width = max((k.ndim for k in keys if k is not None), default=0)
    looked_up = list(into)
    at = 0  # position among the output's dimensions
    for d, key in enumerate(keys):
        if d == first and used:
            at += width if adjacent else 0
        if key is None:
            where = at if adjacent else width + at
            if array.shape[where] == 1:
                looked_up[d] = 1
            at += 1
    numbers = np.arange(math.prod(looked_up)).reshape(looked_up)
    return numbers[tuple(slice(None) if key is None else key for key in keys)], tuple(looked_up)


def _scatter(owners: Array, places: Array, shape: Shape) -> Array:
    """Return the owner of every place that something is sent to, -1 elsewhere."""
    flat, where = np.broadcast_to(owners, places.shape).reshape(-1), places.reshape(-1)
    sent = flat >= 0
    flat, where = flat[sent], where[sent]
    found = np.full(math.prod(shape), -1)
    found[where] = flat  # of several, any one
    if (found[where] != flat).any():
        raise Conflict
    return found.reshape(shape)
