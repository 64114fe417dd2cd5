"""Ownership of a gradient: which environment's loss each of its slices depends on, and how that passes through shapes.

Three forms. By example (`Rows` without a tensor): one dimension, in the batch's order; costs nothing. By environment: an array
of integers that broadcasts to the gradient, a position among the environments or -1 where no loss arrives (the gradient is 0
there, so any label is true of it). `Lost`: some slice may depend on several environments.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mechlearn.agreement.engine.analysis.rows import WHOLE, Rows

Shape = tuple[int, ...]
Array = np.ndarray


class Lost(NamedTuple):
    """Ownership that could not be followed.

    Attributes:
        reason: in words, why.
    """

    reason: str


Known = Rows | Array
Own = Known | Lost

_ABSENT = -1
_MANY = 2**22
"""Of more elements than these none is looked at alone."""


class Conflict(Exception):  # noqa: N818  # no error: it never leaves the walk
    """Slices of different environments meet."""


class Batch:
    """The partition of a batch, as the walk needs it.

    Args:
        index: (B,) the position of each example's environment, at least two, or what makes it.
        size: B.
        precise: label nothing that no loss reaches: slower, and finds out more.

    Attributes:
        relabelled: True once an ownership by environment was taken for one by example.
    """

    def __init__(self, index: Array | Callable[[], Array], size: int, precise: bool = False) -> None:
        self._index, self.size, self.precise = index, size, precise
        self.relabelled = False
        self._repeated: dict[tuple[int, int], Array] = {}

    @property
    def index(self) -> Array:
        """The position of each example's environment, in the smallest type that has them all: some arrays of them are large."""
        if callable(self._index):
            self._index = self._index()
            self._index = self._index.astype(np.min_scalar_type(-1 - int(self._index.max(initial=0))))
        return self._index

    def along(self, outer: int, inner: int) -> Array:
        """Return the environments along a dimension of size outer * B * inner."""
        found = self._repeated.get((outer, inner))
        if found is None:
            found = self._repeated[outer, inner] = np.tile(np.repeat(self.index, inner), outer)
        return found

    def array(self, own: Known, dims: int) -> Array:
        """Return an ownership by environment, for a gradient of so many dimensions."""
        if not isinstance(own, Rows):
            return own
        shape = [1] * dims
        shape[own.dim] = own.outer * self.size * own.inner
        return self.along(own.outer, own.inner).reshape(shape)

    def without(self, own: Known, shape: Shape, mask: Tensor, stops: bool) -> Known:
        """Return an ownership that says where no gradient arrives; of a large gradient as it was.

        Args:
            own: of a gradient.
            shape: of the gradient.
            mask: broadcasts to it.
            stops: whether no gradient arrives where the mask is not 0, or where it is.
        """
        if math.prod(shape) > _MANY or mask.layout != torch.strided:
            return own
        stopped = mask if mask.dtype == torch.bool else mask != 0
        nothing = (stopped if stops else ~stopped).numpy(force=True)
        array = self.array(own, len(shape))
        found = array | -nothing.astype(array.dtype)  # -1 has all bits set; np.where takes twenty times as long
        return np.broadcast_to(found, shape)

    def tidy(self, own: Array) -> Known:
        """Return the cheapest true form of an ownership: by example where possible, small where constant."""
        return narrowed(own, range(own.ndim)) if self.precise and own.size else self.relaxed(own)

    def relaxed(self, own: Array) -> Known:
        """Do so also where labels of slices that no loss reaches must be made up."""
        if own.size == 0:
            return np.full((1,) * own.ndim, _ABSENT)
        for axis in reversed(range(own.ndim)):
            if own.shape[axis] > 1:
                try:
                    own = collapse(own, (axis,))
                except Conflict:
                    continue
        wide = [axis for axis in range(own.ndim) if own.shape[axis] > 1]
        if len(wide) != 1:
            return own
        (axis,), flat = wide, own.reshape(-1)
        times, over = divmod(len(flat), self.size)
        if over == 0:
            for outer, inner in ((1, times), (times, 1)) if times > 1 else ((1, 1),):
                if ((flat == self.along(outer, inner)) | (flat == _ABSENT)).all():
                    self.relabelled = True
                    return Rows(axis, outer, inner)
        return own

    def rows(self, own: Known) -> Rows | None:
        """Return an ownership as formulas take it; None where no single dimension tells environments apart."""
        if isinstance(own, Rows):
            return own
        own = self.relaxed(own)
        if isinstance(own, Rows):
            return own
        wide = [axis for axis in range(own.ndim) if own.shape[axis] > 1]
        if len(wide) > 1:
            return None
        return Rows(wide[0] if wide else WHOLE, owners=torch.from_numpy(own.reshape(-1).astype(np.int64)))


def narrowed(own: Array, axes: Iterable[int]) -> Array:
    """Return an ownership with size 1 along those of some axes along which it does not vary."""
    for axis in axes:
        if own.shape[axis] > 1:
            first = own.take([0], axis)
            own = first if (own == first).all() else own
    return own


