"""For problems small enough to hold every environment's gradient side by side."""

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.rules import EACH, STANDARD_ERRORS, Anchored, Combined, Rule, Statistics, check_rule
from mechlearn.arguments import FLOATS


def combine(rule: Rule, gradients: Float[Tensor, "e *p"]) -> Combined:
    """Return what a rule makes of E environments' gradients of one parameter; they do not change.

    Args:
        rule: how to combine, for example `AndMask`.
        gradients: (E, *p) one environment's gradient a row.

    Raises:
        TypeError: no rule, or gradients that are no tensor of real floats.
        ValueError: no environment's gradient, or a rule that asks how examples vary, which gradients alone do not say.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import AndMask, combine
        >>> combine(AndMask(1.0), torch.tensor([[1.0, 1.0], [3.0, -1.0]])).gradient  # the second component disagrees
        tensor([2., 0.])
    """
    check_rule(rule)
    if not isinstance(gradients, Tensor) or gradients.dtype not in FLOATS or gradients.layout != torch.strided:  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
        found = f"{gradients.layout} of {gradients.dtype}" if isinstance(gradients, Tensor) else type(gradients).__name__  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"`gradients` should be a dense tensor of real floats, of two bytes or more, one environment's gradient a row. "
            f"Found {found}. Stack them with torch.stack."
        )
    if gradients.dim() == 0 or len(gradients) == 0:
        raise ValueError(
            "`gradients` should hold at least one environment's gradient, a row each. Found shape "
            f"{tuple(gradients.shape)}. Stack them with torch.stack."
        )
    if rule.needs & STANDARD_ERRORS:
        raise ValueError(
            "A rule that tests for conflict should be given every example's losses, as it reads how examples vary. Found "
            f"{rule!r} and environments' gradients alone. Use it with an Agreement; AndMask reads gradients alone."
        )
    if rule.needs == EACH:
        order = list(range(len(gradients)))
        if isinstance(rule, Anchored):
            rule.check(rule.anchor in order, order)
            order.sort(key=lambda row: row != rule.anchor)
        return rule(Statistics(len(gradients), gradients.sum(0), each=gradients[order]))
    sums = RunningSums(gradients[0], rule.needs)
    sums.add(gradients.clone())  # add() overwrites what it is given
    found = rule(sums.statistics())
    # Sums of two-byte gradients are held in four.
    return found if sums.dtype == gradients.dtype else found._replace(gradient=found.gradient.to(gradients.dtype))
