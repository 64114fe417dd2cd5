"""Stochastic gradient descent, differentiable."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from mechlearn import arguments
from mechlearn.distill.optimisers.inner import InnerState, check_rate
from mechlearn.params import Params, add_scaled, zeros_like


@dataclass(frozen=True)
class SGD(arguments.Choice):
    """Stochastic gradient descent as `torch.optim.SGD` does it, differentiable.

    Attributes:
        lr: learning rate; a number, or a scalar tensor.
        momentum: of the velocity; 0 keeps no state.
        weight_decay: L2 coefficient, added to the gradient.
        nesterov: look ahead along the velocity.

    Raises:
        ValueError: a negative number, or Nesterov's step without momentum.
    """

    lr: float | Tensor
    momentum: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Reject what torch refuses."""
        arguments.check_flag("nesterov", self.nesterov)
        arguments.check_not_negative("momentum", self.momentum)
        arguments.check_not_negative("weight_decay", self.weight_decay)
        check_rate(self.lr)
        if self.nesterov and not self.momentum:
            raise ValueError(f"Nesterov's step should have a momentum > 0. Found {self.momentum}. Leave `nesterov` out.")

    def init(self, params: Params) -> InnerState:
        """Return zero velocities: torch's first step, which takes the gradient for the velocity, is the same."""
        return InnerState(0, {"momentum": zeros_like(params)} if self.momentum else {})

    def update(self, params: Params, gradients: Params, state: InnerState) -> tuple[Params, InnerState]:
        """Return the parameters and velocities after a step."""
        if self.weight_decay:
            gradients = add_scaled(gradients, self.weight_decay, params)
        if not self.momentum:
            return add_scaled(params, -self.lr, gradients), InnerState(state.step + 1, {})
        velocity = add_scaled(gradients, self.momentum, state.moments["momentum"])
        direction = add_scaled(gradients, self.momentum, velocity) if self.nesterov else velocity
        return add_scaled(params, -self.lr, direction), InnerState(state.step + 1, {"momentum": velocity})
