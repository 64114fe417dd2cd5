"""What an inner optimiser is: the student's update rule as a differentiable function of parameters, gradients and moments.

Every rule is a frozen dataclass with two methods: `init` makes the state for parameters, `update` returns new parameters and a
new state, all out of place, so that the result can be differentiated with respect to everything that went in.
"""

from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from mechlearn import arguments
from mechlearn.params import Params


class InnerState(NamedTuple):
    """The state of an inner optimiser between two steps.

    Attributes:
        step: how many steps were taken so far; Adam's bias correction counts them.
        moments: by the moment's name ("momentum"; "mean" and "square"), a tensor for each parameter.
    """

    step: int | Tensor
    moments: dict[str, Params]


@runtime_checkable
class Inner(Protocol):
    """An inner optimiser: any object with these two methods serves.

    If its new parameters and moments are linear in parameters, gradients and moments, an attribute ``linear = True`` spares the
    strategy "adjoint" the memory for moments.
    """

    def init(self, params: Params) -> InnerState:
        """Return the state before the first step."""
        ...

    def update(self, params: Params, gradients: Params, state: InnerState) -> tuple[Params, InnerState]:
        """Return parameters and state after a step, out of place and differentiable."""
        ...


def check_rate(lr: float | Tensor) -> None:
    """Reject a negative learning rate, and one that is no number; a tensor's value may be unknown yet, in a trace."""
    for one in arguments.ends(lr) if isinstance(lr, Tensor) else (lr,):
        arguments.check_not_negative("lr", one)
