"""The definitions of the consistency score and the Karcher mean, slow and literal; nothing here imports craik."""

import numpy as np
import scipy.linalg
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
