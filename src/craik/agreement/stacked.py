"""For problems small enough to hold every environment's gradient side by side."""

from jaxtyping import Float
from torch import Tensor

from craik.agreement.onepass.sums import RunningSums
from craik.agreement.rules import Combined, Rule


def combine(rule: Rule, gradients: Float[Tensor, "e *p"]) -> Combined:
    """Return what a rule makes of E environments' gradients of one parameter; they stay as they are.

    Args:
        rule: how to combine, for example `AndMask`.
        gradients: (E, *p) one environment's gradient a row.

    Raises:
        ValueError: no environment's gradient.

    Example:
        >>> import torch
        >>> from craik.agreement import AndMask, combine
        >>> combine(AndMask(1.0), torch.tensor([[1.0, 1.0], [3.0, -1.0]])).gradient  # the second component disagrees
        tensor([2., 0.])
    """
    if gradients.dim() == 0 or len(gradients) == 0:
        raise ValueError(
            "`gradients` should hold at least one environment's gradient, a row each. Found shape "
            f"{tuple(gradients.shape)}. Stack them with torch.stack."
        )
    sums = RunningSums(gradients[0], rule.needs)
    sums.add(gradients.clone())  # add() overwrites what it is given
    return rule(sums.statistics())
