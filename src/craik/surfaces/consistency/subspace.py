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

from craik.surfaces.consistency.choices import Choices
from craik.surfaces.consistency.dense import Found, contributions
from craik.surfaces.consistency.program import Maximum
from craik.surfaces.consistency.taylor import Expansion, programs, signs, solve
from craik.surfaces.landscape import Landscape

_PIECE = 2**16
"""Components of the basis that are turned at a time."""


class Subspace:
    """An orthonormal basis with its products, for one ordered pair of environments.

    Args:
        landscape: the losses.
        pair: positions of e and e'.
        choices: the kind of curvature.
    """

    def __init__(self, landscape: Landscape, pair: tuple[int, int], choices: Choices) -> None:
        self.landscape, self.pair, self.choices = landscape, pair, choices
        self.size = 0
        # Room for the largest basis once, so that growing it copies nothing.
        self._rows = [landscape.point.new_empty(choices.basis, len(landscape.point)) for _ in range(3)]
        self.products = 0

    @property
    def vectors(self) -> Float[Tensor, "k n"]:
        """The orthonormal basis V."""
        return self._rows[0][: self.size]

    @property
    def images(self) -> tuple[Float[Tensor, "k n"], Float[Tensor, "k n"]]:
        """H_e V and H_e' V, row by row."""
        return self._rows[1][: self.size], self._rows[2][: self.size]

    def extend(self, vector: Float[Tensor, " n"]) -> bool:
        """Add the part of a vector outside the subspace with its two products; False where there is next to none."""
        norm = float(vector.norm())
        if not norm > 0:
            return False
        row = torch.div(vector, norm, out=self._rows[0][self.size])
        for _ in range(2):  # once leaves what rounding made of a small remainder
            self._leave_out(row)
        left = float(row.norm())
        if left < 100 * torch.finfo(row.dtype).eps:
            return False
        self._leave_out(row.div_(left))
        row.div_(row.norm())
        for e, images in zip(self.pair, self._rows[1:], strict=True):
            images[self.size] = self.landscape.product(e, row, self.choices.curvature)
        self.size += 1
        self.products += 2
        return True

    def _leave_out(self, row: Float[Tensor, " n"]) -> None:
        """Take the subspace's part out of a vector, in place."""
        row.addmv_(self.vectors.T, self.vectors @ row, alpha=-1)

    def restrict(self, coefficients: Float[Tensor, "k j"]) -> Float[Tensor, "j j"]:
        """Keep the span of some coordinate vectors only, and return those vectors in the new coordinates."""
        new, _ = torch.linalg.qr(coefficients)
        turn = new.T.to(self.vectors)
        for rows in self._rows:
            for piece in rows.split(_PIECE, dim=1):  # in place, or the new rows would need as much memory again
                piece[: len(turn)] = turn @ piece[: self.size]
        self.size = len(turn)
        return new.T @ coefficients

    def combination(self, own: Tensor, mine: Tensor, theirs: Tensor) -> Float[Tensor, " n"]:
        """Return the sum of own V, mine H_e V and theirs H_e' V for coordinates own, mine and theirs."""
        total = torch.zeros_like(self.landscape.point)
        for rows, weights in zip((self.vectors, *self.images), (own, mine, theirs), strict=True):
            total.addmv_(rows.T, weights.to(rows))
        return total

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
    both = (expansions[pair[0]], expansions[pair[1]])
    best: Found | None = None
    products = 0
    for sign in signs(choices):  # one after the other: a subspace and what it found are many vectors
        found = _maximise(landscape, pair, both, choices, sign, generator)
        products += found.products
        best = found if best is None or found.value > best.value else best
        del found
    if best is None:
        raise RuntimeError("there is at least one sign")
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
    space = _started(landscape, pair, expansions, choices, generator)
    before: Tensor | None = None
    iteration, converged = 0, False
    while True:
        maximum, top = _solve_projected(space, stays, other, choices, sign, landscape.environments[pair[0]])
        residuals = _residuals(space, stays, other, choices, sign, maximum, top)
        # A stationary point is the maximum only if no eigenvector outside the subspace promises more.
        residual = max(relative for relative, _ in residuals)
        converged = residual <= choices.tolerance
        if converged or iteration == choices.iterations:
            break
        if len(space.vectors) >= choices.basis:
            kept = [maximum.point, top, *([] if before is None else [before])]
            maximum = maximum._replace(point=space.restrict(torch.stack(kept, dim=1))[:, 0])
        before = torch.cat([maximum.point, maximum.point.new_zeros(1)])
        iteration += 1
        if not _extended(space, residuals):
            converged = True  # the subspace is invariant: nothing outside it matters
            break
    displacement, slope = _place(space, stays, other, choices, sign, maximum.point)
    rest = (maximum.multiplier, converged, iteration, space.products, residual)
    return Found(maximum.value, displacement, contributions(landscape, displacement, slope), *rest)


