"""How every value of a traced graph depends on the rows of the batch, found in one walk; what no table names mixes rows."""

import operator
from typing import Any

import torch
from torch.fx import Graph, Node

from mechlearn.agreement.compiled import marks
from mechlearn.agreement.compiled.calls import Call, Rule, is_operation, shape_of
from mechlearn.agreement.compiled.tables import RULES, is_pointwise, pointwise
from mechlearn.agreement.compiled.tables.linear import linear
from mechlearn.agreement.compiled.tables.pointwise import NAMES as COPIES
from mechlearn.agreement.compiled.tags import CONSTANT, FREE, ZERO, Free, Mixed, Row, Size, Summed, Tag, Tags, known, same

_MARKS = (marks.ROWS, marks.ROWS_GRADIENT, marks.TANGENT, marks.LOSSES)

_FILLED = (
    "full",
    "full_like",
    "new_full",
    "scalar_tensor",
    "zeros",
    "zeros_like",
    "new_zeros",
    "ones",
    "ones_like",
    "new_ones",
)

_BLANK = ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")

_DRAWN = ("rand", "randn", "rand_like", "randn_like", "bernoulli", "randint", "randint_like")

_SIZES = ("sym_size", "sym_numel", "sym_stride", "sym_storage_offset")

_MOVED = ("view", "reshape", "_unsafe_view", "permute", "expand", "unsqueeze", "squeeze", "slice", "select", "clone", "alias")


def analysed(graph: Graph, rows: Size) -> dict[Node, Tags]:
    """Return what is known of every value.

    Args:
        graph: functional, of forward and backward pass together, with marks.
        rows: B.
    """
    tags: dict[Node, Tags] = {}
    for node in graph.nodes:
        if node.op == "call_function":
            tags[node] = _tag(node, tags, rows)
        elif node.op in ("placeholder", "get_attr"):
            tags[node] = FREE
    return tags


def _tag(node: Node, tags: dict[Node, Tags], rows: Size) -> Tags:
    if node.target is operator.getitem:
        return _item(node, tags)
    if node.target in _MARKS:
        return _marked(node, tags, rows)
    operands = [tags[operand] for operand in node.all_input_nodes]
    if not is_operation(node.target):  # arithmetic of sizes
        return FREE if all(isinstance(tag, Free) for tag in operands) else Mixed(f"{node.target}")
    call = Call(node, tags, rows)
    short = call.name.removeprefix("aten.")
    if short in _FILLED or short in _BLANK or short in _SIZES or (short in _DRAWN and short.endswith("_like")):
        return FREE if short in _SIZES else _made(call, short)
    if all(isinstance(tag, Free) for tag in operands):
        return _of_none(call, short)
    return _of_rows(call, operands)


def _of_rows(call: Call, operands: list[Tags]) -> Tags:
    """Ask the tables about an operation of rows, or of sums over them."""
    for tag in operands:
        if isinstance(tag, Mixed):
            return tag
    if any(type(tag) is tuple for tag in operands):  # a tag is a tuple, too, of another type
        return call.mixed()
    if any(isinstance(tag, Summed) for tag in operands):
        found = linear(call)
        return call.several(found) if isinstance(found, Summed) else found
    if call.target._schema.is_mutable:
        return call.mixed("changes a tensor")
    rule = _rule(call)
    return call.mixed("is in no table") if rule is None else rule(call)


def _rule(call: Call) -> Rule | None:
    """Return the rule of an operation, None where no table names it."""
    rule = RULES.get(call.name)
    return pointwise if rule is None and is_pointwise(call.target) else rule


def _item(node: Node, tags: dict[Node, Tags]) -> Tag:
    source, place = node.args
    found: Any = tags[source]  # pyright: ignore[reportArgumentType]
    if isinstance(found, Row | Free | Summed | Mixed):
        return FREE if isinstance(found, Free) else found if isinstance(found, Mixed) else Mixed("a part of rows")
    return found[place]


def _marked(node: Node, tags: dict[Node, Tags], rows: Size) -> Tag:
    """Take a mark at its word where the door has put it; the gradient of one must have the rows that it says."""
    source = node.args[0]
    assert isinstance(source, Node)
    tag, shape = tags[source], shape_of(source)
    whole = len(shape) > 0 and same(shape[0], rows)
    if node.target in (marks.ROWS, marks.TANGENT):
        return Row(0) if whole and source.op == "placeholder" else Mixed("a mark in the wrong place")
    if isinstance(tag, Free) and whole and tag.constant(0):
        return Row(0)
    fine = isinstance(tag, Row) and tag.dim == 0 and same(tag.post, 1)
    reason = tag.reason if isinstance(tag, Mixed) else "the losses are not row by row"
    return Row(0) if fine and whole else Mixed(reason)


