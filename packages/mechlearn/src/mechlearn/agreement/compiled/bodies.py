"""How the engine's operation is carried out: for any plan environment by environment, faster for plans of known forms."""

import functools
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mechlearn.agreement.compiled.plan import Plan, Program, Rows, parts, read
from mechlearn.agreement.compiled.sinks import Sink, equal

Body = Callable[[Sequence[Tensor], Sequence[int], Sequence[int], Sequence[Sink]], None]
"""From operands, E + 1 offsets, sizes and one empty sink for each parameter: fills the sinks."""

_SHAPES = (
    *("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.alias.default"),
    *("aten.squeeze.dim", "aten.squeeze.dims", "aten.unsqueeze.default"),
)


@functools.lru_cache(maxsize=4096)
def body(text: str) -> Body:
    """Return the fastest body for each part of a plan, one after the other."""
    found = [(_fastest(one.plan), one.operands, one.outputs) for one in parts(read(text))]

    def run(operands: Sequence[Tensor], starts: Sequence[int], sizes: Sequence[int], sinks: Sequence[Sink]) -> None:
        for one, own, outputs in found:
            one([operands[place] for place in own], starts, sizes, [sinks[place] for place in outputs])

    return run


def _fastest(plan: Plan) -> Body:
    return _product(plan) or _total(plan) or functools.partial(_each, plan, Program(plan))


def is_product(plan: Plan) -> bool:
    """Tell whether a plan is one product of matrices."""
    return _product(plan) is not None


def is_total(plan: Plan) -> bool:
    """Tell whether a plan is one sum over rows."""
    return _total(plan) is not None


def part(operand: Tensor, rows: Rows, start: int, stop: int, count: int) -> Tensor:
    """Return the entries of some of the rows.

    Args:
        operand: with rows.
        rows: where.
        start: the first row.
        stop: the row behind the last.
        count: B.
    """
    size = operand.shape[rows.dim]
    post = rows.post or size // count
    if size == count * post:
        return operand.narrow(rows.dim, start * post, (stop - start) * post)
    apart = operand.unflatten(rows.dim, (size // (count * post), count, post))
    return apart.narrow(rows.dim + 1, start, stop - start).flatten(rows.dim, rows.dim + 2)


def _each(
    plan: Plan,
    program: Program,
    operands: Sequence[Tensor],
    starts: Sequence[int],
    sizes: Sequence[int],
    sinks: Sequence[Sink],
) -> None:
    """Run the small graph on each environment's rows: exact for every plan."""
    count = starts[-1]
    for start, stop in pairwise(starts):
        own = [
            operand if rows is None else part(operand, rows, start, stop, count)
            for operand, rows in zip(operands, plan.operands, strict=True)
        ]
        for sink, gradient in zip(sinks, program(own, sizes), strict=True):
            sink.one(gradient)


class _Factor(NamedTuple):
    """An operand that is a matrix, as it is or transposed."""

    operand: int
    turned: bool


def _product(plan: Plan) -> Body | None:
    """Return the body of one product of matrices, maybe transposed: that of a linear layer's weight."""
    if len(plan.outputs) != 1 or sum(step.name == "aten.mm.default" for step in plan.steps) != 1:
        return None
    factors: dict[int, _Factor] = {value: _Factor(value, False) for value in range(len(plan.operands))}
    found: dict[int, tuple[_Factor, _Factor, bool]] = {}
    for value, step in enumerate(plan.steps, len(plan.operands)):
        sources: list[Any] = [code.get("value") for code in step.arguments if isinstance(code, dict)]
        if step.name == "aten.mm.default" and all(source in factors for source in sources):
            found[value] = factors[sources[0]], factors[sources[1]], False
        elif step.name == "aten.permute.default" and step.arguments[1] == [1, 0]:
            (source,) = sources
            if source in found:
                found[value] = (*found[source][:2], not found[source][2])
            elif source in factors:
                factors[value] = factors[source]._replace(turned=not factors[source].turned)
        else:
            return None
    if plan.outputs[0].value not in found:
        return None
    left, right, turned = found[plan.outputs[0].value]
    rows = [plan.operands[factor.operand] for factor in (left, right)]
    places = (1 - left.turned, int(right.turned))  # where each factor's operand must have its rows
    if any(one is None or one.post or one.dim != place for one, place in zip(rows, places, strict=True)):
        return None
    return functools.partial(_multiply, left, right, turned)


def _multiply(
    left: _Factor,
    right: _Factor,
    turned: bool,
    operands: Sequence[Tensor],
    starts: Sequence[int],
    sizes: Sequence[int],
    sinks: Sequence[Sink],
) -> None:
    """Add each environment's product of two factors."""
    del sizes
    one, other = operands[left.operand], operands[right.operand]
    one, other = one if left.turned else one.T, other.T if right.turned else other  # rows first
    each = len(other) // starts[-1]
    sinks[0].products(*((other, one) if turned else (one, other)), [each * start for start in starts])


def _total(plan: Plan) -> Body | None:
    """Return the body of a sum over rows, whose result may be seen in another shape: that of a bias or a scale."""
    rows = plan.operands[0]
    if rows is None or rows.post or len(plan.outputs) != 1 or len(plan.operands) > 1 or not _in_line(plan):
        return None
    shape = plan.outputs[0].shape

    def run(operands: Sequence[Tensor], starts: Sequence[int], sizes: Sequence[int], sinks: Sequence[Sink]) -> None:
        del sizes
        sinks[0].stack(sums_of_rows(operands[0].movedim(rows.dim, 0), starts).reshape(-1, *shape))

    return run


def _in_line(plan: Plan) -> bool:
    """Tell whether a plan is a sum over rows whose result is seen in another shape."""
    first, *behind = plan.steps
    in_line = all(step.arguments[0] == {"value": place} for place, step in enumerate(behind, 1))
    fine = first.name == "aten.sum.dim_IntList" and not first.options and all(step.name in _SHAPES for step in behind)
    return in_line and fine and plan.outputs[0].value == len(plan.steps)


def sums_of_rows(values: Tensor, starts: Sequence[int]) -> Tensor:
    """Return the sum of each environment's rows, (E, *rest) of (B * post, *rest); rows that are alone as they are."""
    count, environments = starts[-1], len(starts) - 1
    each = len(values) // count
    if equal(starts):
        return values if len(values) == environments else values.unflatten(0, (environments, -1)).sum(1)
    return torch.stack([values[each * start : each * stop].sum(0) for start, stop in pairwise(starts)])
