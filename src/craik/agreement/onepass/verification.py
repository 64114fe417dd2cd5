"""The check of the layer-by-layer path against autograd, made once for each kind of graph a model produces."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from craik.agreement.onepass.capture import Capture
from craik.agreement.onepass.layerwise import Calls, layer_pass
from craik.agreement.onepass.sketches import sketch
from craik.agreement.onepass.sums import RunningSums
from craik.environments import Environments

# How far the check lets float arithmetic in another order go. What it looks for (examples that are coupled, permuted or
# rescaled on the way) changes gradients by a good part of their size.
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-3}
_LOW_PRECISION_TOLERANCE = 5e-2
_TF32_TOLERANCE = 1e-2  # float32 on a GPU, where torch lets convolutions round their factors to 10 bits unless told otherwise


class Check(NamedTuple):
    """What `check_against_autograd` found.

    Attributes:
        verified: the names of the parameters whose layer formula is right on this graph.
        coupled: the name of a layer, where examples of different environments meet after every layer; else None.
        final: False where a gradient was 0 or not finite and so could not be told: the next call checks again.
        age: how often this kind of graph was seen before.
    """

    verified: frozenset[str]
    coupled: str | None
    final: bool = True
    age: int = 0


def check_against_autograd(
    losses: Float[Tensor, " b"],
    calls: Calls,
    parameters: Mapping[str, Tensor],
    groups: Environments,
    outside: Sequence[Tensor],
    blank: Callable[[Tensor], RunningSums],
    age: int = 0,
) -> Check:
    """Find out for which parameters this graph bears the layer formula out, and whether environments are coupled.

    Two things are compared. If every environment's loss is multiplied by a number of its own, each row of a layer's
    output gradient must be multiplied by the number of its example's environment: this fails where examples of different
    environments meet (batch statistics, a loss over pairs) or rows are not the batch's examples in order. And the formula's
    sum over environments must be autograd's gradient: this fails where a hook changes a layer's output.

    Two backward passes, of which little more is kept than random projections (`craik.agreement.onepass.sketches`): first of the
    losses with their numbers, then of the losses as they are, where formulas and autograd see the same output gradients, so
    that a gradient which is 0 in theory is the same rounding noise in both. The graph is kept.

    Args:
        losses: one loss for each example.
        calls: from `covered_calls`.
        parameters: the model's parameters by name.
        groups: the partition of the batch.
        outside: leaves outside the model, which may lie below the first layer.
        blank: from a parameter to empty sums, so that they are formed as they will be.
        age: how often this kind of graph was seen before.
    """
    if not calls:
        return Check(frozenset(), None, age=age)
    # Any numbers that differ between environments will do; a seed of its own keeps the caller's random stream as it is.
    factors = torch.rand(groups.count, generator=torch.Generator().manual_seed(0)) + 0.5
    weighted = losses * groups.mean_weights(losses)
    row_factors = factors.to(weighted)[groups.index]
    seen = _Examination(factors, row_factors, {name: blank(parameters[name]) for name in calls})
    others = [*outside, *(parameter for name, parameter in parameters.items() if name not in calls)]
    total = (weighted * row_factors).sum()
    layer_pass(total, calls, {}, groups, seen.complete, others, retain_graph=True, examine=seen.note)
    others = [*(parameters[name] for name in calls), *others]
    gradients = layer_pass(
        weighted.sum(), calls, seen.sums, groups, seen.complete, others, retain_graph=True, examine=seen.compare
    )
    right: set[str] = set()
    for name, gradient in zip(calls, gradients, strict=False):
        # Under autocast a float32 weight's gradient is a product in the delta's lower precision.
        dtype = seen.dtypes[id(calls[name][0].capture)]
        if name in seen.found and gradient is not None and _close(seen.found[name], sketch(gradient), dtype):
            right.add(name)
    return seen.summary(calls, frozenset(right), age)


_Apart = Literal["kept", "rearranged", "coupled", "unknown"]
"""What a layer's output gradients say of the examples; "unknown" where they are 0 (a layer that starts at zero) or overflow."""


