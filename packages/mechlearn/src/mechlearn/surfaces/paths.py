"""The path of a training in its own principal plane, and what a random walk would look like there.

Sources: Li et al. 2018 (https://arxiv.org/abs/1712.09913, section 7); Antognini and Sohl-Dickstein 2018
(https://arxiv.org/abs/1806.08805): the principal components of a random walk in many dimensions explain 6 / (pi^2 k^2) of its
variance, 61 % and 15 %, so that 76 % in two directions are no sign of a low-dimensional path. Index conventions: t of T
points on the path, n parameters.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_each, check_numbers, check_params, check_shape, check_whole
from mechlearn.params import Params

_POINT = "mechlearn.surfaces.flat(parameters) makes a point."


class Principal(NamedTuple):
    """Principal directions of a path.

    Attributes:
        directions: (k, n) orthonormal, the largest variance first.
        explained: (k,) share of the path's variance in each.
        coordinates: (T, k) of each point's displacement from the last one.
    """

    directions: Float[Tensor, "k n"]
    explained: Float[Tensor, " k"]
    coordinates: Float[Tensor, "t k"]


def flat(parameters: Params) -> Float[Tensor, " n"]:
    """Return parameters as one vector, a point of a path: keep one each epoch."""
    check_params("parameters", parameters)
    return torch.cat([tensor.detach().flatten() for tensor in parameters.values()])


def principal(path: Sequence[Float[Tensor, " n"]] | Float[Tensor, "t n"], k: int = 2) -> Principal:
    """Return the principal directions of theta_t - theta_T, centred, as in the paper.

    From the T x T matrix of products, so that the number of parameters costs one pass.

    Args:
        path: points as flat vectors, the last one where training ended.
        k: how many directions, fewer than points.

    Raises:
        TypeError: no tensors.
        ValueError: too few points for so many directions, points that are all the same.
    """
    points = _points(path)
    check_whole("k", k, least=1)
    if k >= len(points):
        raise ValueError(f"`k` should be below the {len(points)} points of the path. Found {k}. Keep more points.")
    rows = (points - points[-1]).double()
    centred = rows - rows.mean(0)
    values, vectors = torch.linalg.eigh(centred @ centred.T)
    values, vectors = values.flip(0).clamp(min=0), vectors.flip(1)
    if float(values[k - 1]) <= 1e-24 * max(1.0, float(values.sum())):
        raise ValueError(f"The path should leave its place in {k} directions. Found fewer. Take a smaller `k`.")
    directions = (centred.T @ vectors[:, :k] / values[:k].sqrt()).T
    signs = directions.gather(1, directions.abs().argmax(1, keepdim=True)).sign()
    directions = directions * signs
    return Principal(directions.to(points), (values[:k] / values.sum()).to(points), (rows @ directions.T).to(points))


def random_walk_explained(path: Sequence[Float[Tensor, " n"]] | Float[Tensor, "t n"], k: int = 2) -> Float[Tensor, " k"]:
    """Return what the principal directions of a random walk explain that takes steps as long as the path's.

    In infinitely many dimensions its steps are orthogonal, so that the products of its points are known: sum of the squared
    lengths of the steps that both have behind them. With many equal steps it is 6 / (pi^2 k^2).

    Raises:
        TypeError: no tensors.
        ValueError: too few points for so many directions, points that are all the same.

    >>> shares = random_walk_explained(torch.arange(400.0)[:, None])
    >>> [round(float(share), 2) for share in shares]
    [0.61, 0.15]
    """
    points = _points(path)
    check_whole("k", k, least=1)
    if k >= len(points):
        raise ValueError(f"`k` should be below the {len(points)} points of the path. Found {k}. Keep more points.")
    squares = points.double().diff(dim=0).square().sum(1)
    if not bool(squares.any()):
        raise ValueError("The path should take steps. Found points that are all the same. Keep those of a training that moves.")
    behind = torch.cat([squares.new_zeros(1), squares.cumsum(0)])
    products = torch.minimum(behind[:, None], behind[None])
    middle = torch.eye(len(points), dtype=torch.float64, device=points.device) - 1 / len(points)
    values = torch.linalg.eigvalsh(middle @ products @ middle).flip(0)
    return (values[:k] / values.sum()).to(points)


def _points(path: Sequence[Tensor] | Tensor) -> Tensor:
    if isinstance(path, Tensor):
        check_numbers("path", path)
    else:
        check_each("path", path, Tensor, "flat vectors")
        shapes = sorted({tuple(point.shape) for point in path})
        if len(shapes) != 1:
            found = f"the shapes {shapes}" if shapes else "none"
            raise ValueError(f"`path` should hold points of one shape, one at least. Found {found}. {_POINT}")
    points = path if isinstance(path, Tensor) else torch.stack(list(path))
    check_shape("path", points, "T", "n", way_out=_POINT)
    return points
