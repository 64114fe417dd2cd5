"""Gathers and scatters: rows stay where they are if what is read or written along other dimensions is all that is chosen."""

from collections.abc import Sequence

import torch
from torch.fx import Node

from mechlearn.agreement.compiled.calls import Call, Rule, shape_of
from mechlearn.agreement.compiled.tags import SUMMED, Free, Row, Size, Tag, agree, same


def _alike(call: Call, names: Sequence[str], dim: int) -> Tag:
    """Return the rows of operands that have the same ones, or are constant along them, in another dimension than ``dim``."""
    operands = [call[name] for name in names if isinstance(call[name], Node)]
    row = agree([tag for operand in operands if isinstance(tag := call.tag(operand), Row)])
    if row is None or row.dim == dim:
        return call.mixed("rows are chosen")
    for operand in operands:
        tag, shape = call.tag(operand), shape_of(operand)
        alike = len(shape) == len(call.out) and same(shape[row.dim], call.out[row.dim])
        if not alike or not (isinstance(tag, Row) or (isinstance(tag, Free) and tag.constant(row.dim))):
            return call.mixed("rows meet a tensor that differs from row to row")
    return row


def gather(call: Call) -> Tag:
    """Read and write along another dimension, of each row by itself."""
    (dim,) = call.dims("dim", call["self"])
    return _alike(call, ("self", "index", "src", "value"), dim)


def index_select(call: Call) -> Tag:
    """Choose entries of another dimension, the same ones in each row."""
    tag = call.tag(call["self"])
    (dim,) = call.dims("dim", call["self"])
    fine = isinstance(tag, Row) and tag.dim != dim and isinstance(call.tag(call["index"]), Free)
    return tag if fine else call.mixed("rows are chosen")


def scattered(call: Call) -> Tag:
    """Write a slice or an entry of another dimension."""
    tags = [call.tag(call[name]) for name in ("self", "src")]
    whole, part = tags
    (dim,) = call.dims("dim", call["self"])
    entry = call.name == "aten.select_scatter"
    found: list[Row] = [tag for tag in (whole,) if isinstance(tag, Row)]
    if isinstance(part, Row):
        found.append(part._replace(dim=part.dim + (entry and part.dim >= dim)))
    row = agree(found)
    if row is not None and row.dim == dim and not entry and isinstance(part, Row) and agree([row, part]):
        return row if same(shape_of(call["src"])[dim], call.out[dim]) else call.mixed("a part of the rows")
    if row is None or row.dim == dim:
        return call.mixed("a part of the rows")
    own = row.dim - (entry and row.dim > dim)
    fine = all(
        isinstance(tag, Row) or (isinstance(tag, Free) and tag.constant(at)) for tag, at in ((whole, row.dim), (part, own))
    )
    return row if fine else call.mixed("rows meet a tensor that differs from row to row")


def embedding(call: Call) -> Tag:
    """Look rows' entries up in a table that belongs to no row."""
    indices = call.tag(call["indices"])
    fine = isinstance(indices, Row) and isinstance(call.tag(call["weight"]), Free)
    return indices if fine else call.mixed("a table of rows")


def embedding_backward(call: Call) -> Tag:
    """Add rows' gradients up in a table: a sum over rows, unless an entry's frequency in the batch counts."""
    alike = [call.tag(call[name]) for name in ("grad_output", "indices")]
    fine = all(isinstance(tag, Row) for tag in alike) and agree(alike)  # pyright: ignore[reportArgumentType]
    return SUMMED if fine and not call["scale_grad_by_freq"] else call.mixed("an embedding's frequencies")


