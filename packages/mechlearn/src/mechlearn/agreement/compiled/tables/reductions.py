"""Operations along some dimensions: sums, largest values, cumulative sums, sorts."""

from mechlearn.agreement.compiled.calls import Call, Rule, shape_of
from mechlearn.agreement.compiled.tags import SUMMED, Row, Tags, agree


def reduced(call: Call) -> Tags:
    """Keep rows that are not among the dimensions that are reduced; a sum over them is where environments are kept apart."""
    tag = call.tag(call.operands[0])
    if len(call.operands) > 1 or not isinstance(tag, Row):
        return call.mixed()
    dims = call.dims()
    if tag.dim in dims:
        return SUMMED if call.name == "aten.sum" else call.mixed("over rows")
    kept = len(call.out) == len(shape_of(call.operands[0]))
    return call.several(tag if kept else tag._replace(dim=tag.dim - sum(dim < tag.dim for dim in set(dims))))


def along(call: Call) -> Tags:
    """Keep rows where an operation that leaves the shape works along another dimension."""
    tags = [call.tag(operand) for operand in call.operands]
    rows = [tag for tag in tags if isinstance(tag, Row)]
    row = agree(rows)
    if row is None or len(rows) < len(tags) or row.dim in call.dims():
        return call.mixed("along rows")
    return call.several(row)


RULES: dict[str, Rule] = dict.fromkeys(
    (
        f"aten.{name}"
        for name in (
            *("sum", "mean", "amax", "amin", "prod", "any", "all", "var", "var_mean", "std", "logsumexp", "max", "min"),
            *("argmax", "argmin", "linalg_vector_norm", "norm", "median", "kthvalue", "count_nonzero"),
        )
    ),
    reduced,
) | dict.fromkeys(
    (
        f"aten.{name}"
        for name in (
            *("_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "cumsum", "cumprod", "sort"),
            *("topk", "cummax", "cummin", "logcumsumexp", "argsort"),
        )
    ),
    along,
)
