"""The losses of several environments as functions of one flat parameter vector, with gradients and curvature products.

Index conventions: e is the position of an environment, n the number of parameters, theta a flat parameter vector. Losses are
streamed: an environment's loss is a sum of parts, one for each batch that has examples of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.dropout import _DropoutNd  # pyright: ignore[reportPrivateUsage]  # the base class of all dropouts

from craik.environments import EnvironmentIds, batch_norms_in_train_mode, partition

Curvature = Literal["hessian", "gauss-newton"]
"""The Hessian of an environment's loss, or its Gauss-Newton part J^T H_out J, positive wherever the loss is convex in the
model's output."""

Batches = Iterable[tuple[Any, Tensor, EnvironmentIds]]
"""What can be iterated over more than once and yields inputs, targets and environment ids, in any order."""

Loss = Callable[[Any, Any], Tensor]
"""From outputs and targets to one unreduced loss for each example."""


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
            return float(sum(cost(predict(theta)) for predict, cost in self.parts(e)))

    def gradient(self, e: int, theta: Float[Tensor, " n"] | None = None) -> tuple[float, Float[Tensor, " n"]]:
        """Return L_e and its gradient at theta, or at the point: one forward and one backward pass."""
        value, total = 0.0, None
        for predict, cost in self.parts(e):
            leaf = (self.point if theta is None else theta).detach().requires_grad_()
            loss = cost(predict(leaf))
            (gradient,) = torch.autograd.grad(loss, leaf, materialize_grads=True)
            value, total = value + float(loss.detach()), _add(total, gradient)
        return value, torch.zeros_like(self.point) if total is None else total

    def product(self, e: int, vector: Float[Tensor, " n"], curvature: Curvature = "hessian") -> Float[Tensor, " n"]:
        """Return H_e times a vector at the point, without H_e: the price of about two gradients."""
        times = _hessian_product if curvature == "hessian" else _gauss_newton_product
        total: Tensor | None = None
        for part in self.parts(e):
            total = _add(total, times(part, self.point.detach().requires_grad_(), vector))
        return torch.zeros_like(self.point) if total is None else total

    def hessian(self, e: int, curvature: Curvature = "hessian") -> Float[Tensor, "n n"]:
        """Return H_e at the point: n products, for small models."""
        rows = [self.product(e, unit, curvature) for unit in torch.eye(len(self.point)).to(self.point)]
        matrix = torch.stack(rows)
        return (matrix + matrix.T) / 2


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
    """
    point = point.detach().clone()
    names = {"theta": slice(0, len(point))} if names is None else names
    return Landscape(point, tuple(range(len(functions))), lambda e: [Part(_itself, functions[e])], names, False)


def landscape_of_model(model: nn.Module, loss: Loss, batches: Batches) -> Landscape:
    """Return the landscape of a model's trainable parameters over the environments of some data.

    The model is called through `torch.func.functional_call` on copies of its parameters and buffers, and stays as it is:
    weights, gradients, buffers and mode. L_e is the mean loss over all examples of environment e, whatever their batch.

    Args:
        model: any module in eval mode, or one whose layers do the same in both modes.
        loss: from outputs and targets to one unreduced loss for each example.
        batches: what can be iterated over again and again and yields (inputs, targets, environments): a list, or a
            DataLoader, which may shuffle. Inputs are a tensor, a tuple of positional arguments or a dict of named ones; every
            tensor in them has the examples first.

    Raises:
        ValueError: a model without trainable parameters, with parameters of several types, or with BatchNorm or dropout in
            train mode; an iterator that would be used up by the first pass; no data.
    """
    trainable = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    _check_model(model, trainable)
    if iter(batches) is batches:
        raise ValueError(
            "`batches` should be something to iterate over again and again. Found an iterator, which the first pass uses up. "
            "Pass the loader itself, or a list of batches."
        )
    sizes = _sizes(batches)
    ids = tuple(sorted(sizes))
    names, start = dict[str, slice](), 0
    for name, parameter in trainable.items():
        names[name] = slice(start, start + parameter.numel())
        start += parameter.numel()
    tensors = (*model.named_parameters(), *model.named_buffers())
    fixed = {name: tensor.detach().clone() for name, tensor in tensors if name not in trainable}
    shapes = {name: parameter.shape for name, parameter in trainable.items()}
    lengths = [parameter.numel() for parameter in trainable.values()]

    def call(theta: Tensor, inputs: object) -> Tensor:
        # One split, not a slice for each parameter: the gradient of a slice is as long as theta.
        pieces = zip(shapes.items(), theta.split(lengths), strict=True)
        state = {**fixed, **{name: piece.view(shape) for (name, shape), piece in pieces}}
        if isinstance(inputs, Mapping):
            return functional_call(model, state, (), dict(inputs))
        return functional_call(model, state, inputs if isinstance(inputs, tuple) else (inputs,))

    def parts(e: int) -> Iterator[Part]:
        for inputs, targets, found in batches:
            rows = _ids_of(found) == ids[e]
            if bool(rows.any()):
                yield _part(call, loss, _rows(inputs, rows), _rows(targets, rows), sizes[ids[e]])

    point = torch.cat([parameter.detach().flatten() for parameter in trainable.values()])
    return Landscape(point, ids, parts, names)


def _itself(theta: Tensor) -> Tensor:
    return theta


def _part(call: Callable[[Tensor, object], Tensor], loss: Loss, inputs: object, targets: object, size: int) -> Part:
    def cost(output: Tensor) -> Tensor:
        losses = loss(output, targets)
        if losses.dim() != 1:
            raise ValueError(
                f"`loss` should return one unreduced loss for each example, shape (B,). Found shape {tuple(losses.shape)}. "
                "Build it with reduction='none' and average over everything but the examples."
            )
        return losses.sum() / size

    def predict(theta: Tensor) -> Tensor:
        return call(theta, inputs)

    return Part(predict, cost)


def _check_model(model: nn.Module, trainable: Mapping[str, Tensor]) -> None:
    if not trainable:
        raise ValueError("`model` should have at least one parameter that requires a gradient. Found none. Unfreeze some.")
    kinds = {(parameter.dtype, parameter.device) for parameter in trainable.values()}
    if len(kinds) > 1:
        raise ValueError(f"All trainable parameters should have one type and device. Found {kinds}. Convert the model.")
    dropouts = [name for name, module in model.named_modules() if isinstance(module, _DropoutNd) and module.training]
    noisy = [*batch_norms_in_train_mode(model), *dropouts]
    if noisy:
        raise ValueError(
            "A loss should be a function of the parameters alone, the same at every call. Found BatchNorm or dropout in train "
            f"mode: {noisy[0]!r}. Call model.eval() first."
        )


def _sizes(batches: Batches) -> dict[int, int]:
    """Count each environment's examples."""
    sizes = dict[int, int]()
    for _, targets, found in batches:
        groups = partition(found, len(targets), torch.device("cpu"))
        for name, size in zip(groups.ids.tolist(), groups.sizes, strict=True):
            sizes[name] = sizes.get(name, 0) + size
    if not sizes:
        raise ValueError("`batches` should yield (inputs, targets, environments). Found none. Pass at least one batch.")
    return sizes


def _ids_of(environments: EnvironmentIds) -> Tensor:
    return environments.cpu() if isinstance(environments, Tensor) else torch.as_tensor(environments)


def _rows(value: object, rows: Tensor) -> object:
    """Select examples from a tensor, or from each tensor of a tuple or mapping."""
    if isinstance(value, Tensor):
        return value[rows.to(value.device)]
    if isinstance(value, tuple):
        return tuple(_rows(part, rows) for part in value)
    if isinstance(value, Mapping):
        return {key: _rows(part, rows) for key, part in value.items()}
    return value