@dataclass
class _Examination:
    """What the two passes leave: projections and verdicts, by parameter name or by the identity of a layer call.

    Attributes:
        factors: (E,) the number of each environment.
        row_factors: (B,) that of each example.
        sums: where the formulas add.
        scaled: the output gradients of the losses with their numbers.
        dtypes: the coarsest between each and the losses, as autocast mixes them: rounding there reaches what lies below.
        apart: what they say of the examples.
        found: the formulas' sums.
        coarsest: the coarsest type of an output gradient so far.
    """

    factors: Tensor
    row_factors: Tensor
    sums: dict[str, RunningSums]
    scaled: dict[int, Tensor] = field(default_factory=dict[int, Tensor])
    dtypes: dict[int, torch.dtype] = field(default_factory=dict[int, torch.dtype])
    apart: dict[int, _Apart] = field(default_factory=dict[int, _Apart])
    found: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    coarsest: torch.dtype = torch.float64

    def note(self, capture: Capture, delta: Tensor) -> bool:
        """Project an output gradient of the first pass; formulas wait for the second."""
        self.scaled[id(capture)] = sketch(delta)
        return False

    def compare(self, capture: Capture, delta: Tensor) -> bool:
        """Tell whether an output gradient of the second pass keeps the examples apart."""
        self.coarsest = max(self.coarsest, delta.dtype, key=lambda dtype: torch.finfo(dtype).eps)
        self.dtypes[id(capture)] = self.coarsest
        verdict = _compare(sketch(delta), self.scaled[id(capture)], self.row_factors, self.factors, self.coarsest)
        self.apart[id(capture)] = verdict
        return verdict == "kept"

    def complete(self, name: str) -> None:
        """Project a formula's sum, and let go of it."""
        self.found[name] = sketch(self.sums.pop(name).statistics().gradient)

    def summary(self, calls: Calls, right: frozenset[str], age: int) -> Check:
        """Return the check's result."""
        captures = {id(capture): capture for reads in calls.values() for capture, _ in reads}
        coupled = [c.name or type(c.layer).__name__ for key, c in captures.items() if self.apart[key] == "coupled"]
        verdicts = set(self.apart.values())
        # Where some layers keep examples apart, others may only hold rows that are no examples: the exact path serves them.
        refused = coupled[-1] if coupled and "kept" not in verdicts else None
        return Check(right, refused, "unknown" not in verdicts, age)


def _compare(delta: Tensor, scaled: Tensor, row_factors: Tensor, factors: Tensor, dtype: torch.dtype) -> _Apart:
    """Compare an output gradient with that of the losses with factors, both projected row by row."""
    if not bool(torch.isfinite(scaled).all()) or not bool(delta.any()):
        return "unknown"
    if _close(scaled, _times_rows(delta, row_factors), dtype):
        return "kept"
    # As when a model only reorders its examples: each row was still multiplied by one environment's factor.
    factors = factors.to(delta)
    ratio = (scaled * delta).sum(1) / (delta * delta).sum(1).clamp(min=torch.finfo(delta.dtype).tiny)
    nearest = factors[(ratio[:, None] - factors).abs().argmin(1)]
    return "rearranged" if _close(scaled, _times_rows(delta, nearest), dtype) else "coupled"


def _times_rows(tensor: Tensor, factors: Tensor) -> Tensor:
    return tensor * factors.to(tensor.dtype).view(-1, *[1] * (tensor.dim() - 1))


def _close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    tolerance = _TOLERANCE.get(dtype, _LOW_PRECISION_TOLERANCE)
    if found.is_cuda and dtype == torch.float32:
        tolerance = _TF32_TOLERANCE
    return bool((found - expected).norm() <= tolerance * expected.norm())