def collapse(own: Array, axes: tuple[int, ...]) -> Array:
    """Return the one environment of all slices along axes, which are kept with size 1."""
    if not axes:
        return own
    highest = own.max(axis=axes, keepdims=True)
    without_sign = own.view(np.dtype(f"u{own.itemsize}"))  # there -1 is above all others
    lowest = without_sign.min(axis=axes, keepdims=True).view(own.dtype)
    if not (lowest == highest).all():
        raise Conflict
    return highest


def project(batch: Batch, own: Known, pairs: Sequence[tuple[int, int]], out: Shape, into: Shape) -> Known:
    """Pass ownership through an operation that treats some dimensions index by index and mixes all others.

    Args:
        batch: the partition.
        own: of the incoming gradient.
        pairs: (dimension of the incoming gradient, dimension of the outgoing one), treated alike index by index.
        out: the incoming gradient's shape (that of the operation's output).
        into: the outgoing gradient's shape (that of the operation's input).
    """
    if isinstance(own, Rows):
        for o, i in pairs:
            if o == own.dim and out[o] == into[i]:
                return own if i == o else Rows(i, own.outer, own.inner)
        if all(o != own.dim for o, _ in pairs):
            raise Conflict  # all examples meet, and there are several environments
        own = batch.array(own, len(out))
    if own.size == 0:
        return np.full((1,) * len(into), _ABSENT)
    kept = [(o, i) for o, i in pairs if own.shape[o] > 1 and out[o] == into[i]]
    stay = {o for o, _ in kept}
    own = collapse(own, tuple(o for o in range(own.ndim) if own.shape[o] > 1 and o not in stay))
    shape = [1] * len(into)
    for o, i in kept:
        shape[i] = own.shape[o]
    # Kept axes in the order that the result has them in.
    order = [o for o, _ in sorted(kept, key=lambda pair: pair[1])]
    rest = [o for o in range(own.ndim) if o not in stay]
    return own.transpose([*rest, *order]).reshape(shape)


def read_here(own: Known, out: Shape, parameters: Sequence[int] = ()) -> Own:
    """Say that rows end here, at an input that no example is in; lost where owners vary along dimensions that it has, too.

    Args:
        own: of the incoming gradient.
        out: its shape.
        parameters: the dimensions that the input has as well.
    """
    varies = [own.dim] if isinstance(own, Rows) else [d for d in range(len(out)) if own.shape[d] > 1]
    if any(d in parameters for d in varies):
        return Lost("rows of different environments lie along a dimension of a parameter")
    raise Conflict


def merge(batch: Batch, one: Own, other: Own, dims: int, name: str) -> Own:
    """Return the ownership of a sum of two gradients."""
    if isinstance(one, Lost):
        return one
    if isinstance(other, Lost):
        return other
    if one is other or (isinstance(one, Rows) and isinstance(other, Rows) and one == other):
        return one
    a, b = batch.array(one, dims), batch.array(other, dims)
    if ((a != b) & (a != _ABSENT) & (b != _ABSENT)).any():
        return Lost(f"rows of different environments meet at the output of {name}")
    return batch.tidy(np.maximum(a, b))


def reshape(batch: Batch, own: Known, out: Shape, into: Shape) -> Known:
    """Pass ownership through a view of the same elements in the same order."""
    if isinstance(own, Rows):
        before = math.prod(out[: own.dim]) * own.outer
        after = math.prod(out[own.dim + 1 :]) * own.inner
        left = 1
        for dim, size in enumerate(into):
            right = math.prod(into[dim + 1 :])
            if (
                left
                and right
                and before % left == 0
                and after % right == 0
                and size == before // left * batch.size * (after // right)
            ):
                return Rows(dim, before // left, after // right)
            left *= size
        own = batch.array(own, len(out))
    if math.prod(out) == 0:
        return np.full((1,) * len(into), _ABSENT)
    return batch.tidy(_reshape_array(own, out, into))


def _reshape_array(own: Array, out: Shape, into: Shape) -> Array:
    """Split both shapes into runs of dimensions of equal size, and write out those in which owners vary."""
    wide, target, spread = list[int](), list[int](), list[int]()
    i = 0
    for o, size in _runs(out, into):
        block, sizes = out[o : o + size[0]], into[i : i + size[1]]
        varies = any(own.shape[axis] > 1 for axis in range(o, o + size[0]))
        wide += block if varies else [1] * len(block)
        target += sizes if varies else [1] * len(sizes)
        if varies and block != sizes:
            spread += range(i, i + len(sizes))
        i += size[1]
    return narrowed(np.broadcast_to(own, wide).reshape(target), spread)


def _runs(out: Shape, into: Shape) -> list[tuple[int, tuple[int, int]]]:
    """Return (first dimension of ``out``, (how many of out, how many of into)) of runs whose sizes have one product."""
    runs = list[tuple[int, tuple[int, int]]]()
    o = i = 0
    while o < len(out) or i < len(into):
        a, b = o, i
        left = right = 1
        while True:
            if left <= right and a < len(out) and (left < right or a == o):
                left *= out[a]
                a += 1
            elif b < len(into) and (right < left or b == i):
                right *= into[b]
                b += 1
            else:
                break
        runs.append((o, (a - o, b - i)))
        o, i = a, b
    return runs
