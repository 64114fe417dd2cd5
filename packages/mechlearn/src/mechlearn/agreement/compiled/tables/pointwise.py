"""Operations that treat every entry by itself, after broadcasting."""

from typing import Any

import torch
from torch.fx import Node

from mechlearn.agreement.compiled.calls import Call, is_operation, shape_of
from mechlearn.agreement.compiled.tags import Free, Row, Tag, agree, same

NAMES = (
    "aten.clone",
    "aten.alias",
    "aten.detach",
    "aten.lift_fresh_copy",
    "aten._to_copy",
    "aten.to",
    "prims.convert_element_type",
)
"""Those that torch does not tag as pointwise: copies."""


def is_pointwise(target: object) -> bool:
    """Tell whether torch says of an operation that it is pointwise, and it returns something new."""
    if is_operation(target) and torch.Tag.pointwise in target.tags:
        schema: Any = target._schema  # pyright: ignore[reportPrivateUsage]  # no public name
        return not schema.is_mutable and len(schema.returns) == 1
    return False


def pointwise(call: Call) -> Tag:
    """Return the rows of all operands, which must lie in one dimension and meet nothing that varies along it."""
    count = len(call.out)
    found: list[Row] = []
    for operand in call.operands:
        tag = call.tag(operand)
        if isinstance(tag, Row):
            found.append(Row(tag.dim + count - len(shape_of(operand)), tag.post))
    row = agree(found)
    if row is None:
        return call.mixed("rows of one operand meet other rows of another")
    fits = all(_fits(call, operand, row) for operand in call.operands)
    return row if fits else call.mixed("rows meet a tensor that is not of the batch and differs from row to row")


def _fits(call: Call, operand: Node, row: Row) -> bool:
    """Tell whether an operand has the rows, or is the same for all."""
    tag = call.tag(operand)
    if isinstance(tag, Row):
        return True
    shape = shape_of(operand)
    dim = row.dim - (len(call.out) - len(shape))
    return isinstance(tag, Free) and (dim < 0 or same(shape[dim], 1) or tag.constant(dim) or tag.noise)
