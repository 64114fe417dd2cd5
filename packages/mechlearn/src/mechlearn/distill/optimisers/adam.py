"""Adam and AdamW, differentiable everywhere."""

from dataclasses import dataclass

import torch
from torch import Tensor

from mechlearn import arguments
from mechlearn.distill.optimisers.inner import InnerState, check_rate
from mechlearn.params import Params, add_scaled, map_params, zeros_like


@dataclass(frozen=True)
class Adam(arguments.Choice):
    """Adam (Kingma and Ba, 2015), differentiable everywhere: the denominator is sqrt(v_hat + eps^2).

    `torch.optim.Adam` divides by sqrt(v_hat) + eps, whose derivative at a gradient of zero does not exist. The two agree
    where v_hat is 0 and where it is large, and differ by a factor of at most sqrt(2) in between.

    Attributes:
        lr: learning rate; a number, or a scalar tensor.
        betas: decay of the mean and of the mean square of gradients.
        eps: the smallest denominator. The root's derivative at a gradient of zero is as large as 1 / eps^3, which the
            parameters' type should hold: eps >= 1.5e-13 in float32. In float16 no eps in use does, and a unit that is dead may
            give NaN there.
        weight_decay: L2 coefficient, added to the gradient; with `decoupled`, as AdamW decays.
        decoupled: shrink the parameters by lr * weight_decay instead of adding to the gradient (AdamW).

    Raises:
        ValueError: a negative number, an eps of 0, or a beta outside [0, 1).
    """

    lr: float | Tensor = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False

    def __post_init__(self) -> None:
        """Reject what torch refuses, and an eps of 0, at which a gradient of zero has no derivative."""
        arguments.check_flag("decoupled", self.decoupled)
        arguments.check_kind("betas", self.betas, (tuple, list), "two numbers in [0, 1)")
        why = "the root has no derivative where a gradient is zero without it"
        arguments.check_positive("eps", self.eps, why=why, way_out="The default is 1e-8.")
        arguments.check_not_negative("weight_decay", self.weight_decay)
        check_rate(self.lr)
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"`betas` should be two numbers in [0, 1). Found {self.betas}.")

    def init(self, params: Params) -> InnerState:
        """Return zero moments.

        Raises:
            ValueError: an eps whose derivative leaves the parameters' type.
        """
        for name, tensor in params.items():
            self._check_eps(name, tensor)
        return InnerState(0, {"mean": zeros_like(params), "square": zeros_like(params)})

    def _check_eps(self, name: str, tensor: Tensor) -> None:
        if tensor.dtype == torch.float16 or not tensor.is_floating_point():
            return
        least = torch.finfo(tensor.dtype).max ** (-1 / 3)
        if self.eps < least:
            raise ValueError(
                f"`eps` should be {least:.2g} at least for parameters of {tensor.dtype}: the meta-gradient through a gradient "
                f"of zero is as large as 1 / eps^3. Found {self.eps} for {name!r}. Take a larger one, or float64."
            )

    def update(self, params: Params, gradients: Params, state: InnerState) -> tuple[Params, InnerState]:
        """Return the parameters and moments after a step."""
        beta1, beta2 = self.betas
        step = state.step + 1
        if self.weight_decay and not self.decoupled:
            gradients = add_scaled(gradients, self.weight_decay, params)
        old_mean, old_square = state.moments["mean"], state.moments["square"]
        mean = {name: beta1 * old_mean[name] + (1 - beta1) * g for name, g in gradients.items()}
        square = {name: beta2 * old_square[name] + (1 - beta2) * g * g for name, g in gradients.items()}
        shrink = 1 - self.lr * self.weight_decay if self.decoupled else 1.0
        rate, correction = self.lr / (1 - beta1**step), 1 / (1 - beta2**step)

        def move(p: Tensor, m: Tensor, v: Tensor) -> Tensor:
            return shrink * p - rate * m * torch.rsqrt(correction * v + self.eps**2)

        return map_params(move, params, mean, square), InnerState(step, {"mean": mean, "square": square})
