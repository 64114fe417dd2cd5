"""The largest and the smallest curvature of a loss at a point: whether a slice that looks convex is.

Source: Li et al. 2018 (https://arxiv.org/abs/1712.09913, section 6): where |smallest / largest| eigenvalue of the Hessian
is small, the loss bends upwards in all directions that count, so that a convex-looking slice does not mislead. Found by
Lanczos' method (scipy's eigsh) from Hessian-vector products alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_callable,
    check_generator,
    check_graphs,
    check_params,
    check_positive,
    check_returned,
)
from mechlearn.params import Params, add_scaled, dot, leaves
from mechlearn.surfaces.directions import from_flat
from mechlearn.surfaces.paths import flat


class Curvatures(NamedTuple):
    """The extreme eigenvalues of a Hessian.

    Attributes:
        smallest: may be negative.
        largest: of all, by value.
        products: Hessian-vector products taken.
    """

    smallest: float
    largest: float
    products: int

    @property
    def ratio(self) -> float:
        """|smallest / largest|; 0 where the Hessian is."""
        return abs(self.smallest / self.largest) if self.largest else 0.0


def extreme_curvature(
    loss: Callable[[Params], Tensor], parameters: Params, generator: Generator, tolerance: float = 1e-3
) -> Curvatures:
    """Return the smallest and the largest eigenvalue of a scalar loss's Hessian.

    Args:
        loss: from parameters by name to a scalar; twice differentiable (at ReLU's corners the derivative of autograd).
        parameters: where.
        generator: of the vector that Lanczos' method starts from.
        tolerance: relative, of the eigenvalues; 0 would be machine precision.

    Raises:
        ImportError: scipy is not installed.
        TypeError: no generator, or a loss that is no tensor of floats.
        ValueError: a tolerance that is not positive, a loss that is no scalar or not finite.
        RuntimeError: Lanczos' method does not converge, or within torch.inference_mode().
    """
    check_callable("loss", loss, "a function from parameters to a loss")
    check_params("parameters", parameters)
    check_generator("generator", generator)
    check_positive("tolerance", tolerance)
    linalg = _scipy()
    value = loss(parameters)
    check_returned("loss", value, "one number", *[1] * getattr(value, "ndim", 0), way_out="Average over environments first.")
    check_all_finite("loss", value, way_out="Look at the point's numbers.")
    point = {name: tensor.detach() for name, tensor in parameters.items()}
    size = sum(tensor.numel() for tensor in point.values())
    taken, bent = 0, False

    def product(vector: Any) -> Any:  # noqa: ANN401
        nonlocal taken, bent
        taken += 1
        image = hessian_product(loss, point, torch.from_numpy(np.asarray(vector)).reshape(-1)).numpy()
        bent = bent or bool(image.any())
        return image

    start = torch.randn(size, generator=generator, device=generator.device, dtype=torch.float64).cpu().numpy()
    if size < 4:
        matrix = np.stack([product(unit) for unit in np.eye(size)])
        values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        return Curvatures(float(values[0]), float(values[-1]), taken)
    operator = linalg.LinearOperator((size, size), matvec=product, dtype=np.float64)
    try:
        both = linalg.eigsh(operator, k=2, which="BE", v0=start, tol=tolerance, return_eigenvectors=False)
    except linalg.ArpackError:
        if bent:
            raise
        return Curvatures(0.0, 0.0, taken)  # a Hessian of zeros, which leaves Lanczos' method without a start
    return Curvatures(float(min(both)), float(max(both)), taken)


@torch.enable_grad()
def hessian_product(loss: Callable[[Params], Tensor], parameters: Params, vector: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the Hessian times a flat vector, in float64 as a flat vector: two backward passes, without the Hessian.

    Raises:
        RuntimeError: within torch.inference_mode().
    """
    check_graphs("Gradients should be taken")
    point = leaves(parameters)
    direction = from_flat(vector.to(next(iter(point.values()))), point)
    ends = list(point.values())
    slopes = torch.autograd.grad(loss(point).squeeze(), ends, create_graph=True, materialize_grads=True)
    along = dot(dict(zip(point, slopes, strict=True)), direction)
    if not along.requires_grad:  # a linear loss
        return torch.zeros(vector.shape, dtype=torch.float64)
    image = torch.autograd.grad(along, ends, materialize_grads=True)
    return flat(dict(zip(point, image, strict=True))).double().cpu()


def convexity_plane(
    loss: Callable[[Params], Tensor],
    parameters: Params,
    axes: tuple[Params, Params],
    at: tuple[Float[Tensor, " n"], Float[Tensor, " m"]],
    generator: Generator,
    tolerance: float = 1e-2,
) -> Float[Tensor, "n m"]:
    """Return |smallest / largest| eigenvalue at each point of a plane, (n, m): some tens of Hessian-vector products a point.

    Raises:
        ImportError: scipy is not installed.
        ValueError: what `extreme_curvature` refuses.
    """
    found = torch.zeros(len(at[0]), len(at[1]), device=at[0].device)
    for i, a in enumerate(at[0].tolist()):
        for j, b in enumerate(at[1].tolist()):
            place = add_scaled(add_scaled(parameters, a, axes[0]), b, axes[1])
            found[i, j] = extreme_curvature(loss, place, generator, tolerance).ratio
    return found


def _scipy() -> Any:  # noqa: ANN401
    try:
        from scipy.sparse import linalg  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            "Extreme curvatures take scipy. It was not found. Install it: pip install 'mechlearn[tables]'."
        ) from error
    return linalg
