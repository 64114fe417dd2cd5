"""Grokfast's filters: add to each gradient what gradients have had in common over time (Lee et al. 2024)."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from mechlearn.agreement.temporal.form import wide
from mechlearn.agreement.temporal.loading import check_keys, check_parameters, kind_of
from mechlearn.arguments import FLOATS, all_finite, check_decay, check_flag, check_not_negative, check_whole, worded


class Grokfast:
    """Adds an average of past gradients to each gradient: call it between ``backward()`` and ``optimizer.step()``.

    With an exponential average, m <- beta m + (1 - beta) g and g <- g + factor m, where m begins with the first gradient.
    With a window, g <- g + factor * the mean of the last ``window`` gradients, from the step on at which there are so many.
    A window holds that many copies of the parameters. With a GradScaler, unscale first and pass ``refuse_nonfinite=False``.

    `TemporalMask` removes the components whose recent signs do not agree instead.

    Source: Lee et al. 2024, Grokfast-EMA and Grokfast-MA (https://arxiv.org/abs/2405.20233). The first m and the wait for a
    full window are as in their published code.

    Args:
        params: parameters, as ``model.parameters()`` gives them.
        beta: decay of the exponential average, in [0, 1). It is the paper's alpha.
        factor: of what is added, at least 0: the paper's lambda. They take 2 with the average, and 5 with a window of 100.
        window: how many gradients are averaged. None takes the exponential average.
        refuse_nonfinite: raise an error if a gradient is NaN or infinite. False leaves such a step unchanged.

    Raises:
        TypeError: if there are no parameters, or settings are of another type.
        ValueError: if a setting is out of its range.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import Grokfast
        >>> weights = torch.nn.Parameter(torch.zeros(1))
        >>> grokfast = Grokfast([weights], beta=0.5, factor=1.0)
        >>> for gradient in (1.0, -1.0):
        ...     weights.grad = torch.tensor([gradient])
        ...     grokfast.amplify_()
        ...     print(weights.grad.item())
        2.0
        -1.0
    """

    @worded
    def __init__(
        self,
        params: Iterable[Tensor],
        beta: float = 0.98,
        factor: int | float = 2.0,
        *,
        window: int | None = None,
        refuse_nonfinite: bool = True,
    ) -> None:
        _check_settings(beta, factor, window)
        check_flag("refuse_nonfinite", refuse_nonfinite)
        self.params: list[Tensor] = check_parameters(params, groups=False)
        self.beta, self.factor, self.window, self.refuse_nonfinite = beta, factor, window, refuse_nonfinite
        self._memories: list[Tensor | None] = [None] * len(self.params)
        self._steps = [0] * len(self.params)

    @torch.no_grad()
    def amplify_(self) -> None:
        """Take the gradients into the averages, and add those in place. Skip parameters without one.

        Raises:
            ValueError: if a gradient is sparse or complex. No gradient is changed then.
            FloatingPointError: if a gradient is NaN or infinite, with ``refuse_nonfinite``. No gradient is changed then.
        """
        gradients = {index: p.grad for index, p in enumerate(self.params) if p.grad is not None}
        for gradient in gradients.values():
            if gradient.layout != torch.strided or gradient.dtype not in FLOATS:
                raise ValueError(
                    f"Gradients should be dense and real. Found a {kind_of(gradient)} gradient of shape "
                    f"{tuple(gradient.shape)}. Leave that parameter out."
                )
        if not all(map(all_finite, gradients.values())):
            if self.refuse_nonfinite:
                raise FloatingPointError(
                    "Every gradient should be finite. Found NaN or infinity. Lower the learning rate, or skip the step. No "
                    "gradient was changed. With a GradScaler: refuse_nonfinite=False."
                )
            return
        for index, gradient in gradients.items():
            average = self._averaged(index, gradient) if self.window is None else self._mean(index, gradient, self.window)
            if average is not None:
                gradient.add_(average, alpha=self.factor)

    def _averaged(self, index: int, gradient: Tensor) -> Tensor:
        memory = self._memories[index]
        if memory is None:
            memory = self._memories[index] = gradient.to(wide(gradient.dtype), copy=True)
        else:
            memory.mul_(self.beta).add_(gradient, alpha=1 - self.beta)
        return memory

    def _mean(self, index: int, gradient: Tensor, window: int) -> Tensor | None:
        memory = self._memories[index]
        if memory is None:
            memory = self._memories[index] = torch.zeros(window, *gradient.shape, dtype=gradient.dtype, device=gradient.device)
        memory[self._steps[index] % window] = gradient
        self._steps[index] += 1
        return memory.mean(0, dtype=wide(memory.dtype)) if self._steps[index] >= window else None

    def state_dict(self) -> dict[str, Any]:
        """Return the averages, the counts of steps and the settings, without copies."""
        settings = {"beta": self.beta, "factor": self.factor, "window": self.window}
        return {**settings, "memories": list(self._memories), "steps": list(self._steps)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where another filter was, with copies of its averages and with its settings.

        Raises:
            TypeError: if there is no state.
            ValueError: if the state is of other parameters, or its settings are out of their range. Nothing is loaded then.
        """
        check_keys(state, ("beta", "factor", "window", "memories", "steps"))
        _check_settings(state["beta"], state["factor"], state["window"])
        lead = () if state["window"] is None else (state["window"],)
        memories: list[Tensor | None] = state["memories"]
        found = [None if memory is None else tuple(memory.shape) for memory in memories]
        wanted = [(*lead, *p.shape) for p in self.params]
        if len(found) != len(wanted) or any(own not in (None, other) for own, other in zip(found, wanted, strict=True)):
            raise ValueError(
                f"The state should be of the same {len(wanted)} parameters in the same order. Found memories of shapes "
                f"{found}. "
                "Make the filter for the parameters that the state was saved for."
            )
        self.beta, self.factor, self.window = state["beta"], state["factor"], state["window"]
        self._memories = [None if m is None else m.to(p.device, copy=True) for m, p in zip(memories, self.params, strict=True)]
        self._steps = list(state["steps"])


def _check_settings(beta: float, factor: float, window: int | None) -> None:
    check_decay("beta", beta, way_out="0.98 remembers about fifty steps.")
    check_not_negative("factor", factor, way_out="2 is usual, 0 adds nothing.")
    if window is not None:
        check_whole("window", window, least=1, way_out="100 is usual, None takes an exponential average.")
