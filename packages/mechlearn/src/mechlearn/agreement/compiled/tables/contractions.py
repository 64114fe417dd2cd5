"""Products of matrices: rows stay rows, or are contracted."""

from torch.fx import Node

from mechlearn.agreement.compiled.calls import Call, Rule
from mechlearn.agreement.compiled.tags import SUMMED, Free, Row, Tag, agree, same


def contracted(call: Call, left: Tag, right: Tag, inner: tuple[int, int], batch: int = 0) -> Tag:
    """Return what is known of a product of matrices.

    Args:
        call: the operation.
        left: what is known of the left factor, whose dimensions are ``batch`` ones, the outer and the inner.
        right: the same of the right factor: ``batch``, the inner and the outer; of a vector the inner alone.
        inner: the dimensions that are summed over.
        batch: how many leading dimensions both factors share.
    """
    sides = (left, right)
    rows = [(tag, other, dim) for tag, other, dim in zip(sides, sides[::-1], inner, strict=True) if isinstance(tag, Row)]
    (tag, other, dim), *more = rows
    if more:
        both = tag.dim == inner[0] and more[0][0].dim == inner[1] and agree([tag._replace(dim=0), more[0][0]._replace(dim=0)])
        if both:
            return SUMMED
        shared = agree([tag, more[0][0]]) if tag.dim < batch else None
        return shared or call.mixed("rows meet rows")
    at_other = inner[1] if tag is left else inner[0]
    if not isinstance(other, Free):
        return call.mixed()
    if tag.dim == dim:
        return SUMMED if other.constant(at_other) else call.mixed("a sum over rows with weights that are not of the batch")
    if tag.dim < batch:
        return tag if other.constant(tag.dim) else call.mixed("rows meet a tensor that differs from row to row")
    return tag


def _factors(second: str, inner: tuple[int, int], batch: int = 0) -> Rule:
    """Return the rule of a product of ``self`` and a second factor."""

    def rule(call: Call) -> Tag:
        return contracted(call, call.tag(call["self"]), call.tag(call[second]), inner, batch)

    return rule


INNER = {
    "aten.mm": {"self": 1, "mat2": 0},
    "aten.bmm": {"self": 2, "mat2": 1},
    "aten.mv": {"self": 1, "vec": 0},
    "aten.dot": {"self": 0, "tensor": 0},
}
"""The dimensions that products sum over."""


def along_rows(call: Call) -> dict[Node, Row]:
    """Return a factor that is the same for all rows and has an entry for each: where a sum over rows reads it."""
    inner = INNER.get(call.name, {})
    rows = [tag for name in inner if isinstance(tag := call.tag(call[name]), Row)]
    if len(rows) != 1:
        return {}
    return {call[name]: rows[0]._replace(dim=dim) for name, dim in inner.items() if isinstance(call.tag(call[name]), Free)}


def _with_summand(call: Call, product: tuple[str, str], inner: tuple[int, int], batch: int) -> Tag:
    """Return what is known of ``a + B C``: a row's, if the product has rows and the summand the same ones or none."""
    summand = call.tag(call["self"])
    left, right = (call.tag(call[name]) for name in product)
    if not isinstance(left, Row) and not isinstance(right, Row):
        return call.mixed()
    found = contracted(call, left, right, inner, batch)
    if not isinstance(found, Row):
        return call.mixed("a sum over rows and something else")
    missing = len(call.out) - len(call.shape(call["self"]))
    dim = found.dim - missing
    if isinstance(summand, Row):
        return found if agree([summand, found._replace(dim=dim)]) else call.mixed()
    alike = isinstance(summand, Free) and (dim < 0 or same(call.shape(call["self"])[dim], 1) or summand.constant(dim))
    return found if alike else call.mixed("rows meet a tensor that differs from row to row")


RULES: dict[str, Rule] = {
    "aten.mm": _factors("mat2", (1, 0)),
    "aten.bmm": _factors("mat2", (2, 1), batch=1),
    "aten.mv": _factors("vec", (1, 0)),
    "aten.dot": _factors("tensor", (0, 0)),
    "aten.addmm": lambda call: _with_summand(call, ("mat1", "mat2"), (1, 0), 0),
    "aten.baddbmm": lambda call: _with_summand(call, ("batch1", "batch2"), (2, 1), 1),
}