def _made(call: Call, short: str) -> Tags:
    """Return what is known of a tensor that is like others in its shape alone."""
    if short in _DRAWN:
        return Free(noise=True)
    if short in _BLANK:
        return CONSTANT  # nobody may read what is in it
    value = call["fill_value"] if call["fill_value"] is not None else call["s"]
    nothing = "zeros" in short or (isinstance(value, int | float) and not isinstance(value, bool) and value == 0)
    return ZERO if nothing or value is False else CONSTANT


def _of_none(call: Call, short: str) -> Tags:
    """Return what is known of an operation that sees no rows."""
    value = call.node.meta.get("val")
    if isinstance(value, list | tuple):
        return tuple(Free(frozenset(_constant_dims(call, place)[0])) for place in range(len(value)))
    if call.name in ("prims.iota", "aten.arange"):
        return _counting(call)
    if call.name == "aten.repeat":
        return _repeated(call)
    if short in _DRAWN:
        return Free(noise=True)
    return _constant(call, short) if isinstance(value, torch.Tensor) else FREE


def _constant(call: Call, short: str) -> Tag:
    """Return along which dimensions a result is constant, and whether it is 0, or noise, or a count, as its operands are."""
    frees = [tag for operand in call.operands if isinstance(tag := call.tag(operand), Free)]
    moves = short in _MOVED or call.name in COPIES
    entrywise = moves or is_pointwise(call.target)
    if entrywise and all(tag.flat is None for tag in frees):
        return frees[0] if moves and frees else CONSTANT
    noise = entrywise and bool(frees) and all(tag.noise or tag.flat is None for tag in frees)
    flat, row = _constant_dims(call)
    if row is not None and not flat:
        return row
    counts = _counted(call) if moves and frees[0].counts is not None else None
    return Free(frozenset(flat), moves and frees[0].zero, noise, counts)


def _repeated(call: Call) -> Tag:
    """Return the rows of a tensor that is repeated once for each."""
    old = shape_of(call.operands[0])
    missing = len(call.out) - len(old)
    shape = (*[1] * missing, *old)
    grown = [dim for dim, size in enumerate(call.out) if not same(size, shape[dim])]
    if len(grown) != 1:
        return FREE
    (dim,) = grown
    if same(shape[dim], 1):
        return Free(frozenset({dim}))
    return Row(dim, shape[dim]) if same(call.out[dim], shape[dim] * call.rows) else FREE


def _constant_dims(call: Call, place: int | None = None) -> tuple[set[int], Row | None]:
    """Return along which dimensions a result is constant, as its operands are, and the rows if there are as many.

    What treats rows one by one makes equal rows of equal rows: so a rule is asked as if the constant dimension held rows.
    """
    found: set[int] = set()
    rows: Row | None = None
    value = call.node.meta["val"] if place is None else call.node.meta["val"][place]
    out = tuple(value.shape) if isinstance(value, torch.Tensor) else ()
    for operand in call.operands:
        tag = call.tag(operand)
        shape = shape_of(operand)
        for dim in range(len(shape)) if isinstance(tag, Free) and tag.flat is None else sorted(tag.flat or ()):  # pyright: ignore
            supposed = call.supposing(operand, Row(dim), shape[dim])
            rule = _rule(call)
            result = rule(supposed) if rule is not None and not same(shape[dim], 1) else None
            if type(result) is tuple and place is not None:
                result = result[place]
            if isinstance(result, Row) and same(out[result.dim], shape[dim]):
                found.add(result.dim)
            elif isinstance(result, Row) and same(shape[dim], call.rows):
                rows = result
    if call.name == "aten.expand":
        old = shape_of(call.operands[0])
        missing = len(call.out) - len(old)
        found |= set(range(missing)) | {dim + missing for dim, size in enumerate(old) if same(size, 1)}
    return found, rows


def _counted(call: Call) -> int | None:
    """Follow the dimension along which a tensor counts."""
    tag, rule = call.tag(call.operands[0]), _rule(call)
    if not isinstance(tag, Free) or tag.counts is None or rule is None:
        return None
    result = rule(call.supposing(call.operands[0], Row(tag.counts), shape_of(call.operands[0])[tag.counts]))
    whole = isinstance(result, Row) and same(call.out[result.dim], shape_of(call.operands[0])[tag.counts])
    return result.dim if isinstance(result, Row) and whole else None


def _counting(call: Call) -> Free:
    start, step = (call["start"] or 0), (1 if call["step"] is None else call["step"])
    return Free(counts=0) if known(start == 0) and known(step == 1) else FREE
