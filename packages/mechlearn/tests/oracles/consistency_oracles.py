"""The definitions of the consistency score and the Karcher mean, slow and literal; nothing here imports mechlearn."""

import itertools

import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import torch
from torch import Tensor


def karcher_residual(a: Tensor, x: Tensor) -> Tensor:
    """sum_j log(A_j^-1 X): the logarithm of a product that is not symmetric, by its (positive) eigenvalues."""
    total = np.zeros(x.shape)
    for matrix in a:
        eigenvalues, vectors = np.linalg.eig(np.linalg.solve(matrix.numpy(), x.numpy()))
        total += np.real(vectors * np.log(eigenvalues) @ np.linalg.inv(vectors))
    return torch.as_tensor(total)


def geometric_mean_of_two(a: Tensor, b: Tensor) -> Tensor:
    """A # B = A^(1/2) (A^(-1/2) B A^(-1/2))^(1/2) A^(1/2)."""
    root = np.real(scipy.linalg.sqrtm(a.numpy()))
    inverse = np.linalg.inv(root)
    return torch.as_tensor(root @ np.real(scipy.linalg.sqrtm(inverse @ b.numpy() @ inverse)) @ root)


def quadratic(constant: float, linear: Tensor, matrix: Tensor, x: np.ndarray) -> np.ndarray:
    """constant + linear . x + x . matrix x / 2 for rows x."""
    return constant + x @ linear.numpy() + np.einsum("...i,ij,...j->...", x, matrix.numpy(), x) / 2


def greatest_by_polar_grid(objective, constraint, upper: float, lower: float | None, angles: int = 1000) -> float:
    """The maximum over {lower <= constraint <= upper} in two dimensions: a grid of ellipses around the constraint's minimum."""
    _, linear, matrix = constraint
    centre = -np.linalg.solve(matrix.numpy(), linear.numpy())
    least = float(quadratic(*constraint, centre))
    outer = np.sqrt(2 * (upper - least))
    inner = 0.0 if lower is None else np.sqrt(max(0.0, 2 * (lower - least)))
    values, vectors = np.linalg.eigh(matrix.numpy())
    angle = np.linspace(0, 2 * np.pi, angles, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    radii = np.linspace(inner, outer, 60)[:, None, None]
    points = centre + (radii * circle / np.sqrt(values)) @ vectors.T
    return float(quadratic(*objective, points).max())


def greatest_by_search(objective, constraint, upper: float, lower: float | None, starts: int, seed: int) -> float:
    """The same in any dimension: scipy's SLSQP from many feasible starts."""
    rng = np.random.default_rng(seed)
    n = len(objective[1])
    low = -np.inf if lower is None else lower
    bounds = scipy.optimize.NonlinearConstraint(
        lambda x: quadratic(*constraint, x), low, upper, jac=lambda x: (constraint[1].numpy() + constraint[2].numpy() @ x)[None]
    )
    best = -np.inf
    for _ in range(starts):
        found = scipy.optimize.minimize(
            lambda x: -quadratic(*objective, x),
            rng.normal(size=n),
            jac=lambda x: -(objective[1].numpy() + objective[2].numpy() @ x),
            method="SLSQP",
            constraints=[bounds],
            options={"maxiter": 300, "ftol": 1e-14},
        )
        if low - 1e-8 <= quadratic(*constraint, found.x) <= upper + 1e-8:
            best = max(best, -found.fun)
    return float(best)


def inconsistency_by_grid(
    losses, point: Tensor, epsilon: float, within: bool, subtract: bool = True, half: float = 3.0, size: int = 601
) -> float:
    """Definition (2) / (3.1) to the letter in two dimensions, with the true losses: a dense grid and its connected component.

    Args:
        losses: functions of arrays of shape (..., 2).
        point: theta*, which lies on the grid.
        epsilon: of N_e.
        within: the thesis's N_e instead of the paper's.
        subtract: compare abs(L_e' - L_e) or L_e'.
        half: half the width of the grid around the point.
        size: points a side, an odd number.
    """
    line = np.linspace(-half, half, size)
    grid = point.numpy() + np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    values = [loss(grid) for loss in losses]
    middle = size // 2, size // 2
    best = -np.inf
    for e, other in itertools.permutations(range(len(losses)), 2):
        change = values[e] - values[e][middle]
        inside = (np.abs(change) <= epsilon) if within else (change <= epsilon)
        pieces, _ = scipy.ndimage.label(inside, structure=np.ones((3, 3)))
        here = pieces == pieces[middle]
        compared = np.abs(values[other] - values[e]) if subtract else values[other]
        best = max(best, float(compared[here].max()))
    return best


def ilc_regularised_loss(losses: list[list[float]], consistencies: list[float], weight: float) -> float:
    """Equation (4) of the paper: both expectations over initialisations, one at a time."""
    expected, ilc = 0.0, 0.0
    for of_one, consistency in zip(losses, consistencies, strict=True):
        average = 0.0
        for loss in of_one:
            average += loss / len(of_one)
        expected += average / len(losses)
        ilc += consistency / len(losses)
    return expected - weight * ilc
