"""The score with all of every Hessian, for small models: solved exactly, or with the true losses in the objective."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.surfaces.consistency.definition import Consistency
from mechlearn.surfaces.consistency.program import Quadratic, Whitening, whitening
from mechlearn.surfaces.consistency.searches import Ascent
from mechlearn.surfaces.consistency.taylor import Expansion, programs, signs, solve
from mechlearn.surfaces.landscape import Curvature, Landscape


class Found(NamedTuple):
    """Where a pair of environments disagrees most, as far as a method can tell.

    Attributes:
        value: abs(L_e' - L_e) there, as approximated.
        displacement: (n,) theta - theta*.
        contributions: of each named parameter to the growth of the objective on the way, a quadratic one's.
        multiplier: of the constraint; 0 where it does not bind.
        converged: False where the iterations ran out.
        iterations: steps taken.
        products: Hessian-vector products taken for this pair.
        residual: what is left of the optimality conditions, relative; 0 where they were solved.
    """

    value: float
    displacement: Float[Tensor, " n"]
    contributions: dict[str, float]
    multiplier: float
    converged: bool = True
    iterations: int = 0
    products: int = 0
    residual: float = 0.0


def dense_hessians(landscape: Landscape, curvature: Curvature, largest: int) -> list[Float[Tensor, "n n"]]:
    """Return every environment's Hessian in float64, without the ridge."""
    n = len(landscape.point)
    if n > largest:
        raise ValueError(
            f"An exact search builds {n} x {n} matrices and allows at most {largest} parameters. Found {n}. Choose "
            "search=Subspace(), which needs Hessian-vector products only."
        )
    return [landscape.hessian(e, curvature).double() for e in range(len(landscape.environments))]


def dense_pair(
    landscape: Landscape,
    pair: tuple[int, int],
    expansions: Sequence[Expansion],
    hessians: Sequence[Tensor],
    consistency: Consistency,
    generator: Generator | None,
) -> Found:
    """Return where environments e, e' = pair disagree most while e's expanded loss stays within epsilon."""
    wide = [Expansion(loss, gradient.double()) for loss, gradient in (expansions[e] for e in pair)]
    candidates: list[Found] = []
    for sign in signs(consistency):
        objective, constraint = programs(wide[0], wide[1], hessians[pair[0]], hessians[pair[1]], consistency, sign)
        maximum = solve(objective, constraint, consistency, landscape.environments[pair[0]])
        slope = objective.linear + objective.matrix @ maximum.point / 2
        found = Found(maximum.value, maximum.point, contributions(landscape, maximum.point, slope), maximum.multiplier)
        if isinstance(consistency.search, Ascent):
            inside = _Inside.of(constraint, consistency)
            found = _ascend(_true(landscape, pair, consistency, sign), found, inside, consistency.search, generator)
            slope = objective.linear + objective.matrix @ found.displacement / 2
            found = found._replace(contributions=contributions(landscape, found.displacement, slope))
        candidates.append(found)
    return max(candidates, key=lambda found: found.value)


def contributions(landscape: Landscape, displacement: Float[Tensor, " n"], slope: Float[Tensor, " n"]) -> dict[str, float]:
    """Return what each named parameter adds to displacement . slope, the growth of a quadratic on the way.

    Args:
        landscape: where the names come from.
        displacement: the way.
        slope: the mean of the quadratic's gradients at both ends.
    """
    parts = landscape.parameters.items()
    return {name: float(displacement[where].double() @ slope[where].double()) for name, where in parts}


Objective = Callable[[Tensor], tuple[float, Tensor]]
"""From a displacement to a value and its gradient."""


def _true(landscape: Landscape, pair: tuple[int, int], consistency: Consistency, sign: int) -> Objective:
    e, other = pair

    def evaluate(displacement: Tensor) -> tuple[float, Tensor]:
        theta = landscape.point + displacement.to(landscape.point)
        value, gradient = landscape.gradient(other, theta)
        if consistency.subtract:
            less, slope = landscape.gradient(e, theta)
            value, gradient = value - less, gradient - slope
        return sign * value, sign * gradient.double()

    return evaluate


class _Inside(NamedTuple):
    """The ellipsoid, or shell, to stay in: a ball in white coordinates.

    Attributes:
        white: the coordinates.
        inner: the shell's smaller radius; 0 for a ball.
        outer: its larger one.
        side: the sign of where theta* lies, of one parameter alone: a shell of two intervals, of which only one holds it.
    """

    white: Whitening
    inner: float
    outer: float
    side: float

    @staticmethod
    def of(constraint: Quadratic, consistency: Consistency) -> "_Inside":
        white = whitening(constraint)
        inner = white.radius(-consistency.epsilon) if consistency.neighbourhood == "within" else 0.0
        return _Inside(white, inner, white.radius(consistency.epsilon), float(white.origin[0].sign()))

    def project(self, y: Tensor) -> Tensor:
        """Return the nearest point inside."""
        if len(y) == 1 and self.inner > 0:
            return self.side * (self.side * y).clamp(self.inner, self.outer)
        norm = float(y.norm())
        if norm > self.outer:
            return y * (self.outer / norm)
        return y * (self.inner / norm) if 0 < norm < self.inner else y


def _ascend(evaluate: Objective, found: Found, inside: _Inside, search: Ascent, generator: Generator | None) -> Found:
    """Projected gradient ascent on the true difference inside the ellipsoid, from several starts; the best end.

    The texts name accelerated mirror descent. In coordinates in which the ellipsoid is a ball, projecting is dividing by a
    norm. A local search: what it returns is a lower bound.
    """
    if generator is None:
        raise ValueError("`Ascent` starts from random points, too. Found no generator; pass generator=...")
    white = inside.white
    first = white.factor.T @ (found.displacement - white.centre)
    # Drawn where the generator lives, so that a seed means the same starts on every device.
    place = generator.device
    draws = torch.randn(search.starts, len(first), dtype=first.dtype, generator=generator, device=place).to(first.device)
    scale = torch.rand(search.starts, 1, dtype=first.dtype, generator=generator, device=place).to(first.device)
    scale = scale ** (1 / len(first))
    starts = [first, white.origin, *(inside.outer * scale * draws / draws.norm(dim=1, keepdim=True))]
    ends = [_climb(evaluate, inside, start, search.iterations) for start in starts]
    value, y, steps = max(ends, key=lambda end: end[0])
    return Found(value, white.unwhiten(y), {}, 0.0, iterations=steps)


def _climb(evaluate: Objective, inside: _Inside, y: Tensor, iterations: int) -> tuple[float, Tensor, int]:
    white = inside.white

    def at(y: Tensor) -> tuple[float, Tensor]:
        value, gradient = evaluate(white.unwhiten(y))
        return value, torch.linalg.solve_triangular(white.factor, gradient[:, None], upper=False)[:, 0]

    y = inside.project(y)
    value, gradient = at(y)
    step = inside.outer / max(float(gradient.norm()), 1e-300)
    for count in range(iterations):
        candidate = inside.project(y + step * gradient)
        new_value, new_gradient = at(candidate)
        if new_value > value:
            gain, value, y, gradient = new_value - value, new_value, candidate, new_gradient
            step *= 2
            if gain <= 1e-12 * abs(value):
                return value, y, count + 1
        elif step * float(gradient.norm()) <= 1e-9 * inside.outer:
            return value, y, count + 1
        else:
            step /= 2
    return value, y, iterations
