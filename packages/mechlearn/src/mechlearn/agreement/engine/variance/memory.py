"""Exponential averages over steps of the environments' gradients and of their examples' variances, for one parameter."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class Memory:
    """What is remembered of one parameter: for each environment its gradient and the variance of single examples'.

    Both are averaged with weights that fall by ``decay`` a step and corrected as Adam's moments are. After t steps the average
    of independent gradients has the variance r = (1 - b) (1 + b^t) / ((1 + b) (1 - b^t)) times that of one, and

        s_e^2 = v_e (1 / N_e + (1 / n - 1 / N_e) r),

    of n examples a step from the N_e that the environment has: what its sample lacks does not average away. The spread has
    1 / r times the degrees of freedom of one step's.

    Args:
        like: the parameter.
        environments: E.
        decay: b, in (0, 1).
        sizes: N_e, infinite where it is not known.

    Attributes:
        places: where a step's environments, by their positions in it, are in what is remembered: a step may have them in
            another order than the first.
    """

    def __init__(self, like: Tensor, environments: int, decay: int | float, sizes: Sequence[int | float]) -> None:
        dtype = torch.promote_types(like.dtype, torch.float32)
        self.decay, self.sizes, self.steps = decay, tuple(sizes), 0
        self.places: Sequence[int] = range(environments)
        self.gradients = [torch.zeros(like.shape, dtype=dtype, device=like.device) for _ in range(environments)]
        self.variances = [torch.zeros_like(gradient) for gradient in self.gradients]

    def state(self) -> dict[str, Any]:
        """Return what `of_state` makes an equal one of; tensors are copies."""
        tensors = {key: [one.clone() for one in getattr(self, key)] for key in ("gradients", "variances")}
        return {"decay": self.decay, "sizes": list(self.sizes), "steps": self.steps, **tensors}

    @classmethod
    def of_state(cls, state: Mapping[str, Any], like: Tensor) -> "Memory":
        """Return the memory that a state is of, on a parameter's device."""
        made = cls(like, len(state["gradients"]), state["decay"], state["sizes"])
        made.steps = state["steps"]
        for key in ("gradients", "variances"):
            for own, one in zip(getattr(made, key), state[key], strict=True):
                own.copy_(one)
        return made

    def begin(self) -> None:
        """Count a step in place; each environment is updated once in it."""
        self.steps += 1

    def next(self, places: Sequence[int]) -> "Memory":
        """Return a copy that counts one step more, in which each environment is updated once; this one does not change."""
        copy = self.part(torch.clone)
        copy.places = places
        copy.begin()
        return copy

    def is_finite(self) -> Bool[Tensor, ""]:
        """Tell whether all that is remembered can be averaged with what comes: NaN and infinity would stay for good."""
        return torch.stack([remembered.isfinite().all() for remembered in (*self.gradients, *self.variances)]).all()

    def part(self, view: Callable[[Tensor], Tensor]) -> "Memory":
        """Return the memory of a part of the parameter, which shares this one's."""
        part = object.__new__(Memory)
        part.decay, part.sizes, part.steps, part.places = self.decay, self.sizes, self.steps, self.places
        part.gradients, part.variances = ([view(t) for t in ts] for ts in (self.gradients, self.variances))
        return part

    def update(
        self, environments: Sequence[int], gradients: Float[Tensor, "c *p"], variances: Float[Tensor, "c *p"], examples: int
    ) -> None:
        """Remember a step's gradients of some environments and their squared standard errors, n examples each."""
        for e, gradient, variance in zip(environments, gradients, variances, strict=True):
            self.gradients[self.places[e]].lerp_(gradient, 1 - self.decay)
            self.variances[self.places[e]].lerp_(variance * examples, 1 - self.decay)

    def recall(self, environment: int, degrees: int | float, examples: int) -> tuple[Tensor, Tensor, float]:
        """Return an environment's gradient, its squared standard error and the error's degrees of freedom."""
        fallen = self.decay**self.steps
        ratio = (1 - self.decay) * (1 + fallen) / ((1 + self.decay) * (1 - fallen))
        place = self.places[environment]
        known = 1 / self.sizes[place]
        factor = known + (1 / examples - known) * ratio
        gradient = self.gradients[place] / (1 - fallen)
        return gradient, self.variances[place] * (factor / (1 - fallen)), degrees / ratio


def sizes_of(ids: Sequence[object], rows: Mapping[object, int] | None, examples: Sequence[int]) -> list[float]:
    """Return N_e for each environment, infinite where none is given."""
    if rows is None:
        return [float("inf")] * len(ids)
    lacking = [name for name in ids if name not in rows]
    if lacking:
        raise ValueError(
            f"`rows` should say how many examples every environment has. Found none of environment {lacking[0]!r}. Add it, or "
            "leave `rows` out where they are drawn without end."
        )
    for name, drawn in zip(ids, examples, strict=True):
        if rows[name] < drawn:
            raise ValueError(
                f"`rows` should be at least what a step draws. Found {rows[name]} of environment {name!r}, of which this step "
                f"has {drawn}. Count the rows that it has in all."
            )
    return [float(rows[name]) for name in ids]
