"""The score with Hessian-vector products alone: a growing subspace in which each pair's program is solved exactly.

Without linear terms this is generalised Davidson with locally optimal restarts for the extreme eigenvalue of
(H_e' + ridge, H_e + ridge), which is LOBPCG (Knyazev, 2001) with a longer memory; with them, the sequential subspace method for
trust-region problems (Hager, 2001). Each iteration takes one product with either Hessian. Memory: `Subspace.basis` vectors with
their two products, and a few more.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from mechlearn.surfaces.consistency.basis import Basis
from mechlearn.surfaces.consistency.definition import Consistency
from mechlearn.surfaces.consistency.dense import Found, contributions
from mechlearn.surfaces.consistency.program import Maximum
from mechlearn.surfaces.consistency.searches import Subspace
from mechlearn.surfaces.consistency.taylor import Expansion, programs, signs, solve
from mechlearn.surfaces.landscape import Landscape


class _Aim(NamedTuple):
    """What is maximised over a subspace: sign (L_e' - L_e), while L_e stays.

    Attributes:
        stays: e's loss and gradient.
        other: those of e'.
        consistency: what is compared, and where.
        sign: 1 where e' does worse than e, -1 where it does better.
        environment: e's id.
    """

    stays: Expansion
    other: Expansion
    consistency: Consistency
    sign: int
    environment: int


def subspace_pair(
    landscape: Landscape,
    pair: tuple[int, int],
    expansions: Sequence[Expansion],
    consistency: Consistency,
    search: Subspace,
    generator: Generator,
) -> Found:
    """Return where environments e, e' = pair disagree most, to the tolerance: a lower bound of the exact program's maximum."""
    stays, other = (expansions[e] for e in pair)
    best: Found | None = None
    products = 0
    for sign in signs(consistency):  # one after the other: a subspace and what it found are many vectors
        space = Basis(landscape, pair, consistency.curvature, search.basis)
        found = _maximise(space, _Aim(stays, other, consistency, sign, landscape.environments[pair[0]]), search, generator)
        products += found.products
        best = found if best is None or found.value > best.value else best
        del space, found
    if best is None:
        raise RuntimeError("there is at least one sign")
    return best._replace(products=products)


def _maximise(space: Basis, aim: _Aim, search: Subspace, generator: Generator) -> Found:
    _start(space, aim, generator)
    before: Tensor | None = None
    iteration, converged = 0, False
    while True:
        maximum, top = _solve_projected(space, aim)
        residuals = _residuals(space, aim, maximum, top)
        # A stationary point is the maximum only if no eigenvector outside the subspace promises more.
        residual = max(relative for relative, _ in residuals)
        converged = residual <= search.tolerance
        if converged or iteration == search.iterations:
            break
        if len(space.vectors) >= search.basis:
            kept = [maximum.point, top, *([] if before is None else [before])]
            maximum = maximum._replace(point=space.restrict(torch.stack(kept, dim=1))[:, 0])
        before = torch.cat([maximum.point, maximum.point.new_zeros(1)])
        iteration += 1
        if not _extended(space, residuals):
            converged = True  # the subspace is invariant: nothing outside it matters
            break
    displacement, slope = _place(space, aim, maximum.point)
    rest = (maximum.multiplier, converged, iteration, space.products, residual)
    return Found(maximum.value, displacement, contributions(space.landscape, displacement, slope), *rest)


def _start(space: Basis, aim: _Aim, generator: Generator) -> None:
    """Span a random vector and the two gradients."""
    point = space.landscape.point
    # Drawn where the generator lives, so that a seed means the same start on every device.
    draw = torch.randn(len(point), generator=generator, device=generator.device).to(point)
    space.extend(draw)
    space.extend(aim.other.gradient - aim.stays.gradient)
    space.extend(aim.stays.gradient)


def _extended(space: Basis, residuals: list[tuple[float, Tensor]]) -> bool:
    """Extend by the largest residual that leads out of the subspace, and let go of the others."""
    residuals.sort(key=lambda residual: residual[0])
    while residuals:
        if space.extend(residuals.pop()[1]):
            return True
    return False


def _place(space: Basis, aim: _Aim, coordinates: Tensor) -> tuple[Tensor, Tensor]:
    """Return a vector of the subspace, and the mean of the objective's gradients at 0 and there."""
    change, _ = _sides(space, aim, coordinates)
    slope = _with_gradients(change.div_(2), aim)
    still = torch.zeros_like(coordinates)
    return space.combination(coordinates, still, still), slope


def _with_gradients(change: Tensor, aim: _Aim) -> Tensor:
    """Add the objective's gradient at the point, in place."""
    change.add_(aim.other.gradient, alpha=aim.sign)
    if aim.consistency.subtract:
        change.sub_(aim.stays.gradient, alpha=aim.sign)
    return change


def _project(expansion: Expansion, space: Basis) -> Expansion:
    return Expansion(expansion.loss, (space.vectors @ expansion.gradient).double().cpu())


def _solve_projected(space: Basis, aim: _Aim) -> tuple[Maximum, Tensor]:
    """Return the program's maximum in the subspace, and the top eigenvector of (objective, constraint) there."""
    sides = (_project(aim.stays, space), _project(aim.other, space))
    objective, constraint = programs(*sides, space.projected(0), space.projected(1), aim.consistency, aim.sign)
    maximum = solve(objective, constraint, aim.consistency, aim.environment)
    inverse = torch.linalg.inv(torch.linalg.cholesky(constraint.matrix))
    top = inverse.T @ torch.linalg.eigh(inverse @ objective.matrix @ inverse.T)[1][:, -1]
    return maximum, top / top.norm()


def _residuals(space: Basis, aim: _Aim, maximum: Maximum, top: Tensor) -> list[tuple[float, Tensor]]:
    """Return two residuals, relative and as vectors: of the optimality conditions and of the eigenvector."""
    slope, rise = _sides(space, aim, maximum.point)
    of_maximum = _difference(_with_gradients(slope, aim), maximum.multiplier, rise.add_(aim.stays.gradient))
    change, curved = _sides(space, aim, top)
    return [of_maximum, _difference(change, float(change @ curved / (curved @ curved)), curved)]


def _difference(left: Tensor, factor: float, right: Tensor) -> tuple[float, Tensor]:
    """Return left - factor right, instead of left, and its norm beside theirs."""
    scale = float(left.norm()) + abs(factor) * float(right.norm())
    residual = left.sub_(right, alpha=factor)
    return (float(residual.norm()) / scale if scale > 0 else 0.0), residual


def _sides(space: Basis, aim: _Aim, coordinates: Tensor) -> tuple[Tensor, Tensor]:
    """Return the objective's Hessian times a vector of the subspace, and the constraint's, ridge included."""
    still, ridge = torch.zeros_like(coordinates), aim.consistency.ridge * coordinates
    if aim.consistency.subtract:
        change = space.combination(still, -aim.sign * coordinates, aim.sign * coordinates)
    else:
        change = space.combination(aim.sign * ridge, still, aim.sign * coordinates)
    return change, space.combination(ridge, coordinates, still)
