"""The score with Hessian-vector products alone: a growing subspace in which each pair's program is solved exactly.

Without linear terms this is generalised Davidson with locally optimal restarts for the extreme eigenvalue of
(H_e' + ridge, H_e + ridge), which is LOBPCG (Knyazev, 2001) with a longer memory; with them, the sequential subspace method for
trust-region problems (Hager, 2001). Each iteration takes one product with either Hessian. Memory: `Choices.basis` vectors with
their two products, and a few more.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from craik.agreement.consistency.choices import Choices
from craik.agreement.consistency.dense import Found
from craik.agreement.consistency.landscape import Landscape
from craik.agreement.consistency.program import Maximum
from craik.agreement.consistency.taylor import Expansion, not_positive, programs, signs, solve


class Subspace:
    """An orthonormal basis with its products, for one ordered pair of environments.

    Args:
        landscape: the losses.
        pair: positions of e and e'.
        choices: the kind of curvature.
    """

    def __init__(self, landscape: Landscape, pair: tuple[int, int], choices: Choices) -> None:
        self.landscape, self.pair, self.choices = landscape, pair, choices
        self.vectors = landscape.point.new_zeros(0, len(landscape.point))
        self.images = tuple(self.vectors.clone() for _ in pair)
        self.products = 0

    def extend(self, vector: Float[Tensor, " n"]) -> bool:
        """Add the part of a vector outside the subspace with its two products; False where there is next to none."""
        norm = vector.norm()
        if not float(norm) > 0:
            return False
        vector = vector / norm
        for _ in range(2):  # once leaves what rounding made of a small remainder
            vector = vector - self.vectors.T @ (self.vectors @ vector)
        left = float(vector.norm())
        if left < 100 * torch.finfo(vector.dtype).eps:
            return False
        vector = vector / left
        vector = vector - self.vectors.T @ (self.vectors @ vector)
        vector = vector / vector.norm()
        self.vectors = torch.cat([self.vectors, vector[None]])
        self.images = tuple(
            torch.cat([images, self.landscape.product(e, vector, self.choices.curvature)[None]])
            for e, images in zip(self.pair, self.images, strict=True)
        )
        self.products += 2
        return True

    def restrict(self, coefficients: Float[Tensor, "k j"]) -> Float[Tensor, "j j"]:
        """Keep the span of some coordinate vectors only, and return those vectors in the new coordinates."""
        new, _ = torch.linalg.qr(coefficients)
        turn = new.T.to(self.vectors)
        self.vectors = turn @ self.vectors
        self.images = tuple(turn @ images for images in self.images)
        return new.T @ coefficients

    def projected(self, which: int) -> Float[Tensor, "k k"]:
        """Return V H V^T for e (0) or e' (1), in float64."""
        matrix = (self.vectors @ self.images[which].T).double().cpu()
        return (matrix + matrix.T) / 2


def subspace_pair(
    landscape: Landscape,
    pair: tuple[int, int],
    expansions: Sequence[Expansion],
    choices: Choices,
    generator: Generator,
) -> Found:
    """Return where environments e, e' = pair disagree most, to the tolerance: a lower bound of the exact program's maximum.

    Raises:
        ValueError: a direction in which e's curvature is not positive was met.
    """
    best: Found | None = None
    products = 0
    for sign in signs(choices):
        found = _maximise(landscape, pair, (expansions[pair[0]], expansions[pair[1]]), choices, sign, generator)
        products += found.products
        best = found if best is None or found.value > best.value else best
    if best is None:
        raise not_positive(landscape.environments[pair[0]], 0.0, choices)  # not reached: there is always a sign
    return best._replace(products=products)


def _maximise(
    landscape: Landscape,
    pair: tuple[int, int],
    expansions: tuple[Expansion, Expansion],
    choices: Choices,
    sign: int,
    generator: Generator,
) -> Found:
    stays, other = expansions
    environment = landscape.environments[pair[0]]
    space = Subspace(landscape, pair, choices)
    # Drawn where the generator lives, so that a seed means the same start on every device.
    draw = torch.randn(len(landscape.point), generator=generator, device=generator.device).to(landscape.point)
    for vector in (draw, other.gradient - stays.gradient, stays.gradient):
        space.extend(vector)
    before: Tensor | None = None
    iteration, converged = 0, False
    while True:
        maximum, top = _solve_projected(space, stays, other, choices, sign, environment)
        residuals, found = _residuals(space, stays, other, choices, sign, maximum, top)
        # A stationary point is the maximum only if no eigenvector outside the subspace promises more.
        converged = max(relative for relative, _ in residuals) <= choices.tolerance
        if converged or iteration == choices.iterations:
            break
        if len(space.vectors) >= choices.basis:
            kept = [maximum.point, top, *([] if before is None else [before])]
            maximum = maximum._replace(point=space.restrict(torch.stack(kept, dim=1))[:, 0])
        before = torch.cat([maximum.point, maximum.point.new_zeros(1)])
        iteration += 1
        ordered = sorted(residuals, key=lambda residual: -residual[0])
        if not any(space.extend(direction) for _, direction in ordered):
            converged = True  # the subspace is invariant: nothing outside it matters
            break
    return found._replace(converged=converged, iterations=iteration, products=space.products)


def _project(expansion: Expansion, space: Subspace) -> Expansion:
    return Expansion(expansion.loss, (space.vectors @ expansion.gradient).double().cpu())


def _solve_projected(
    space: Subspace, stays: Expansion, other: Expansion, choices: Choices, sign: int, environment: int
) -> tuple[Maximum, Tensor]:
    """Return the program's maximum in the subspace, and the top eigenvector of (objective, constraint) there."""
    objective, constraint = programs(
        _project(stays, space), _project(other, space), space.projected(0), space.projected(1), choices, sign
    )
    maximum = solve(objective, constraint, choices, environment)
    inverse = torch.linalg.inv(torch.linalg.cholesky(constraint.matrix))
    top = inverse.T @ torch.linalg.eigh(inverse @ objective.matrix @ inverse.T)[1][:, -1]
    return maximum, top / top.norm()


def _residuals(
    space: Subspace, stays: Expansion, other: Expansion, choices: Choices, sign: int, maximum: Maximum, top: Tensor
) -> tuple[list[tuple[float, Tensor]], Found]:
    """Return two residuals, relative and as vectors: of the optimality conditions and of the eigenvector; and the point."""
    point, change, curved = _curve(space, maximum.point, choices, sign)
    slope = sign * (other.gradient - (stays.gradient if choices.subtract else 0))
    _, top_change, top_curved = _curve(space, top, choices, sign)
    eigenvalue = float(top_change @ top_curved / (top_curved @ top_curved))
    residuals = [
        _difference(slope + change, maximum.multiplier, stays.gradient + curved),
        _difference(top_change, eigenvalue, top_curved),
    ]
    return residuals, Found(maximum.value, point, slope + change / 2, maximum.multiplier)


def _difference(left: Tensor, factor: float, right: Tensor) -> tuple[float, Tensor]:
    residual = left - factor * right
    scale = float(left.norm()) + abs(factor) * float(right.norm())
    return (float(residual.norm()) / scale if scale > 0 else 0.0), residual


def _curve(space: Subspace, coordinates: Tensor, choices: Choices, sign: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return a vector of the subspace, the objective's Hessian times it, and the constraint's, ridge included."""
    weights = coordinates.to(space.vectors)
    vector, mine, theirs = (weights @ rows for rows in (space.vectors, *space.images))
    curved = mine + choices.ridge * vector
    change = theirs - mine if choices.subtract else theirs + choices.ridge * vector
    return vector, sign * change, curved
