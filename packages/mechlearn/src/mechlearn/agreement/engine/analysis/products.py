"""Matrix products, attention, recurrent layers, normalisations: which dimensions each keeps apart, operand by operand."""

from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.owners import Batch, Conflict, Known, Lost, Own, Rows, Shape, merge, project, read_here
from mechlearn.agreement.engine.analysis.saved import saved

Pairs = tuple[tuple[int, int], ...]


def _of(*operands: Pairs | None):  # noqa: ANN202  # a rule
    """Return a rule that reads the pairs of dimensions (output, operand) that the product treats index by index."""

    def rule(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
        pairs = operands[slot]
        if pairs is None:  # a summand that broadcasts to the output
            shift = len(into) - len(out)
            pairs = tuple((o, o + shift) for o in range(len(out)) if o + shift >= 0)
        return project(batch, own, pairs, out, into)

    return rule


mm = _of(((0, 0),), ((1, 1),))
addmm = _of(None, ((0, 0),), ((1, 1),))
bmm = _of(((0, 0), (1, 1)), ((0, 0), (2, 2)))
baddbmm = _of(None, ((0, 0), (1, 1)), ((0, 0), (2, 2)))
mv = _of(((0, 0),), ())
addmv = _of(None, ((0, 0),), ())
dot = _of((), ())
addr = _of(None, ((0, 0),), ((1, 0),))


def linear(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """A linear layer as one node: all but the features are rows."""
    if slot:
        return read_here(own, out, (len(out) - 1,))
    return project(batch, own, [(d, d) for d in range(len(out) - 1)], out, into)


def grouped(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Products of rows (n, d) with one matrix a group of adjacent rows, (g, d, o): what lies between are matrices."""
    if slot == 0 and len(out) == len(into) == 2:
        return project(batch, own, ((0, 0),), out, into)
    raise Conflict


def cdist(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Distances (..., p, r) of rows (..., p, m) and (..., r, m)."""
    n = len(out)
    lead = [(n - len(into) + d, d) for d in range(len(into) - 2)]
    return project(batch, own, [*lead, (n - 2 + slot, len(into) - 2)], out, into)


def trilinear(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """The node of `torch.nn.functional.bilinear`: its first and third operand hold rows."""
    if slot == 1:
        return read_here(own, out, (1,))
    return project(batch, own, ((0, 0),), out, into)


def attention(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Scaled dot products of queries, keys and values (..., positions, features); what is added to them is (..., q, k)."""
    return project(batch, own, [(d, d) for d in range(len(out) - 2)], out, into)


def look_up(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Rows of a table by saved indices: whoever looks a row up owns a part of its gradient."""
    raise Conflict


def layer_norm(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Normalises over the last dimensions; scale and shift are read elsewhere."""
    kept = len(out) - len(saved(node, "normalized_shape"))
    if slot:
        return read_here(own, out, range(kept, len(out)))
    return project(batch, own, [(d, d) for d in range(kept)], out, into)


def batch_norm(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Normalises each channel: with stored statistics element by element, else over all but the channels."""
    if slot:
        return project(batch, own, ((1, 0),), out, into)
    return project(batch, own, ((1, 1),), out, into) if uses_batch_statistics(node) else own


def uses_batch_statistics(node: Node) -> bool:
    """Tell whether a BatchNorm's node normalised with the statistics of the batch."""
    return bool(getattr(node, "_saved_training", getattr(node, "_saved_train", True)))


def nll_2d(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Picks a class at each place: (b, classes, h, w) to (b, h, w), or to one number."""
    return project(batch, own, ((0, 0), (1, 2), (2, 3)) if len(out) == 3 else (), out, into)


def ctc(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """(time, b, classes) to (b,)."""
    return project(batch, own, ((0, 1),) if len(out) == 1 and len(into) == 3 else (), out, into)


def channel_shuffle(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Permutes dimension 1."""
    return project(batch, own, [(d, d) for d in range(len(out)) if d != 1], out, into)


def complex_view(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Turns two real numbers into a complex one, or back."""
    return project(batch, own, [(d, d) for d in range(min(len(out), len(into)))], out, into)


def recurrent(batch: Batch, node: Node, owns: dict[int, Known], into: Shape) -> Own:
    """A recurrent layer as one node: outputs (time, b, h), and states (..., b, h); each example by itself."""
    found: Known | None = None
    for number, own in owns.items():
        out = tuple(node._input_metadata[number].shape)  # pyright: ignore
        one = project(batch, own, ((len(out) - 2, 0),), out, (out[-2],))  # pyright: ignore
        joined = one if found is None else merge(batch, found, one, 1, "a recurrent layer")
        if isinstance(joined, Lost):
            raise Conflict
        found = joined
    if found is None or not isinstance(found, Rows) or len(into) < 2:
        raise Conflict
    return Rows(len(into) - 2, found.outer, found.inner)
