"""Inner optimisers: the student's update rule as a differentiable function of parameters, gradients and moments.

Every rule is a frozen dataclass with two methods: `init` makes the state for parameters, `update` returns new parameters and a
new state, all out of place, so that the result can be differentiated with respect to everything that went in.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from craik.distill.ranges import not_negative
from craik.params import Params, add_scaled, map_params, zeros_like


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


@dataclass(frozen=True)
class SGD:
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
        """Refuse what torch refuses."""
        not_negative(momentum=self.momentum, weight_decay=self.weight_decay)
        _check_rate(self.lr)
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


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma and Ba, 2015), differentiable everywhere: the denominator is sqrt(v_hat + eps^2).

    `torch.optim.Adam` divides by sqrt(v_hat) + eps, whose derivative at a gradient of zero does not exist. The two agree
    where v_hat is 0 and where it is large, and differ by a factor of at most sqrt(2) in between.

    Attributes:
        lr: learning rate; a number, or a scalar tensor.
        betas: decay of the mean and of the mean square of gradients.
        eps: the smallest denominator.
        weight_decay: L2 coefficient, added to the gradient; with `decoupled`, as AdamW decays.
        decoupled: shrink the parameters by lr * weight_decay instead of adding to the gradient (AdamW).

    Raises:
        ValueError: a negative number, or a beta outside [0, 1).
    """

    lr: float | Tensor = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False

    def __post_init__(self) -> None:
        """Refuse what torch refuses."""
        not_negative(eps=self.eps, weight_decay=self.weight_decay)
        _check_rate(self.lr)
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"`betas` should be two numbers in [0, 1). Found {self.betas}.")

    def init(self, params: Params) -> InnerState:
        """Return zero moments."""
        return InnerState(0, {"mean": zeros_like(params), "square": zeros_like(params)})

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


def _check_rate(lr: float | Tensor) -> None:
    if not isinstance(lr, Tensor):  # a tensor's value may be unknown yet, in a trace
        not_negative(lr=lr)


def rule_of(inner: object) -> Inner:
    """Return an inner optimiser: the one given, or the counterpart of a torch optimiser.

    Raises:
        TypeError: neither, such as a class or a name.
        ValueError: a torch optimiser with settings that have no counterpart.
    """
    if isinstance(inner, torch.optim.Optimizer):
        return inner_from(inner)
    if isinstance(inner, type) or not isinstance(inner, Inner):
        raise TypeError(
            f"`inner` should be an inner optimiser: an instance of craik.distill.SGD or craik.distill.Adam, a torch optimiser "
            f"that has a counterpart, or an object with the methods of craik.distill.Inner. Found {inner!r}."
        )
    return inner


def inner_from(optimizer: torch.optim.Optimizer) -> SGD | Adam:
    """Return the differentiable counterpart of a torch optimiser (SGD, Adam, AdamW) with its settings.

    Raises:
        TypeError: an optimiser that has none.
        ValueError: settings that have none, or several parameter groups that differ.
    """
    groups = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    if any(group != groups[0] for group in groups):
        raise ValueError(
            f"An inner optimiser should treat all parameters alike. Found {len(groups)} parameter groups with different "
            "settings. Write an inner optimiser of your own, with the methods of craik.distill.Inner."
        )
    settings = groups[0]
    for name in ("maximize", "amsgrad", "dampening"):
        if settings.get(name):
            raise ValueError(
                f"An inner optimiser should be one that craik.distill can differentiate. Found {name}={settings[name]}. "
                f"Turn it "
                "off, or write an inner optimiser of your own, with the methods of craik.distill.Inner."
            )
    if type(optimizer) is torch.optim.SGD:
        lr, momentum, decay = (float(settings[name]) for name in ("lr", "momentum", "weight_decay"))
        return SGD(lr, momentum, decay, nesterov=bool(settings["nesterov"]))
    if type(optimizer) in (torch.optim.Adam, torch.optim.AdamW):
        lr, eps, decay = (float(settings[name]) for name in ("lr", "eps", "weight_decay"))
        betas = (float(settings["betas"][0]), float(settings["betas"][1]))
        decoupled = type(optimizer) is torch.optim.AdamW or bool(settings.get("decoupled_weight_decay"))
        return Adam(lr, betas, eps, decay, decoupled)
    raise TypeError(
        f"An inner optimiser should be one that can be differentiated: SGD, Adam or AdamW of torch.optim. Found "
        f"{type(optimizer).__name__}. Pass craik.distill.SGD or craik.distill.Adam, or an object with the methods of "
        "craik.distill.Inner."
    )
