"""Adam with a learning rate, a weight decay and a step count for each member."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from mechlearn.arguments import check_decay, check_each, check_kind, check_not_negative, check_positive


class StackedAdam(torch.optim.Optimizer):
    """Adam for the parameters of a `Stack`, with a learning rate and a weight decay for each member.

    Each member moves as with `torch.optim.Adam` (`decoupled=False`: the decay is an L2 penalty's gradient) or
    `torch.optim.AdamW` (`decoupled=True`) of its own. The rates are the tensor ``param_groups[0]["lr"]``, (M,): change it
    between steps, as in ``.mul_(0.5)``. torch's schedulers set one number a group and do not take it ("fill_ only supports
    0-dimension").

    Args:
        params: parameters with a leading axis of M members.
        rates: M learning rates, or one for all.
        decays: M weight decays, or one for all.
        decoupled: shrink the weights beside Adam instead of through its gradient.
        betas: decay rates of the two moments.
        eps: added to the root of the second moment.

    Raises:
        TypeError: parameters in groups or with names, rates, decays or betas that are no numbers.
        ValueError: no parameters, a leading axis of different lengths, or numbers out of their range.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        rates: Sequence[float] | Tensor | float = 1e-3,
        decays: Sequence[float] | Tensor | float = 0.0,
        decoupled: bool = False,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        parameters = list(params)
        check_each("params", parameters, Tensor, "parameters", way_out="Pass those of a Stack, without groups or names.")
        members = _members(parameters)
        check_kind("betas", betas, (tuple, list), "a pair of numbers", way_out="Adam's own are (0.9, 0.999).")
        if len(betas) != 2:
            raise ValueError(f"`betas` should be a pair of numbers. Found {len(betas)}. Adam's own are (0.9, 0.999).")
        for index, beta in enumerate(betas):
            check_decay(f"betas[{index}]", beta)
        check_positive("eps", eps)
        numbers = {"lr": _each("rates", rates, members), "weight_decay": _each("decays", decays, members)}
        super().__init__(parameters, {**numbers, "decoupled": decoupled, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: None = None, running: Bool[Tensor, " m"] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take one step with the members that run; the others keep parameters, moments and step counts.

        Args:
            closure: not taken, there is one gradient.
            running: (M,) True where a member goes on; all if None.
        """
        if closure is not None:
            raise TypeError("A stack is stepped with the gradients it has. Found a closure. Call backward, then step().")
        for group in self.param_groups:
            members = len(group["lr"])
            mask = torch.ones(members, dtype=torch.bool) if running is None else _mask(running, members)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group, mask)

    def _move(self, parameter: Tensor, group: dict[str, Any], mask: Tensor) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(len(mask), dtype=torch.float64)  # as Python's floats, which Adam's own corrections are
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state["step"] = state["step"].cpu()  # as are rates: a checkpoint may have been loaded to another device
        state["step"] += mask
        (beta1, beta2), steps = group["betas"], state["step"].clamp(min=1)
        rate, decay = group["lr"].cpu(), group["weight_decay"].cpu()

        def along(numbers: Tensor) -> Tensor:  # one number a member, as a factor of its parameters
            return numbers.to(parameter).view(-1, *[1] * (parameter.dim() - 1))

        runs = along(mask.double())
        gradient = cast(Tensor, parameter.grad)
        if bool(decay.any()):
            if group["decoupled"]:
                parameter.mul_(along(1 - rate * decay * mask))
            else:
                gradient = gradient + along(decay) * parameter
        # What a stopped member computes (NaN, where it diverged) must not be multiplied by 0 but left out.
        gradient = gradient if bool(mask.all()) else torch.where(runs > 0, gradient, 0.0)
        first, second = state["exp_avg"], state["exp_avg_sq"]
        first.lerp_(gradient, runs * (1 - beta1))
        second.mul_(1 - runs * (1 - beta2)).add_(gradient.square() * (1 - beta2))
        size = rate / (1 - beta1**steps) * mask
        spread = second.sqrt().div_(along((1 - beta2**steps).sqrt())).add_(group["eps"])
        parameter.sub_(torch.where(runs > 0, first / spread * along(size), 0.0))


def _members(parameters: list[Tensor]) -> int:
    lengths = {len(parameter) if parameter.dim() else 0 for parameter in parameters}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"Parameters should share a leading axis of members. Found lengths {sorted(lengths)}. Pass those of a Stack."
        )
    return lengths.pop()


def _each(name: str, values: Sequence[float] | Tensor | float, members: int) -> Tensor:
    listed = values.tolist() if isinstance(values, Tensor | np.ndarray | np.generic) else values
    if not isinstance(listed, Real | Iterable):
        raise TypeError(
            f"`{name}` should be a number, or one for each member. Found {type(listed).__name__}. Pass one for all."
        )
    numbers = [listed] * members if isinstance(listed, Real) else list(listed)
    if len(numbers) != members:
        raise ValueError(
            f"`{name}` should hold one number for each of {members} members. Found {len(numbers)}. Pass one for all."
        )
    for index, number in enumerate(numbers):
        check_not_negative(f"{name}[{index}]", number)
    return torch.tensor(numbers, dtype=torch.float64)


def _mask(running: Tensor, members: int) -> Tensor:
    if not isinstance(running, Tensor) or running.dtype != torch.bool:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"`running` should be a tensor of booleans. Found {type(running).__name__}. Compare, as in losses > 0.1."
        )
    if running.shape != (members,):
        raise ValueError(
            f"`running` should have the shape ({members},). Found {tuple(running.shape)}. Give one for each member."
        )
    return running.detach().cpu()