def _started(
    landscape: Landscape, pair: tuple[int, int], expansions: tuple[Expansion, Expansion], choices: Choices, generator: Generator
) -> Subspace:
    """Return the span of a random vector and the two gradients."""
    space = Subspace(landscape, pair, choices)
    # Drawn where the generator lives, so that a seed means the same start on every device.
    draw = torch.randn(len(landscape.point), generator=generator, device=generator.device).to(landscape.point)
    space.extend(draw)
    stays, other = expansions
    space.extend(other.gradient - stays.gradient)
    space.extend(stays.gradient)
    return space


def _extended(space: Subspace, residuals: list[tuple[float, Tensor]]) -> bool:
    """Extend by the largest residual that leads out of the subspace, and let go of the others."""
    residuals.sort(key=lambda residual: residual[0])
    while residuals:
        if space.extend(residuals.pop()[1]):
            return True
    return False


def _place(
    space: Subspace, stays: Expansion, other: Expansion, choices: Choices, sign: int, coordinates: Tensor
) -> tuple[Tensor, Tensor]:
    """Return a vector of the subspace, and the mean of the objective's gradients at 0 and there."""
    change, _ = _sides(space, coordinates, choices, sign)
    slope = change.div_(2).add_(other.gradient, alpha=sign)
    if choices.subtract:
        slope.sub_(stays.gradient, alpha=sign)
    still = torch.zeros_like(coordinates)
    return space.combination(coordinates, still, still), slope


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
) -> list[tuple[float, Tensor]]:
    """Return two residuals, relative and as vectors: of the optimality conditions and of the eigenvector."""
    slope, rise = _sides(space, maximum.point, choices, sign)
    slope.add_(other.gradient, alpha=sign)
    if choices.subtract:
        slope.sub_(stays.gradient, alpha=sign)
    of_maximum = _difference(slope, maximum.multiplier, rise.add_(stays.gradient))
    change, curved = _sides(space, top, choices, sign)
    return [of_maximum, _difference(change, float(change @ curved / (curved @ curved)), curved)]


def _difference(left: Tensor, factor: float, right: Tensor) -> tuple[float, Tensor]:
    """Return left - factor right, in the place of left, and its norm beside theirs."""
    scale = float(left.norm()) + abs(factor) * float(right.norm())
    residual = left.sub_(right, alpha=factor)
    return (float(residual.norm()) / scale if scale > 0 else 0.0), residual


def _sides(space: Subspace, coordinates: Tensor, choices: Choices, sign: int) -> tuple[Tensor, Tensor]:
    """Return the objective's Hessian times a vector of the subspace, and the constraint's, ridge included."""
    still, ridge = torch.zeros_like(coordinates), choices.ridge * coordinates
    if choices.subtract:
        change = space.combination(still, -sign * coordinates, sign * coordinates)
    else:
        change = space.combination(sign * ridge, still, sign * coordinates)
    return change, space.combination(ridge, coordinates, still)
