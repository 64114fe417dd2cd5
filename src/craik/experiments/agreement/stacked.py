"""For experiments small enough to hold every environment's gradient side by side."""

from jaxtyping import Float
from torch import Tensor

from craik.agreement.onepass.gradients import RunningSums
from craik.agreement.rules import Rule


def combined(rule: Rule, gradients: Float[Tensor, "e *p"]) -> Float[Tensor, "*p"]:
    """Return what a rule makes of E environments' gradients of one parameter."""
    sums = RunningSums(gradients[0], rule.needs)
    sums.add(gradients.clone())  # add() overwrites what it is given
    return rule(sums.statistics()).gradient
