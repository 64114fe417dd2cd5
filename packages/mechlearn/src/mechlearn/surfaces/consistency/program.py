"""A quadratic program with one quadratic constraint, solved exactly: the inner maximum of the consistency score.

The constraint's matrix is positive definite, so that a change of variables turns its level set into a sphere; what remains is
the trust-region problem, whose global maximum a secular equation gives (More and Sorensen, 1983), the hard case included.
All arithmetic is in float64.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


class Quadratic(NamedTuple):
    """The function constant + linear . x + x . matrix x / 2.

    Attributes:
        constant: its value at 0.
        linear: (n,) its gradient at 0.
        matrix: (n, n) its symmetric Hessian.
    """

    constant: float
    linear: Float[Tensor, " n"]
    matrix: Float[Tensor, "n n"]

    def value(self, x: Float[Tensor, " n"]) -> float:
        """Return the function at x."""
        return self.constant + float(self.linear @ x + x @ self.matrix @ x / 2)


class Maximum(NamedTuple):
    """Where a quadratic is greatest.

    Attributes:
        value: the maximum.
        point: (n,) a place where it is attained.
        multiplier: mu with gradient of objective = mu * gradient of constraint there; 0 in the interior.
    """

    value: float
    point: Float[Tensor, " n"]
    multiplier: float


class NotPositiveError(ValueError):
    """The constraint's matrix is not positive definite.

    Attributes:
        least: its least eigenvalue.
    """

    def __init__(self, least: float) -> None:
        super().__init__(f"The constraint's matrix should be positive definite. Found the eigenvalue {least:.3g}.")
        self.least = least


def maximise(objective: Quadratic, constraint: Quadratic, upper: float, lower: float | None = None) -> Maximum:
    """Return the global maximum of a quadratic where another lies between two levels.

    The feasible set is the part that is connected to 0: with a lower level it is a shell around the constraint's minimum,
    which falls into two pieces in one dimension.

    Args:
        objective: any quadratic.
        constraint: one with a positive definite matrix, between the levels at 0.
        upper: the constraint's greatest value.
        lower: its least value; None for none.
    """
    if constraint.constant > upper or (lower is not None and constraint.constant < lower):
        raise ValueError(f"0 should satisfy the constraint. Found {constraint.constant:g} outside [{lower}, {upper:g}].")
    sphere = _whiten(constraint)
    a, b, basis, constant = sphere.rotate(objective)
    outer = sphere.radius(upper)
    inner = 0.0 if lower is None else sphere.radius(lower)
    if len(a) == 1 and inner > 0:
        y, multiplier = _interval(a, b, inner, outer, side=math.copysign(1.0, float(sphere.origin @ basis)))
    else:
        y, multiplier = _shell(a, b, inner, outer)
    value = constant + float(b @ y + (a * y * y).sum() / 2)
    return Maximum(value, sphere.unwhiten(basis @ y), multiplier)


class Whitening(NamedTuple):
    """Coordinates y = L^T (x - centre) in which the constraint is least + |y|^2 / 2.

    Attributes:
        factor: (n, n) L, the Cholesky factor of the constraint's matrix.
        centre: (n,) where the constraint is least.
        least: its value there.
    """

    factor: Float[Tensor, "n n"]
    centre: Float[Tensor, " n"]
    least: float

    @property
    def origin(self) -> Float[Tensor, " n"]:
        """Where x = 0 lies."""
        return -self.factor.T @ self.centre

    def radius(self, level: float) -> float:
        """Return the radius of the sphere on which the constraint has a level; 0 where it lies below the minimum."""
        return math.sqrt(max(0.0, 2 * (level - self.least)))

    def unwhiten(self, y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """Return x for a y."""
        return self.centre + torch.linalg.solve_triangular(self.factor.T, y[:, None], upper=True)[:, 0]

    def rotate(self, objective: Quadratic) -> tuple[Tensor, Tensor, Tensor, float]:
        """Return the objective as constant + b . z + sum a z^2 / 2 for y = basis z: a ascending, b, basis, constant."""
        linear, matrix = objective.linear.double(), objective.matrix.double()
        half = torch.linalg.solve_triangular(self.factor, matrix, upper=False)
        white = torch.linalg.solve_triangular(self.factor, half.T, upper=False)
        slope = linear + matrix @ self.centre
        a, basis = torch.linalg.eigh((white + white.T) / 2)
        b = basis.T @ torch.linalg.solve_triangular(self.factor, slope[:, None], upper=False)[:, 0]
        constant = objective.constant + float(linear @ self.centre + self.centre @ matrix @ self.centre / 2)
        return a, b, basis, constant


def _whiten(constraint: Quadratic) -> Whitening:
    matrix, linear = constraint.matrix.double(), constraint.linear.double()
    matrix = (matrix + matrix.T) / 2
    eigenvalues = torch.linalg.eigvalsh(matrix)
    if float(eigenvalues[0]) <= len(matrix) * torch.finfo(torch.float64).eps * float(eigenvalues[-1].abs()):
        raise NotPositiveError(float(eigenvalues[0]))
    factor = torch.linalg.cholesky(matrix)
    centre = -torch.cholesky_solve(linear[:, None], factor)[:, 0]
    return Whitening(factor, centre, constraint.constant + float(linear @ centre) / 2)


def whitening(constraint: Quadratic) -> Whitening:
    """Return the coordinates in which a positive definite constraint is a sphere."""
    return _whiten(constraint)


def _shell(a: Tensor, b: Tensor, inner: float, outer: float) -> tuple[Tensor, float]:
    y, multiplier = _sphere(a, b, outer)
    if multiplier >= 0:
        return y, multiplier  # what is best on the outer sphere is best in the ball
    y = -b / a  # every a is negative here: the maximum of all space, unless the shell's hole holds it
    return (y, 0.0) if float(y.norm()) >= inner else _sphere(a, b, inner)


def _sphere(a: Tensor, b: Tensor, radius: float) -> tuple[Tensor, float]:
    """Maximise b . y + sum a y^2 / 2 on a sphere: (mu - a) y = b with mu >= max a, and mu - max a is what is looked for."""
    if radius == 0:
        return torch.zeros_like(b), 0.0
    gap = a[-1] - a
    shift = _shift(gap, b, radius)
    y = torch.where(b == 0, 0.0, b / (gap + shift))
    rest = radius**2 - float(y[:-1].square().sum())
    if rest > 0:
        # What the top eigenvector must make up for; in the hard case, where b has nothing along it, either sign will do.
        y[-1] = math.copysign(math.sqrt(rest), float(b[-1]))
    return y * (radius / y.norm()), float(a[-1]) + shift


def _shift(gap: Tensor, b: Tensor, radius: float) -> float:
    """Return the root s >= 0 of |b / (gap + s)| = radius, or 0 in the hard case, where the norm is less at every s.

    Newton's method for the reciprocal of the norm, which climbs to the root from below without passing it.
    """
    low, high = float(b[gap == 0].norm()) / radius, float(b.norm()) / radius
    shift = low
    for _ in range(100):
        parts = torch.where(b == 0, 0.0, b / (gap + shift))
        norm = float(parts.norm())
        if norm <= radius * (1 + 1e-14):
            break
        slope = float((parts.square() / (gap + shift).clamp(min=1e-300)).sum())
        step = (norm * norm / slope) * (norm - radius) / radius if slope > 0 else high
        if shift + step <= shift:
            break
        shift = min(shift + step, high)
    return shift


def _interval(a: Tensor, b: Tensor, inner: float, outer: float, side: float) -> tuple[Tensor, float]:
    """The shell in one dimension: the one of its two pieces that holds the start."""
    candidates = [side * inner, side * outer]
    stationary = float(-b / a) if float(a) < 0 else math.inf
    if inner <= side * stationary <= outer:
        candidates.append(stationary)
    best = max(candidates, key=lambda y: float(b) * y + float(a) * y * y / 2)
    return torch.full_like(b, best), (float(b) + float(a) * best) / best
