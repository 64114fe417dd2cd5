"""The temporal AND-mask for any optimiser: it acts on ``.grad``, between ``backward()`` and ``optimizer.step()``."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from mechlearn.agreement.rules.base import check_threshold
from mechlearn.agreement.temporal.form import check_reachable, slack, wide
from mechlearn.agreement.temporal.loading import check_keys, check_parameters, kind_of
from mechlearn.arguments import FLOATS, all_finite, check_decay, check_flag, worded


class TemporalMask:
    """Sets the gradients' components to 0 whose recent signs do not agree.

    With one environment in each step, a <- beta a + (1 - beta) sign(g) and g <- g 1[abs(a) >= threshold]: lines 3 and 4 of
    the paper's algorithm 1 (`mechlearn.agreement.TemporalAndMaskAdam` is the whole of it). Here the gradient itself is masked.
    What an optimiser makes of it comes after: a momentum goes on moving a component that is masked now, whereas algorithm
    1 masks Adam's momentum too; with SGD without momentum there is no difference. Weight decay acts after the mask.

    Args:
        params: parameters, as ``model.parameters()`` gives them.
        beta: decay of the moving average of signs, in [0, 1); the paper's beta_3.
        threshold: the papers' tau in [0, 1]; 0 masks nothing.
        bias_correction: divide a by 1 - beta^t, as it starts from 0; the first step then masks nothing. False, as printed,
            lets a component through when 1 - beta^t has reached the threshold, at the earliest.
        refuse_nonfinite: raise where a gradient is NaN or infinite. Turn it off with a `torch.amp.GradScaler`, which skips such
            a step itself: no gradient is masked then, and no sign counted.

    Raises:
        TypeError: no parameters, or settings of another type.
        ValueError: a beta or threshold out of its range, no parameters, or a threshold of 1 that would never be reached.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import TemporalMask
        >>> weights = torch.nn.Parameter(torch.zeros(2))
        >>> optimizer, mask = torch.optim.SGD([weights], lr=1.0), TemporalMask([weights], beta=0.5, threshold=0.6)
        >>> for second in (1.0, -1.0, 1.0):
        ...     weights.grad = torch.tensor([1.0, second])
        ...     shares = mask.mask_()
        ...     optimizer.step()
        >>> weights.tolist(), shares
        ([-2.0, 0.0], [0.5])
    """

    @worded
    def __init__(
        self,
        params: Iterable[Tensor],
        beta: float = 0.9,
        threshold: float = 0.4,
        *,
        bias_correction: bool = False,
        refuse_nonfinite: bool = True,
    ) -> None:
        _check_settings(beta, threshold, bias_correction)
        check_flag("refuse_nonfinite", refuse_nonfinite)
        self.params: list[Tensor] = check_parameters(params, groups=False)
        self.beta, self.threshold, self.bias_correction = beta, threshold, bias_correction
        self.refuse_nonfinite = refuse_nonfinite
        self._averages: list[Tensor | None] = [None] * len(self.params)
        self._steps = [0] * len(self.params)

    @torch.no_grad()
    def mask_(self) -> list[float]:
        """Take the gradients' signs into account and mask the gradients in place; parameters without one are skipped.

        Returns:
            The share of components that the mask let through, for each parameter that has a gradient.

        Raises:
            TypeError, ValueError: beta, threshold or bias_correction was changed to what it cannot be.
            ValueError: a gradient is sparse or complex. No gradient is touched then.
            FloatingPointError: a gradient is NaN or infinite, with ``refuse_nonfinite``. No gradient is touched then.
        """
        _check_settings(self.beta, self.threshold, self.bias_correction)
        gradients = {index: p.grad for index, p in enumerate(self.params) if p.grad is not None}
        for gradient in gradients.values():
            _check_kind(gradient)
        infinite = next((gradient for gradient in gradients.values() if not all_finite(gradient)), None)
        if infinite is not None and self.refuse_nonfinite:
            raise FloatingPointError(
                f"Every gradient should be finite. Found NaN or infinity in a gradient of shape {tuple(infinite.shape)}. Lower "
                "the learning rate, or skip the step; no gradient was changed. With a GradScaler: refuse_nonfinite=False."
            )
        if infinite is not None:
            return [1.0] * len(gradients)
        shares = [self._mask_one(index, gradient) for index, gradient in gradients.items()]
        return torch.stack(shares).tolist() if shares else []

    def _mask_one(self, index: int, gradient: Tensor) -> Tensor:
        average = self._averages[index]
        if average is None:
            average = self._averages[index] = torch.zeros_like(gradient, dtype=wide(gradient.dtype))
        average.mul_(self.beta).add_(gradient.sign(), alpha=1 - self.beta)
        self._steps[index] += 1
        correction = 1.0
        if self.bias_correction:
            correction = (1 - self.beta ** self._steps[index]) * (1 - slack(self.threshold, self.beta, average.dtype))
        survives = average.abs() >= self.threshold * correction
        gradient.mul_(survives)
        return survives.double().mean() if survives.numel() else survives.new_ones((), dtype=torch.float64)

    def state_dict(self) -> dict[str, Any]:
        """Return the averages and counts of steps, parameter by parameter, and the settings; tensors are not copied."""
        settings = {"beta": self.beta, "threshold": self.threshold, "bias_correction": self.bias_correction}
        return {**settings, "sign_avg": list(self._averages), "steps": list(self._steps)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another mask was; its tensors are copied to the parameters' devices, its settings taken over.

        Raises:
            TypeError: no state.
            ValueError: the state is of other parameters, or its settings are out of their range. Nothing is loaded then.
        """
        check_keys(state, ("sign_avg", "steps", "beta", "threshold", "bias_correction"))
        _check_settings(state["beta"], state["threshold"], state["bias_correction"])
        averages: list[Tensor | None] = state["sign_avg"]
        found = [None if average is None else tuple(average.shape) for average in averages]
        fits = len(found) == len(self.params) and all(
            shape in (None, tuple(p.shape)) for shape, p in zip(found, self.params, strict=True)
        )
        if not fits:
            raise ValueError(
                f"The state should be of the same {len(self.params)} parameters in the same order. Found averages of shapes "
                f"{found}. Make the mask for the parameters that the state was saved for."
            )
        self.beta, self.threshold, self.bias_correction = state["beta"], state["threshold"], state["bias_correction"]
        self._averages = [
            None if a is None else a.to(p.device, wide(p.dtype), copy=True) for a, p in zip(averages, self.params, strict=True)
        ]
        self._steps = list(state["steps"])


def _check_settings(beta: float, threshold: float, bias_correction: bool) -> None:
    check_threshold(threshold)
    check_decay("beta", beta, way_out="0.9 remembers about ten steps.")
    check_flag("bias_correction", bias_correction)
    check_reachable(threshold, beta, bias_correction)


def _check_kind(gradient: Tensor) -> None:
    if gradient.layout != torch.strided or gradient.dtype not in FLOATS:
        raise ValueError(
            "Gradients should be dense and real: the mask needs every component's sign. Found a "
            f"{kind_of(gradient)} gradient of shape {tuple(gradient.shape)}. Leave that parameter out."
        )
