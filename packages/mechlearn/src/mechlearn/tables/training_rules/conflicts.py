"""Rules that test for conflict of sites, for a stack at once: `Qualitative` and `Homogeneous` of `mechlearn.agreement`.

Every third step each member's own sites are asked whether they are established to disagree, component by component, against
the standard errors of their gradients, remembered over steps (`mechlearn.agreement.StandardErrors`: examples, memory .75, every
3, and the rows that a site has); in between the masks hold. With few rows or no conflict this is averaging.

Index conventions as in `mechlearn.tables.fitting`: m a member of M, e a site of E, n_e rows of a site in a step, N_e in all.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.agreement.engine.variance.memory import Memory
from mechlearn.agreement.engine.variance.moments import normal_deviates
from mechlearn.agreement.rules.critical import homogeneous_critical, qualitative_critical
from mechlearn.params import Params
from mechlearn.tables.fitting import Configuration, Direction, Sites, layer_products, site_gradients

MEMORY, EVERY = 0.75, 3
"""How fast a step is forgotten, and steps between two decisions."""

Moments = tuple[Params, Params]
"""(E, M, *shape) gradients of the sites, and sum over a site's rows of n_e times their squared parts of it."""


@torch.no_grad()
def site_moments(params: Params, sites: Sites) -> Moments:
    """Return what standard errors are made of: squares of rows' parts are products, too, of the factors' squares."""
    gradients: dict[str, list[Tensor]] = {}
    squares: dict[str, list[Tensor]] = {}
    for layer, (inputs, delta) in layer_products(params, sites).items():
        for rows in sites.slices():
            a, d, n = inputs[:, rows], delta[:, rows], rows.stop - rows.start
            gradients.setdefault(f"{layer}.weight", []).append(d.mT @ a)
            gradients.setdefault(f"{layer}.bias", []).append(d.sum(1))
            squares.setdefault(f"{layer}.weight", []).append(d.square().mul_(n).mT @ a.square())
            squares.setdefault(f"{layer}.bias", []).append(n * d.square().sum(1))
    return tuple({name: torch.stack(values) for name, values in found.items()} for found in (gradients, squares))  # pyright: ignore[reportReturnType]  # of two


Evidence = Callable[[Tensor, Tensor, float], tuple[Tensor, ...]]
"""From a site's gradient, its squared standard error and that error's degrees of freedom to what is summed over sites."""


def sides(gradient: Tensor, variance: Tensor, freedom: float) -> tuple[Tensor, ...]:
    """Return z^2 where the gradient is positive and where it is negative; z the normal deviate of Student's t."""
    squares = (variance * freedom + gradient.square()).clamp_(min=torch.finfo(gradient.dtype).tiny)
    share = (gradient.square() / squares).clamp_(max=1 - 8 * torch.finfo(gradient.dtype).eps)
    deviates, factor = normal_deviates(share, freedom)
    z2 = deviates.abs_().mul_(factor)
    return z2 * (gradient > 0), z2 * (gradient < 0)


def precisions(gradient: Tensor, variance: Tensor, freedom: float) -> tuple[Tensor, ...]:
    """Return 1 / s^2, g / s^2 and g^2 / s^2 in double precision; 0 where all rows have the gradient 0."""
    g = gradient.double()
    floor = 8 * torch.finfo(gradient.dtype).eps * g.square() / freedom
    spread = torch.maximum(variance.double(), floor)
    precision = torch.where(spread > 0, spread.reciprocal(), 0)
    return precision, precision * g, precision * g * g


class _Tested:
    """Averages what the own sites are not established to disagree on."""

    def __init__(self, sites: Sites, own: Bool[Tensor, "m e"], evidence: Evidence, survives: Callable[..., Tensor]) -> None:
        self._sizes, self._own = sites.sizes, own
        self._evidence, self._survives = evidence, survives
        self._memories: dict[str, Memory] = {}
        self._masks: Params = {}
        self._step = 0

    @torch.no_grad()
    def __call__(self, params: Params, batch: Sites) -> Params:
        if self._step % EVERY == 0:
            gradients, squares = site_moments(params, batch)
            for name, g in gradients.items():
                self._masks[name] = self._decided(name, g, squares[name], batch.sizes)
        else:
            gradients = site_gradients(params, batch)
        self._step += 1
        return {name: self._mean(g) * self._masks[name] for name, g in gradients.items()}

    def _mean(self, gradients: Float[Tensor, "e m *p"]) -> Float[Tensor, "m *p"]:
        inside = _along(self._own.T, gradients)
        return (gradients * inside).sum(0) / inside.sum(0)

    def _decided(self, name: str, gradients: Tensor, squares: Tensor, drawn: tuple[int, ...]) -> Bool[Tensor, "m *p"]:
        if name not in self._memories:
            self._memories[name] = Memory(gradients[0], len(gradients), MEMORY, self._sizes)
        memory = self._memories[name]
        memory.begin()
        sums: list[Tensor] = []
        for e, n in enumerate(drawn):
            if n == 1:  # whose gradient has no spread: no evidence
                continue
            variance = (squares[e] - gradients[e].square()).clamp_(min=0) / (n - 1)
            memory.update([e], gradients[e : e + 1], variance[None], n)
            inside = _along(self._own[:, e], gradients[e])
            parts = [part * inside for part in self._evidence(*memory.recall(e, n - 1, n))]
            sums = parts if not sums else [total.add_(part) for total, part in zip(sums, parts, strict=True)]
        return self._survives(*sums) if sums else torch.ones_like(gradients[0], dtype=torch.bool)


def _along(values: Tensor, like: Tensor) -> Tensor:
    return values.to(like).view(*values.shape, *[1] * (like.dim() - values.dim()))


def _bounds(
    critical: Callable[[int, float], float], configurations: Sequence[Configuration], own: Bool[Tensor, "m e"]
) -> Callable[[Tensor], Tensor]:
    counts = own.sum(1).tolist()
    each = torch.tensor([critical(n, c.strength) for n, c in zip(counts, configurations, strict=True)], dtype=torch.float64)
    return lambda like: _along(each.to(like.device), like.double())


def qualitative(sites: Sites, configurations: Sequence[Configuration], own: Bool[Tensor, "m e"]) -> Direction:
    """Mask where the own sites are established to pull in opposite directions, at the level `Configuration.strength`."""
    bound = _bounds(qualitative_critical, configurations, own)

    def survives(up: Tensor, down: Tensor) -> Tensor:
        return up.minimum(down) <= bound(up)

    return _Tested(sites, own, sides, survives)


def homogeneous(sites: Sites, configurations: Sequence[Configuration], own: Bool[Tensor, "m e"]) -> Direction:
    """Mask where the own sites are established to differ, by Cochran's Q at the level `Configuration.strength`."""
    bound = _bounds(homogeneous_critical, configurations, own)

    def survives(precision: Tensor, weighted: Tensor, weighted_square: Tensor) -> Tensor:
        explained = torch.where(precision > 0, weighted.square() / precision, 0)
        return (weighted_square - explained).clamp_(min=0) <= bound(precision)

    return _Tested(sites, own, precisions, survives)
