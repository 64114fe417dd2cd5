"""Operations of networks that no decomposition takes apart: convolutions, pools, attention."""

from torch.fx import Node

from mechlearn.agreement.compiled.calls import Call, Rule, shape_of
from mechlearn.agreement.compiled.tags import FREE, SUMMED, Free, Row, Tag, Tags, agree, same


def _first(tag: Tag) -> bool:
    """Tell whether rows are dimension 0 and nothing else."""
    return isinstance(tag, Row) and tag.dim == 0 and same(tag.post, 1)


def convolution(call: Call) -> Tag:
    """Convolve every row with the same weights; or rows with rows as channels, which sums over them.

    The second is what a derivative of a convolution's gradient by its weight takes.
    """
    tag, weight = call.tag(call["input"]), call.tag(call["weight"])
    if _first(tag) and all(isinstance(call.tag(call[name]), Free) for name in ("weight", "bias")):
        return Row(0)
    rows = [one for one in (tag, weight) if isinstance(one, Row) and one.dim == 1]
    plain = not call["transposed"] and call["bias"] is None and call["groups"] == 1
    return SUMMED if plain and len(rows) == 2 and agree(rows) else call.mixed("weights of rows")


def convolution_backward(call: Call) -> Tags:
    """Return the input's gradient, row by row, and sums over rows for the weight and the bias."""
    fine = all(_first(call.tag(call[name])) for name in ("grad_output", "input")) and isinstance(call.tag(call["weight"]), Free)
    return (Row(0), SUMMED, SUMMED) if fine else call.mixed("weights of rows")


def within_rows(call: Call) -> Tags:
    """Treat every entry of dimension 0 by itself, as pools and interpolations do."""
    tags = [call.tag(operand) for operand in call.operands]
    fine = all(_first(tag) for tag in tags) and all(len(shape_of(operand)) >= 3 for operand in call.operands)
    return call.several(Row(0)) if fine else call.mixed()


def _heads(call: Call, names: tuple[str, ...]) -> Row | None:
    """Return the rows of queries, keys and values (B, heads, T, d), which attention treats one by one, as it does heads."""
    tags = [call.tag(call[name]) for name in names]
    row = agree([tag for tag in tags if isinstance(tag, Row)])
    masks = [call[name] for name in ("attn_mask", "attn_bias") if isinstance(call[name], Node)]
    fine = row is not None and all(isinstance(tag, Row) for tag in tags) and row.dim < 2 and not call["dropout_p"]
    return row if row is not None and fine and all(_masks(call, mask, row) for mask in masks) else None


def _masks(call: Call, mask: Node, row: Row) -> bool:
    """Tell whether a mask is of the same rows, or the same for all of them."""
    tag, shape = call.tag(mask), shape_of(mask)
    dim = row.dim - (4 - len(shape))
    if isinstance(tag, Row):
        return agree([row, tag._replace(dim=tag.dim + 4 - len(shape))]) is not None
    return isinstance(tag, Free) and (dim < 0 or same(shape[dim], 1) or tag.constant(dim))


def attention(call: Call) -> Tags:
    """Return the rows of the output, and of the logarithms of sums beside it; seeds belong to no row."""
    row = _heads(call, ("query", "key", "value"))
    values = call.node.meta["val"]
    if row is None:
        return call.mixed("attention between rows")
    return tuple(row if getattr(value, "ndim", 0) >= 3 else FREE for value in values)


def attention_backward(call: Call) -> Tags:
    """Return the rows of the gradients.

    What the forward pass saved of (B, heads, T) must have that rank: torch's core table takes the forward operation apart
    without its backward one, which then reads attention weights (B, heads, T, T) for them, and is wrong without a word.
    """
    gradient = "grad_out" if call["grad_out"] is not None else "grad_out_"
    row = _heads(call, (gradient, "query", "key", "value", "out", "logsumexp"))
    if row is None or len(shape_of(call["logsumexp"])) != 3:
        return call.mixed("attention between rows, or of another forward pass")
    return tuple(row for _ in call.node.meta["val"])


_ATTENTION = ("flash_attention_for_cpu", "efficient_attention", "flash_attention", "cudnn_attention")

RULES: dict[str, Rule] = {
    "aten.convolution": convolution,
    "aten.convolution_backward": convolution_backward,
    **{f"aten._scaled_dot_product_{name}": attention for name in _ATTENTION},
    **{f"aten._scaled_dot_product_{name}_backward": attention_backward for name in _ATTENTION},
    **dict.fromkeys(
        (
            *("aten.max_pool2d_with_indices", "aten.max_pool2d_with_indices_backward", "aten.avg_pool2d"),
            *("aten.avg_pool2d_backward", "aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool2d_backward"),
            *("aten.avg_pool3d", "aten.avg_pool3d_backward", "aten.max_pool3d_with_indices"),
            *("aten.upsample_bilinear2d", "aten.upsample_nearest2d", "aten.reflection_pad1d", "aten.reflection_pad2d"),
            *("aten.replication_pad1d", "aten.replication_pad2d", "aten.reflection_pad1d_backward"),
            *("aten.reflection_pad2d_backward", "prims._low_memory_max_pool_with_offsets"),
            "prims._low_memory_max_pool_offsets_to_indices",
        ),
        within_rows,
    ),
}