class _Indexed:
    """How index tensors address a tensor.

    Args:
        call: an operation with the arguments ``self`` and ``indices``.
    """

    def __init__(self, call: Call) -> None:
        self.call, self.given = call, list(call["indices"])
        self.places = [place for place, index in enumerate(self.given) if index is not None]
        self.broadcast = max(len(shape_of(self.given[place])) for place in self.places)
        adjacent = self.places == list(range(self.places[0], self.places[-1] + 1))
        self.first = self.places[0] if adjacent else 0
        """The dimension of the result at which the indices' own begin."""

    def rows(self) -> Row | bool | None:
        """Return the rows of the index tensors, by the result's dimensions; None for none, False where they do not agree."""
        found: list[Row] = []
        if any(self.given[place].meta["val"].dtype in (torch.bool, torch.uint8) for place in self.places):
            return False  # a mask addresses as many dimensions as it has
        for place in self.places:
            tag, shape = self.call.tag(self.given[place]), shape_of(self.given[place])
            if isinstance(tag, Row):
                found.append(tag._replace(dim=tag.dim + self.broadcast - len(shape)))
        if not found:
            return None
        row = agree(found)
        fine = row is not None and all(self.constant(place, row.dim) for place in self.places)
        return row._replace(dim=row.dim + self.first) if row is not None and fine else False

    def constant(self, place: int, dim: int) -> bool:
        """Tell whether an index has rows, or is the same for all; or counts the rows themselves."""
        index = self.given[place]
        tag, shape = self.call.tag(index), shape_of(index)
        own = dim - (self.broadcast - len(shape))
        if not isinstance(tag, Free):
            return isinstance(tag, Row)
        return own < 0 or same(shape[own], 1) or tag.constant(own) or tag.counts == own

    def counted(self, place: int, dim: int, size: Size) -> bool:
        """Tell whether an index counts all of the rows, along a dimension of the broadcast indices."""
        index = self.given[place]
        tag, shape = self.call.tag(index), shape_of(index)
        own = dim - (self.broadcast - len(shape))
        return isinstance(tag, Free) and tag.counts is not None and tag.counts == own and own >= 0 and same(shape[own], size)

    def moved(self, dim: int) -> int:
        """Return where a dimension that is not indexed lies in the result."""
        before = sum(place < dim for place in self.places)
        return dim - before + self.broadcast if dim > self.first or before else dim


def index(call: Call) -> Tag:
    """Read where index tensors say: entries of each row, of a table, or of each row by its number."""
    found, tag = _Indexed(call), call.tag(call["self"])
    rows = found.rows()
    if rows is False:
        return call.mixed("indices of different rows")
    if isinstance(tag, Free):
        counts = any(_counts(call, found, place) for place in found.places)
        return rows if isinstance(rows, Row) and not counts else call.mixed("a table read by the number of a row")
    if not isinstance(tag, Row):
        return call.mixed()
    if tag.dim not in found.places:
        return tag._replace(dim=found.moved(tag.dim)) if rows is None else call.mixed("indices of rows in other rows")
    return _by_number(call, found, tag, rows)


def _by_number(call: Call, found: _Indexed, tag: Row, rows: Row | bool | None) -> Tag:
    """Return the rows where one index counts them, as in ``x[arange(B), labels]``."""
    counting = call.tag(found.given[tag.dim])
    if not isinstance(counting, Free) or counting.counts is None or not same(tag.post, 1):
        return call.mixed("rows are chosen")
    dim = counting.counts + found.broadcast - len(shape_of(found.given[tag.dim]))
    size = shape_of(call["self"])[tag.dim]
    whole = same(size, call.rows) and found.counted(tag.dim, dim, size)
    fits = rows is None or (isinstance(rows, Row) and rows.dim == dim + found.first and same(rows.post, 1))
    others = [place for place in found.places if place != tag.dim]
    if not whole or not fits or any(_counts(call, found, place) for place in others):
        return call.mixed("rows are chosen")
    alike = rows is not None or all(found.constant(place, dim) for place in others)
    return Row(dim + found.first) if alike else call.mixed("rows are chosen")


def _counts(call: Call, found: _Indexed, place: int) -> bool:
    tag = call.tag(found.given[place])
    return isinstance(tag, Free) and tag.counts is not None


