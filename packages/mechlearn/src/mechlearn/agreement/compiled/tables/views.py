"""Operations that move entries without changing them."""

from collections.abc import Callable

from mechlearn.agreement.compiled.calls import Call, Rule, shape_of
from mechlearn.agreement.compiled.tags import Free, Row, Tag, Tags, agree, known, product, same, viewed


def _row(call: Call) -> Row:
    tag = call.tag(call.operands[0])
    assert isinstance(tag, Row)  # a rule is asked where one of the operands has rows, and here there is one
    return tag


def view(call: Call) -> Tag:
    """Follow the rows through a reshape."""
    return viewed(_row(call), shape_of(call.operands[0]), call.out, call.rows) or call.mixed("rows are spread over dimensions")


def as_strided(call: Call) -> Tag:
    """Follow the rows where the strides are a reshape's of contiguous memory, as some decompositions write one."""
    source = call.operands[0].meta["val"]
    contiguous = [product(call.out[dim + 1 :]) for dim in range(len(call.out))]
    whole = same(product(call.out), source.numel()) and source.is_contiguous() and not call["storage_offset"]
    fits = all(same(one, other) for one, other in zip(call["stride"], contiguous, strict=True))
    return view(call) if whole and fits else call.mixed("strides of another layout")


def permute(call: Call) -> Tag:
    """Follow the rows to their new place."""
    tag = _row(call)
    return tag._replace(dim=call.dims("dims").index(tag.dim))


def transpose(call: Call) -> Tag:
    """Follow the rows if they are one of two dimensions that trade places."""
    tag = _row(call)
    (one,), (other,) = (call.dims(name) for name in ("dim0", "dim1"))
    return tag._replace(dim={one: other, other: one}.get(tag.dim, tag.dim))


def t(call: Call) -> Tag:
    """Follow the rows of a matrix."""
    tag = _row(call)
    return tag._replace(dim=1 - tag.dim) if len(call.out) == 2 else tag


def expand(call: Call) -> Tag:
    """Let other dimensions grow."""
    tag = _row(call)
    dim = tag.dim + len(call.out) - len(shape_of(call.operands[0]))
    kept = same(call.out[dim], shape_of(call.operands[0])[tag.dim])
    return tag._replace(dim=dim) if kept else call.mixed()


def unsqueeze(call: Call) -> Tag:
    """Make room for a dimension."""
    tag = _row(call)
    new = call["dim"] % len(call.out)
    return tag._replace(dim=tag.dim + (new <= tag.dim))


def squeeze(call: Call) -> Tag:
    """Drop dimensions of size 1."""
    tag, shape = _row(call), shape_of(call.operands[0])
    asked = call.dims("dim") if call["dim"] is not None else range(len(shape))
    gone = [dim for dim in asked if same(shape[dim], 1)]
    if tag.dim in gone or len(shape) - len(set(gone)) != len(call.out):
        return call.mixed()
    return tag._replace(dim=tag.dim - sum(dim < tag.dim for dim in set(gone)))


def cut(call: Call) -> Tags:
    """Take a part along another dimension; along the rows' own only all of it."""
    tag = _row(call)
    (dim,) = call.dims("dim")
    whole = same(call.out[dim], shape_of(call.operands[0])[dim]) if len(call.out) > dim else False
    if dim == tag.dim and not (call.name == "aten.slice" and whole and call["step"] == 1):
        return call.mixed("a part of the rows")
    return call.several(tag)


def select(call: Call) -> Tags:
    """Take one entry along another dimension."""
    tag = _row(call)
    (dim,) = call.dims("dim")
    if dim == tag.dim:
        return call.mixed("one of the rows")
    return call.several(tag._replace(dim=tag.dim - (dim < tag.dim)))


def cat(call: Call) -> Tag:
    """Put tensors with the same rows, or constant along them, side by side along another dimension."""
    tensors = [tensor for tensor in call["tensors"] if len(shape_of(tensor)) == len(call.out)]
    tags = [call.tag(tensor) for tensor in tensors]
    row = agree([tag for tag in tags if isinstance(tag, Row)])
    dim = call["dim"] % len(call.out) if call["dim"] else 0
    if row is None or row.dim == dim or len(tensors) < len(call["tensors"]):
        return call.mixed()
    fine = all(isinstance(tag, Row) or (isinstance(tag, Free) and (tag.constant(row.dim) or tag.noise)) for tag in tags)
    return row if fine else call.mixed("rows beside a tensor that differs from row to row")


def along_others(name: str) -> Rule:
    """Return the rule of an operation that moves entries along the dimensions that an argument names."""

    def rule(call: Call) -> Tag:
        tag = _row(call)
        return call.mixed("the rows are moved") if tag.dim in call.dims(name) else tag

    return rule


def repeat(call: Call) -> Tag:
    """Repeat along other dimensions."""
    tag, shape = _row(call), shape_of(call.operands[0])
    dim = tag.dim + len(call.out) - len(shape)
    return tag._replace(dim=dim) if same(call.out[dim], shape[tag.dim]) else call.mixed()


def pad(call: Call) -> Tag:
    """Pad other dimensions, which are counted from the last."""
    tag = _row(call)
    padding = call["pad"] if call["pad"] is not None else call["padding"]
    behind = len(call.out) - 1 - tag.dim
    own = padding[2 * behind : 2 * behind + 2]
    reaches = 2 * behind < len(padding)
    return call.mixed() if reaches and not all(known(size == 0) for size in own) else tag


def before_last(count: int) -> Callable[[Call], Tag]:
    """Return the rule of an operation within the last dimensions."""

    def rule(call: Call) -> Tag:
        tag = _row(call)
        return tag if tag.dim < len(call.out) - count else call.mixed()

    return rule


RULES: dict[str, Rule] = {
    "aten.view": view,
    "aten.reshape": view,
    "aten._unsafe_view": view,
    "aten.as_strided": as_strided,
    "aten.permute": permute,
    "aten.transpose": transpose,
    "aten.t": t,
    "aten.expand": expand,
    "aten.unsqueeze": unsqueeze,
    "aten.squeeze": squeeze,
    "aten.slice": cut,
    "aten.split": cut,
    "aten.split_with_sizes": cut,
    "aten.select": select,
    "aten.unbind": select,
    "aten.cat": cat,
    "aten.flip": along_others("dims"),
    "prims.rev": along_others("dims"),
    "aten.roll": along_others("dims"),
    "aten.repeat": repeat,
    "aten.constant_pad_nd": pad,
    "aten.tril": before_last(2),
    "aten.triu": before_last(2),
}
