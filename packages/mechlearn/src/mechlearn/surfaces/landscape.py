"""The losses of several environments as functions of one flat parameter vector, with gradients and curvature products.

Index conventions: e is the position of an environment, n the number of parameters, theta a flat parameter vector. Losses are
streamed: an environment's loss is a sum of parts, one for each batch that has examples of it.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_all_finite, check_callable, check_floats, check_graphs, check_kind

Curvature = Literal["hessian", "gauss-newton"]
"""The Hessian of an environment's loss, or its Gauss-Newton part J^T H_out J, positive wherever the loss is convex in the
model's output."""


class Part(NamedTuple):
    """One term of an environment's loss: cost(predict(theta)).

    Attributes:
        predict: from theta to the model's output; where there is no model, theta itself.
        cost: from that to a scalar.
    """

    predict: Callable[[Tensor], Tensor]
    cost: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Landscape:
    """The loss of every environment around a point.

    Attributes:
        point: (n,) theta*, the parameters of interest.
        environments: the environments' ids.
        parts: from the position of an environment to the parts that its loss is the sum of.
        parameters: where each named parameter lies in theta.
        outputs: whether parts have a model's outputs between predict and cost, as Gauss-Newton products need.
    """

    point: Float[Tensor, " n"]
    environments: tuple[int, ...]
    parts: Callable[[int], Iterable[Part]]
    parameters: Mapping[str, slice] = field(default_factory=dict[str, slice])
    outputs: bool = True

    def loss(self, e: int, theta: Float[Tensor, " n"] | None = None) -> float:
        """Return L_e at theta, or at the point."""
        with torch.no_grad():
            theta = self.point if theta is None else theta
            with _closed(self.parts(e)) as parts:
                return float(sum(cost(predict(theta)) for predict, cost in parts))

    @torch.enable_grad()
    def gradient(self, e: int, theta: Float[Tensor, " n"] | None = None) -> tuple[float, Float[Tensor, " n"]]:
        """Return L_e and its gradient at theta, or at the point: one forward and one backward pass.

        Raises:
            RuntimeError: within torch.inference_mode().
        """
        check_graphs("Gradients should be taken")
        value, total = 0.0, None
        with _closed(self.parts(e)) as parts:
            for predict, cost in parts:
                leaf = (self.point if theta is None else theta).detach().requires_grad_()
                loss = cost(predict(leaf))
                (gradient,) = torch.autograd.grad(loss, leaf, materialize_grads=True)
                value, total = value + float(loss.detach()), _add(total, gradient)
        return value, torch.zeros_like(self.point) if total is None else total

    @torch.enable_grad()
    def product(self, e: int, vector: Float[Tensor, " n"], curvature: Curvature = "hessian") -> Float[Tensor, " n"]:
        """Return H_e times a vector at the point, without H_e: the price of about two gradients.

        Raises:
            RuntimeError: within torch.inference_mode().
        """
        check_graphs("Gradients should be taken")
        times = _hessian_product if curvature == "hessian" else _gauss_newton_product
        total: Tensor | None = None
        with _closed(self.parts(e)) as parts:
            for part in parts:
                total = _add(total, times(part, self.point.detach().requires_grad_(), vector))
        return torch.zeros_like(self.point) if total is None else total

    def hessian(self, e: int, curvature: Curvature = "hessian") -> Float[Tensor, "n n"]:
        """Return H_e at the point: n products, for small models."""
        rows = [self.product(e, unit, curvature) for unit in torch.eye(len(self.point)).to(self.point)]
        matrix = torch.stack(rows)
        return (matrix + matrix.T) / 2


@contextmanager
def _closed(parts: Iterable[Part]) -> Generator[Iterable[Part]]:
    """End an iteration with the block, where one of the parts has failed, too: what it holds is given back at once."""
    try:
        yield parts
    finally:
        if isinstance(parts, Generator):
            parts.close()


def _add(total: Tensor | None, term: Tensor) -> Tensor:
    """Begin with the first term instead of zeros: at scale each vector counts."""
    return term if total is None else total + term


def _hessian_product(part: Part, leaf: Tensor, vector: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(part.cost(part.predict(leaf)), leaf, create_graph=True, materialize_grads=True)
    return _pull_back(gradient, leaf, vector)


def _gauss_newton_product(part: Part, leaf: Tensor, vector: Tensor) -> Tensor:
    output = part.predict(leaf)
    # The derivative of J^T u by u, applied to the vector, is J vector: two backward passes stand for a forward one.
    dummy = torch.zeros_like(output, requires_grad=True)
    (pulled,) = torch.autograd.grad(output, leaf, dummy, create_graph=True)
    along = _pull_back(pulled, dummy, vector)
    out = output.detach().requires_grad_()
    (slope,) = torch.autograd.grad(part.cost(out), out, create_graph=True)
    return _pull_back(output, leaf, _pull_back(slope, out, along))


def _pull_back(value: Tensor, leaf: Tensor, weights: Tensor) -> Tensor:
    """The gradient of value . weights; 0 where value does not depend on the leaf, as a linear loss's gradient does not."""
    if not value.requires_grad:
        return torch.zeros_like(leaf)
    (gradient,) = torch.autograd.grad(value, leaf, weights, materialize_grads=True)
    return gradient.detach()


def landscape_of_functions(
    functions: Sequence[Callable[[Tensor], Tensor]], point: Float[Tensor, " n"], names: Mapping[str, slice] | None = None
) -> Landscape:
    """Return the landscape of losses that are given as functions of the parameter vector; environments are 0, 1, ...

    Args:
        functions: for each environment, from theta to its loss, a scalar.
        point: theta*.
        names: where named parameters lie in theta; None calls all of it "theta".

    Raises:
        TypeError: no functions, a point that is no tensor of floating numbers.
        ValueError: a point of another shape, or not finite.
    """
    check_kind("functions", functions, (list, tuple), "a list of functions, one for each environment")
    for place, function in enumerate(functions):
        check_callable(f"functions[{place}]", function, "a function from a point to its loss")
    check_floats("point", point, "n")
    check_all_finite("point", point, way_out="Train without what diverged.")
    point = point.detach().clone()
    names = {"theta": slice(0, len(point))} if names is None else names
    return Landscape(point, tuple(range(len(functions))), lambda e: [Part(_itself, functions[e])], names, False)


def _itself(theta: Tensor) -> Tensor:
    return theta