def index_put(call: Call) -> Tag:
    """Write where index tensors say: into each row, or onto zeros that belong to no row, which is a sum over rows."""
    found, base, values = _Indexed(call), call.tag(call["self"]), call.tag(call["values"])
    rows = found.rows()
    if rows is False or not isinstance(values, Row):
        return call.mixed("rows are written to")
    value = values._replace(dim=values.dim + _width(call, found) - len(shape_of(call["values"])))
    counting = [place for place in found.places if _counts(call, found, place)]
    if counting:
        return _onto_rows(call, found, counting, value)
    if _placed(call) is not None:
        return SUMMED if call["accumulate"] else call.mixed("rows are written to a table")
    own = [dim for dim in range(len(call.out)) if dim not in found.places and found.moved(dim) == value.dim]
    row = value._replace(dim=own[0]) if own and rows is None else None
    fine = row is not None and (
        base.constant(row.dim) if isinstance(base, Free) else isinstance(base, Row) and agree([base, row]) is not None
    )
    return row if row is not None and fine else call.mixed("rows are written to")


def _placed(call: Call) -> dict[Node, Row] | None:
    """Return where the operands of a write onto zeros have rows, constants too that have an entry for each; None if it is none.

    The rows of the values must lie in a dimension of the index tensors, which are of the same rows or the same for all.
    """
    found, base, values = _Indexed(call), call.tag(call["self"]), call.tag(call["values"])
    if not isinstance(values, Row) or not isinstance(base, Free) or not base.zero or found.rows() is False:
        return None
    dim = values.dim + _width(call, found) - len(shape_of(call["values"]))
    operands = [(found.given[place], dim - found.first, found.broadcast) for place in found.places]
    if isinstance(call["mask"], Node):
        operands.append((call["mask"], dim, _width(call, found)))
    placed: dict[Node, Row] = {}
    inside = found.first <= dim < found.first + found.broadcast
    for operand, place, count in operands:
        tag, shape = call.tag(operand), shape_of(operand)
        own = place - (count - len(shape))
        if isinstance(tag, Row):
            inside = inside and agree([tag, values._replace(dim=own)]) is not None
        elif isinstance(tag, Free) and own >= 0 and not same(shape[own], 1):
            inside = inside and tag.constant(own)
            placed[operand] = values._replace(dim=own)
        else:
            inside = inside and isinstance(tag, Free)
    return placed if inside else None


def _width(call: Call, found: _Indexed) -> int:
    """Return how many dimensions the values have once they are broadcast."""
    return len(call.out) - len(found.places) + found.broadcast


def _onto_rows(call: Call, found: _Indexed, counting: Sequence[int], value: Row) -> Tag:
    """Return the rows where they are written by their numbers, as the gradient of ``x[arange(B), labels]`` is."""
    (place, *more) = counting
    counts = call.tag(found.given[place])
    base = call.tag(call["self"])
    assert isinstance(counts, Free)
    dim = (counts.counts or 0) + found.broadcast - len(shape_of(found.given[place]))
    size = call.out[place]
    whole = same(size, call.rows) and found.counted(place, dim, size) and same(value.post, 1)
    fits = value.dim == dim + found.first and not more
    onto = isinstance(base, Free) and base.constant(place)
    return Row(place) if whole and fits and onto else call.mixed("rows are written to")


def masked_put(call: Call) -> Tag:
    """Add rows' values up in a table of zeros where a mask of the same rows says: an embedding's gradient."""
    found = _Indexed(call)
    counting = any(_counts(call, found, place) for place in found.places)
    return SUMMED if not counting and _placed(call) is not None else call.mixed("rows are written to a table")


def along_rows(call: Call) -> dict[Node, Row]:
    """Return index tensors that are the same for all rows and have an entry for each: where a sum over rows reads them."""
    return (_placed(call) or {}) if call.name in _PUTS else {}


_PUTS = ("aten.index_put", "aten._unsafe_index_put", "aten._unsafe_masked_index_put_accumulate")

RULES: dict[str, Rule] = {
    "aten.gather": gather,
    "aten.scatter": gather,
    "aten.scatter_add": gather,
    "aten.scatter_reduce": gather,
    "aten.index_select": index_select,
    "aten.slice_scatter": scattered,
    "aten.select_scatter": scattered,
    "aten.embedding": embedding,
    "aten.embedding_dense_backward": embedding_backward,
    "aten.index": index,
    "aten._unsafe_index": index,
    "aten.index_put": index_put,
    "aten._unsafe_index_put": index_put,
    "aten._unsafe_masked_index_put_accumulate": masked_put,
}
