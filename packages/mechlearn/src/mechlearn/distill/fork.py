"""A twin that trains on the trusted loss alone, and a held-out choice between it and the model."""

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from mechlearn.arguments import check_callable, check_kind, check_whole


class Chosen(NamedTuple):
    """The better branch of a `Fork`.

    Attributes:
        branch: "model" or "twin".
        score: its best held-out score.
        gain: the model's best score minus the twin's; 0 or less chooses the twin.
        step: after how many steps the score was measured.
        state: the branch's state dict at that step.
    """

    branch: Literal["model", "twin"]
    score: float
    gain: float
    step: int
    state: dict[str, Any]


class Fork:
    """Keep a twin of a model that you train on the trusted loss alone, and choose between both on held-out data.

    No rule of gradients makes a second loss safe. Train the model with it and the twin without, on the same batches. A second
    loss that harms then costs the twin's compute, and nothing else. A gain below the noise of your metric can be missed.

    Args:
        model: trained with the second loss; the twin starts as a copy of it.
        metric: from a module to its held-out score, larger is better. It is called for both branches, in the mode that they are
            in: call ``eval()`` in it where dropout or BatchNorm acts, and ``train()`` after.
        every: steps between two evaluations; each branch is kept as it was at its best score.

    Attributes:
        twin: train it with an optimizer of its own.

    Raises:
        TypeError: if the model is not a module, the metric not callable, or its score not a number.
        ValueError: if `every` is below 1, or a score is not finite.

    Example:
        >>> import torch
        >>> from mechlearn.distill import Fork
        >>> model = torch.nn.Linear(1, 1)
        >>> fork = Fork(model, lambda one: -float(one(torch.ones(1, 1)).square().detach()), every=1)
        >>> optimizer, of_twin = (torch.optim.SGD(one.parameters(), lr=0.1) for one in (model, fork.twin))
        >>> for x in torch.ones(5, 1, 1):
        ...     (-model(x)).sum().backward()  # a second loss that harms
        ...     fork.twin(x).square().sum().backward()
        ...     optimizer.step(), of_twin.step(), fork.step()  # doctest: +ELLIPSIS
        (...)
        >>> fork.choose().branch
        'twin'
    """

    def __init__(self, model: nn.Module, metric: Callable[[nn.Module], float], *, every: int = 30) -> None:
        check_kind("model", model, nn.Module, "a module")
        check_callable("metric", metric, "a function from a module to its held-out score")
        check_whole("every", every, least=1)
        self.model, self.twin = model, copy.deepcopy(model)
        self._metric, self._every, self._steps = metric, every, 0
        first = Chosen("twin", self._measured(model), 0.0, 0, _copied(model))
        self._best = {"model": first._replace(branch="model"), "twin": first}

    def step(self) -> None:
        """Count a step of both branches, and evaluate them where it is time."""
        self._steps += 1
        if self._steps % self._every:
            return
        for branch, module in (("model", self.model), ("twin", self.twin)):
            score = self._measured(module)
            if score > self._best[branch].score:
                self._best[branch] = self._best[branch]._replace(score=score, step=self._steps, state=_copied(module))

    def choose(self) -> Chosen:
        """Return the branch with the better held-out score, or the twin if both are equal.

        Raises:
            ValueError: if the branches were not evaluated yet.
        """
        if self._steps < self._every:
            raise ValueError(
                f"`step` should be called at least {self._every} times before `choose`. Found {self._steps} calls. Lower "
                "`every`, or train on."
            )
        gain = self._best["model"].score - self._best["twin"].score
        return self._best["model" if gain > 0 else "twin"]._replace(gain=gain)

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to resume, as ``torch.load(weights_only=True)`` takes it; the model's state is its own."""
        best = {branch: one._asdict() for branch, one in self._best.items()}
        return {"steps": self._steps, "twin": _copied(self.twin), "best": best}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume where another fork of the same model was."""
        self.twin.load_state_dict(state["twin"])
        self._steps = state["steps"]
        self._best = {branch: Chosen(**one) for branch, one in state["best"].items()}

    def _measured(self, module: nn.Module) -> float:
        score: Any = self._metric(module)
        if isinstance(score, Tensor) and score.numel() == 1:
            score = score.item()
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise TypeError(f"`metric` should return a number. Found {type(score).__name__}. Return a float, larger is better.")
        if not math.isfinite(score):
            raise ValueError(f"`metric` should return a finite number. Found {score}. Check the held-out data.")
        return float(score)


@torch.no_grad()
def _copied(module: nn.Module) -> dict[str, Any]:
    return copy.deepcopy(module.state_dict())
