"""Matrix-free solvers: H^-1 v from products with H alone, for a vector in parts, a tensor each."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mechlearn.arguments import check_callable, check_each, check_positive, check_returned, check_share, check_whole
from mechlearn.scaling import power_of_two, widened

Vector = tuple[Tensor, ...]
"""A vector in parts, as a model's parameters are: tensors of any shapes."""

Operator = Callable[[Vector], Vector]
"""A symmetric matrix H, as its product with a vector."""


def conjugate_gradients(operator: Operator, vector: Sequence[Tensor], iterations: int, tolerance: float = 0.0) -> Vector:
    """Return H^-1 v after at most so many iterations of conjugate gradients (Hestenes and Stiefel, 1952).

    Args:
        operator: the product with H, which should be positive definite.
        vector: v.
        iterations: the most that are taken.
        tolerance: in [0, 1]; it ends where the residual's length is at most this share of v's; 0 asks for a residual of
            exactly 0, or of one so small that its product with H is 0 in its type.

    Raises:
        TypeError: if an argument is of another kind, or the operator returns no vector of floats.
        ValueError: if the vector has no part, the operator changes a part's shape, or H is not positive definite.
    """
    _check(operator, vector)
    check_whole("iterations", iterations)
    check_share("tolerance", tolerance)
    for place, part in enumerate(vector):
        if not part.is_floating_point():
            raise TypeError(f"`vector` should hold floats. Found {part.dtype} at {place}. Convert it with .float().")
    power = _power(vector)
    if power != 1:  # H^-1 v is linear in v
        return tuple(part * power for part in conjugate_gradients(operator, [p / power for p in vector], iterations, tolerance))
    residual = direction = tuple(vector)
    found = tuple(torch.zeros_like(part) for part in vector)
    square = _dot(residual, residual)
    enough, small = tolerance**2 * float(square), _eps(vector, square) * float(square)
    for _ in range(iterations):
        if float(square) <= enough:
            break
        image = _product(operator, direction)
        curvature = _dot(direction, image)
        if float(curvature) == 0:  # below the smallest number, once the residual is small
            if float(square) <= small:
                break
            raise ValueError(
                "H should be positive definite. Found a direction without curvature, d H d = 0, where the residual is "
                f"{float(square.double() ** 0.5):.3g} long. Add a multiple of the identity to H."
            )
        step = square / curvature
        found, residual = _add_scaled(found, step, direction), _add_scaled(residual, -step, image)
        square, last = _dot(residual, residual), square
        direction = _add_scaled(residual, square / last, direction)
    return found


def neumann_series(operator: Operator, vector: Sequence[Tensor], terms: int, scale: float) -> Vector:
    """Return scale * sum_{j < terms} (1 - scale H)^j v, which tends to H^-1 v (Lorraine et al., 2020, section 4).

    Args:
        operator: the product with H.
        vector: v.
        terms: of the series, the zeroth included; terms - 1 products are taken.
        scale: positive, below 2 over the largest eigenvalue of H, or the series grows.

    Raises:
        TypeError: if an argument is of another kind, or the operator returns no vector of floats.
        ValueError: if the vector has no part, or the operator changes a part's shape.
    """
    _check(operator, vector)
    check_whole("terms", terms, least=1)
    check_positive("scale", scale)
    term = total = tuple(vector)
    for _ in range(terms - 1):
        term = _add_scaled(term, -scale, _product(operator, term))
        total = _add_scaled(total, 1.0, term)
    return tuple(scale * part for part in total)


def _check(operator: Operator, vector: Sequence[Tensor]) -> None:
    check_callable("operator", operator, "the product with H, a function of a vector")
    check_each("vector", vector, Tensor, "tensors, the parts of a vector")
    if not vector:
        raise ValueError("`vector` should have a part at least. Found none. Pass [tensor] for a vector in one part.")


def _product(operator: Operator, vector: Vector) -> Vector:
    image = operator(vector)
    if not isinstance(image, list | tuple) or len(image) != len(vector):  # pyright: ignore[reportUnnecessaryIsInstance] # a user's function
        found = f"{len(image)} of them" if isinstance(image, list | tuple) else type(image).__name__  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"`operator` should return a tuple of {len(vector)} tensors, the parts of a vector. Found {found}.")
    for part, own in zip(image, vector, strict=True):
        check_returned("operator", part, "for each part a tensor like it", *own.shape)
    return tuple(image)


def _dot(first: Vector, second: Vector) -> Tensor:
    return torch.stack([(widened(a) * widened(b)).sum() for a, b in zip(first, second, strict=True)]).sum()


def _eps(vector: Sequence[Tensor], square: Tensor) -> float:
    """Return the step of the numbers that a vector's products round to: a half type's own, though sums are in four bytes."""
    halves = [torch.finfo(part.dtype).eps for part in vector if part.is_floating_point() and part.element_size() == 2]
    return max([torch.finfo(square.dtype).eps, *halves])


def _power(vector: Sequence[Tensor]) -> float:
    """Return the power of two to divide a vector by for its square to be in range; 1 where it is, or where it is no number."""
    square = _dot(tuple(vector), tuple(vector))
    limits = torch.finfo(square.dtype)
    if limits.tiny / limits.eps <= float(square) <= limits.max:
        return 1.0
    largest = torch.stack([part.detach().abs().max().double() for part in vector if part.numel()] or [square.double()]).max()
    return float(power_of_two(largest))


def _add_scaled(first: Vector, factor: float | Tensor, second: Vector) -> Vector:
    return tuple(a + factor * b for a, b in zip(first, second, strict=True))
