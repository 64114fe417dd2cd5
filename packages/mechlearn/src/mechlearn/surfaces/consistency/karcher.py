"""The Karcher mean of positive definite matrices: the geometric mean of landscapes (thesis section 3.2.2, appendix B.1)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_data, check_not_negative, check_numbers, check_shape, check_whole


def karcher_mean(matrices: Float[Tensor, "k n n"], tolerance: float = 1e-12, iterations: int = 1000) -> Float[Tensor, "n n"]:
    r"""Return the X with sum_j log(A_j^-1 X) = 0, in float64.

    That X minimises the sum of squared Riemannian distances to the A_j (Ando et al., 2004). It is found by Riemannian
    gradient descent, X <- X^(1/2) exp(s sum_j log(X^(-1/2) A_j X^(-1/2))) X^(1/2). Along a geodesic the curvature of half
    the squared distance to A_j lies between 1 and (t/2) coth(t/2), where t is the logarithm of the condition number of
    X^(-1/2) A_j X^(-1/2); the step s is 2 over the sum of the two bounds (Bini and Iannazzo, 2013), halved whenever the
    gradient does not fall.

    For matrices that commute it is the element-wise geometric mean of their eigenvalues. For two its determinant is the
    geometric mean of theirs, whether they commute or not.

    Args:
        matrices: k symmetric positive definite matrices A_j.
        tolerance: the norm of the mean of log(X^(-1/2) A_j X^(-1/2)) to stop at.
        iterations: the most steps to take.

    Raises:
        ValueError: none, matrices that are not square, not symmetric or not positive definite; the message says which.
        RuntimeError: the tolerance was not reached.

    >>> a, b = torch.tensor([0.01, 1.0]).diag(), torch.tensor([1.0, 0.01]).diag()
    >>> [round(entry, 6) for entry in karcher_mean(torch.stack([a, b])).diag().tolist()]
    [0.1, 0.1]
    """
    check_numbers("matrices", matrices)
    check_data("matrices", matrices)
    check_shape("matrices", matrices, "k", "n", "n", way_out="torch.stack joins square matrices.")
    check_not_negative("tolerance", tolerance)
    check_whole("iterations", iterations)
    a = _checked(matrices)
    x = _log_euclidean_mean(a)
    gradient, curvature = _gradient(a, x)
    shrink = 1.0
    for _ in range(iterations):
        norm = float(gradient.norm()) / len(a)
        if norm <= tolerance:
            return x
        candidate = _step(x, gradient * (2 * shrink / (len(a) + curvature)))
        new_gradient, new_curvature = _gradient(a, candidate)
        if float(new_gradient.norm()) / len(a) < norm:
            x, gradient, curvature, shrink = candidate, new_gradient, new_curvature, min(1.0, 2 * shrink)
        elif shrink > 1e-3:
            shrink /= 2
        else:
            break
    norm = float(gradient.norm()) / len(a)
    if norm <= max(tolerance, _rounding(a)):
        return x  # as close as float64 arithmetic on matrices of this condition gets
    raise RuntimeError(
        f"The Karcher mean should be found to a tolerance of {tolerance:g}. Found a residual of {norm:.1e} after at most "
        f"{iterations} steps. Allow more iterations, or add a multiple of the identity to matrices that are nearly singular."
    )


def _rounding(a: Tensor) -> float:
    """What rounding leaves of the residual: machine epsilon times the worst condition number, with room for n sums."""
    eigenvalues = torch.linalg.eigvalsh(a)
    return 10 * a.shape[-1] * torch.finfo(a.dtype).eps * float((eigenvalues[:, -1] / eigenvalues[:, 0]).max())


def _checked(matrices: Tensor) -> Tensor:
    a = matrices.detach().double()
    for j, matrix in enumerate(a):
        if not bool(torch.isfinite(matrix).all()) or float((matrix - matrix.T).abs().max()) > 1e-8 * float(matrix.abs().max()):
            raise ValueError(f"Every matrix should be symmetric and finite. Found number {j} that is not. Pass (A + A.T) / 2.")
        least = float(torch.linalg.eigvalsh(matrix)[0])
        if least <= 0:
            raise ValueError(
                f"Every matrix should be positive definite. Found the eigenvalue {least:.3g} in number {j}. Add a small "
                "multiple of the identity, as the paper suggests for Hessians."
            )
    return (a + a.mT) / 2


def _function(matrix: Tensor, function: str) -> Tensor:
    """Apply exp, log, sqrt or rsqrt to the eigenvalues of symmetric matrices."""
    eigenvalues, vectors = torch.linalg.eigh((matrix + matrix.mT) / 2)
    return (vectors * getattr(torch, function)(eigenvalues)[..., None, :]) @ vectors.mT


def _log_euclidean_mean(a: Tensor) -> Tensor:
    """Exp of the mean logarithm: the Karcher mean itself where the matrices commute, and near it elsewhere."""
    return _function(_function(a, "log").mean(0), "exp")


def _gradient(a: Tensor, x: Tensor) -> tuple[Tensor, float]:
    """Return sum_j log(X^(-1/2) A_j X^(-1/2)) and the sum over j of the bounds on the curvature."""
    root = _function(x, "rsqrt")
    eigenvalues, vectors = torch.linalg.eigh(root @ a @ root)
    logs = eigenvalues.log()
    spread = (logs[:, -1] - logs[:, 0]).tolist()
    curvature = sum(1.0 if t < 1e-8 else t / 2 / math.tanh(t / 2) for t in spread)
    return ((vectors * logs[:, None, :]) @ vectors.mT).sum(0), curvature


def _step(x: Tensor, direction: Tensor) -> Tensor:
    root = _function(x, "sqrt")
    x = root @ _function(direction, "exp") @ root
    return (x + x.T) / 2
