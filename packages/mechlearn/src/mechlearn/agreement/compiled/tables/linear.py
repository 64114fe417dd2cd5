"""Operations that are linear in a sum over rows: what may lie between it and a parameter's gradient."""

from collections.abc import Callable

from torch.fx import Node

from mechlearn.agreement.compiled.calls import Call
from mechlearn.agreement.compiled.tags import SUMMED, Free, Mixed, Summed


def _refused(call: Call) -> Mixed:
    return call.mixed("of a sum over rows")


def _rest_free(call: Call) -> bool:
    return all(isinstance(call.tag(operand), Free | Summed) for operand in call.operands)


def _alone(call: Call) -> bool:
    """Tell whether the sum is the only operand."""
    return len(call.operands) == 1


def _one_factor(call: Call) -> bool:
    """Tell whether one factor is a sum and the others are no functions of rows."""
    summed = [operand for operand in call.node.args if isinstance(operand, Node) and isinstance(call.tag(operand), Summed)]
    return len(summed) == 1 and _rest_free(call)


def _numerator(call: Call) -> bool:
    return isinstance(call.tag(call["self"]), Summed) and _one_factor(call) and call["rounding_mode"] is None


def _terms(call: Call) -> bool:
    """Tell whether all that is added up, or put side by side, is a sum over rows or 0."""
    named = [call[name] for name in ("self", "other", "src", "values", "tensors") if call[name] is not None]
    flat = [value for one in named for value in (one if isinstance(one, list | tuple) else [one])]
    return all(_vanishes(call, value) for value in flat) and _rest_free(call)


def _vanishes(call: Call, value: object) -> bool:
    """Tell whether a value is 0 where there are no rows."""
    if not isinstance(value, Node):
        return isinstance(value, int | float) and value == 0
    tag = call.tag(value)
    return isinstance(tag, Summed) or (isinstance(tag, Free) and tag.zero)


def _chosen(call: Call) -> bool:
    chooses = not isinstance(call.tag(call["condition"]), Summed)
    return chooses and all(_vanishes(call, call[name]) for name in ("self", "other")) and _rest_free(call)


def _read(call: Call) -> bool:
    """Tell whether the first operand is a sum and no other a function of rows: a place to read, a weight norm's factors."""
    first = call.operands[0]
    return isinstance(call.tag(first), Summed) and all(isinstance(call.tag(operand), Free) for operand in call.operands[1:])


def _written(call: Call) -> bool:
    """Tell whether sums are written onto zeros, or onto other sums, where indices that belong to no row say."""
    places = [index for index in call["indices"] if index is not None]
    fixed = all(isinstance(call.tag(one), Free) for one in (*places, call["mask"]))
    return fixed and _terms(call)


def _padded(call: Call) -> bool:
    return _alone(call) and not call["value"]


_LINEAR: dict[str, Callable[[Call], bool]] = {
    **dict.fromkeys(
        (
            *("aten.view", "aten.reshape", "aten._unsafe_view", "aten.permute", "aten.transpose", "aten.t", "aten.expand"),
            *("aten.unsqueeze", "aten.squeeze", "aten.slice", "aten.select", "aten.split", "aten.split_with_sizes"),
            *(
                "aten.unbind",
                "aten.flip",
                "prims.rev",
                "aten.roll",
                "aten.repeat",
                "aten.tril",
                "aten.triu",
                "aten.clone",
                "aten.alias",
            ),
            *("aten.detach", "aten._to_copy", "prims.convert_element_type", "aten.neg", "aten.sum", "aten.mean", "aten.cumsum"),
            *("aten.diagonal", "aten.trace"),
        ),
        _alone,
    ),
    "aten.constant_pad_nd": _padded,
    **dict.fromkeys(("aten.mul", "aten.mm", "aten.bmm", "aten.mv", "aten.dot"), _one_factor),
    "aten.div": _numerator,
    **dict.fromkeys(("aten.add", "aten.sub", "aten.cat", "aten.slice_scatter", "aten.select_scatter"), _terms),
    **dict.fromkeys(("aten.index_put", "aten._unsafe_index_put", "aten._unsafe_masked_index_put_accumulate"), _written),
    "aten.where": _chosen,
    "aten._weight_norm_interface_backward": _read,
    **dict.fromkeys(("aten.gather", "aten.index_select", "aten.index"), _read),
}


def linear(call: Call) -> Summed | Mixed:
    """Return a sum where the operation is linear in its sums over rows, and its other operands are no functions of rows."""
    rule = _LINEAR.get(call.name)
    return SUMMED if rule is not None and rule(call) else _refused(call)
