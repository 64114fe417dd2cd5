"""Directions in which a loss is looked at: random ones that respect the scale of the weights, and from one model to another.

Source: Li et al. 2018 (https://arxiv.org/abs/1712.09913, section 4) and their published code. A direction is a dictionary of
tensors by parameter name, like the parameters. A filter is what makes one output: weight[j] of a linear layer or a convolution.

What the normalisations do and do not: a whole ReLU layer scaled by c, and the next by 1 / c, leaves the curve of a filter- or
layer-normalised direction unchanged. With a factor for each unit it does not: a factor on one input mixes into the norms of
the next layer's filters. Only "weight" is invariant to both; or balance the units first (`mechlearn.surfaces.balanced`).
"""

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_kind, check_one_of, check_params, check_shape
from mechlearn.params import Params, add_scaled, dot, map_params

Normalisation = Literal["filter", "layer", "weight", "none"]
OneDimensional = Literal["zero", "kept"]

_ROUNDING = 1e-12
"""Share of a direction's square up to which what is left of it is rounding."""


def random_direction(
    parameters: Params, generator: Generator, normalise: Normalisation = "filter", one_dimensional: OneDimensional = "zero"
) -> Params:
    """Return a random normal direction d, normalised against the parameters theta.

    Args:
        parameters: theta, by name.
        generator: of the draw, in the parameters' order.
        normalise: "filter", d_j <- d_j |theta_j| / |d_j| for each filter j; "layer", the same for whole tensors; "weight",
            d * theta number by number; "none".
        one_dimensional: what tensors with one axis (biases, BatchNorm's) get: "zero", or "kept", which is d = theta. The
            published code's `ignore` is "biasbn" for the first.

    Raises:
        TypeError: no parameters by name, no generator.
        ValueError: no parameters, unknown names.
    """
    _check_parameters("parameters", parameters)
    check_generator("generator", generator)
    check_one_of("normalise", normalise, get_args(Normalisation))
    check_one_of("one_dimensional", one_dimensional, get_args(OneDimensional))

    def draw(theta: Tensor) -> Tensor:
        wide = torch.promote_types(theta.dtype, torch.float32)
        d = torch.randn(theta.shape, generator=generator, dtype=wide, device=generator.device).to(theta)
        if theta.dim() > 1:
            return _normalised(d, theta, normalise)
        return theta.clone() if one_dimensional == "kept" else torch.zeros_like(theta)

    return map_params(draw, {name: tensor.detach() for name, tensor in parameters.items()})


def between(start: Params, end: Params) -> Params:
    """Return the direction from one set of parameters to another, 1 long: end - start.

    Raises:
        ValueError: names or shapes that differ.
    """
    _check_parameters("start", start)
    _check_parameters("end", end)
    if {name: t.shape for name, t in start.items()} != {name: t.shape for name, t in end.items()}:
        raise ValueError("`start` and `end` should have the same names and shapes. Found others. Compare one architecture.")
    return {name: (end[name] - tensor).detach() for name, tensor in start.items()}


def from_flat(vector: Float[Tensor, " n"], parameters: Params) -> Params:
    """Return a flat vector as a direction, tensor by tensor in the parameters' order.

    `mechlearn.surfaces.Landscape` and the consistency score have flat vectors: ``from_flat(score.displacement, parameters)``.

    Raises:
        ValueError: a vector of another length.
    """
    _check_parameters("parameters", parameters)
    sizes = [tensor.numel() for tensor in parameters.values()]
    check_shape("vector", vector, sum(sizes), way_out="Its parts should be those of the parameters, in their order.")
    return {name: piece.view_as(tensor) for (name, tensor), piece in zip(parameters.items(), vector.split(sizes), strict=True)}


def orthogonal_to(direction: Params, others: list[Params]) -> Params:
    """Return what is left of a direction without its parts along others (Gram-Schmidt, in their order).

    Of others that lie in those before them only rounding would be left, which is no direction: they take nothing away.

    Raises:
        ValueError: nothing is left, or another one that is zero, such as `between` a model and itself.
    """
    _check_parameters("direction", direction)
    check_kind("others", others, (list, tuple), "a list of directions")
    for place, other in enumerate(others):
        _check_parameters(f"others[{place}]", other)
        if not any(bool(tensor.any()) for tensor in other.values()):
            raise ValueError(f"A direction should lead somewhere. Found zeros alone in others[{place}]. Leave it out.")
    left, axes = direction, list[Params]()
    for other in others:
        axis = other
        for known in axes:
            axis = _without(axis, known)
        if axes and float(dot(axis, axis)) <= _ROUNDING * float(dot(other, other)):
            continue
        axes.append(axis)
        left = _without(left, axis)
    if float(dot(left, left)) <= _ROUNDING * float(dot(direction, direction)):
        raise ValueError("A second axis should not lie in the first ones. Found that nothing is left of it. Choose another.")
    return left


def _without(direction: Params, axis: Params) -> Params:
    return add_scaled(direction, -dot(direction, axis) / dot(axis, axis), axis)


def _normalised(d: Tensor, theta: Tensor, normalise: Normalisation) -> Tensor:
    if normalise == "none":
        return d
    if normalise == "weight":
        return d * theta
    groups = 1 if normalise == "layer" else len(theta)
    sizes, wanted = (tensor.reshape(groups, -1).norm(dim=1) for tensor in (d, theta))
    factors = wanted / sizes.clamp(min=torch.finfo(d.dtype).tiny)
    return d * factors.view(-1, *[1] * (theta.dim() - 1))


def _check_parameters(name: str, parameters: Params) -> None:
    check_params(name, parameters)
    if not parameters:
        raise ValueError(f"`{name}` should have at least one tensor. Found none. Unfreeze some parameters.")
