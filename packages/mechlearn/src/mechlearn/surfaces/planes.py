"""Slices of a loss: lines and planes through a model, one surface for each environment, many points of the slice at once.

A slice is L(theta + a d), or L(theta + a d + b e) (Li et al. 2018, https://arxiv.org/abs/1712.09913, section 3). Index
conventions: a of n values, b of m, environments g of G. The loss is a function of parameters by name; the model is
never modified.

When not to use it: a flat-looking slice says little by itself, as a random direction misses the steep ones; see
`mechlearn.surfaces.extreme_curvature`, and compare slices only where weights have one scale (`mechlearn.surfaces.directions`).
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import replace_all_batch_norm_modules_, vmap
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase  # pyright: ignore[reportPrivateUsage]  # bases of all of them

from mechlearn.arguments import (
    check_all_finite,
    check_callable,
    check_data,
    check_kind,
    check_numbers,
    check_one_of,
    check_params,
    check_returned,
    check_shape,
    check_whole,
    worded,
)
from mechlearn.environments import EnvironmentIds
from mechlearn.nn.stacks import dense_layers, through
from mechlearn.params import Params, parameters_of
from mechlearn.surfaces.model_landscape import UNREDUCED, Batches, Loss, called, check_batches, check_output, count_examples

Statistics = Literal["kept", "moved", "re-estimated"]
Function = Callable[[Params], Tensor]
"""From parameters by name to a loss: a scalar, or one for each environment, (G,)."""


class Surface(NamedTuple):
    """The loss of a model as a function of its parameters.

    Attributes:
        losses: from parameters by name to the mean loss of each environment, (G,).
        parameters: where the model is; with statistics="moved" its running averages are among them.
        environments: ids, ascending.
    """

    losses: Function
    parameters: Params
    environments: tuple[int, ...]

    def mean(self, parameters: Params) -> Float[Tensor, ""]:
        """Return the mean over environments."""
        return self.losses(parameters).mean()


@worded
def surface_of_model(model: nn.Module, loss: Loss, batches: Batches, statistics: Statistics | None = None) -> Surface:
    """Return a model's loss as a function of its trainable parameters, evaluated as in eval mode.

    Args:
        model: any module; a copy of it is used.
        loss: from outputs and targets to one unreduced loss for each example.
        batches: what can be iterated over again and again and yields (inputs, targets, environments): a list, or a
            DataLoader, which may shuffle; zeros for the environments where there is one. Inputs are a tensor, a tuple or list
            of positional arguments or a dict of named ones.
        statistics: what BatchNorm's running averages are at other weights: "kept"; "moved", along directions like parameters
            (the published code's 'states'; `between` two models moves them, random directions do not); "re-estimated", each
            batch normalised by its own. They are no slices of the same function, so a model with BatchNorm has to name one.

    Raises:
        TypeError: no module, or environments that are no integers.
        ValueError: no data, no trainable parameter, a reduced loss, BatchNorm and no choice of its statistics.
    """
    check_callable("loss", loss, "a function from outputs and targets to one loss for each example")
    check_batches(batches)
    check_kind("model", model, nn.Module, "a torch.nn.Module")
    normalised = any(isinstance(module, _BatchNorm) for module in model.modules())
    if normalised or statistics is not None:
        rule = "At other weights its running averages are 'kept', 'moved' or 're-estimated': say which by `statistics`."
        check_one_of("statistics", statistics, get_args(Statistics), way_out=rule)
    alone = copy.deepcopy(model).eval()
    if statistics == "re-estimated":
        replace_all_batch_norm_modules_(alone)
    start = {name: tensor.clone() for name, tensor in parameters_of(alone).items()}
    if not start:
        raise ValueError("`model` should have at least one parameter that requires a gradient. Found none. Unfreeze some.")
    if statistics == "moved":
        start |= {name: buffer.clone() for name, buffer in alone.named_buffers() if _is_average(alone, name)}
    ids, share = _shares(batches)
    return Surface(_Losses(alone, loss, batches, share), start, ids)


class _Losses(NamedTuple):
    """From parameters by name to the mean loss of each environment; of a perceptron also many of them without vmap."""

    model: nn.Module
    loss: Loss
    batches: Batches
    share: Callable[[EnvironmentIds], Tensor]

    def __call__(self, parameters: Params) -> Float[Tensor, " g"]:
        """Return the losses at one point."""
        return self._summed(
            self._parts(called(self.model, parameters, inputs), targets, self.share(ids))
            for inputs, targets, ids in self.batches
        )

    def together(self, stacked: Params) -> Float[Tensor, "n g"]:
        """Return the losses at n points, whose parameters lie side by side."""
        layers, names = dense_layers(self.model), {name for name, _ in self.model.named_parameters(remove_duplicate=False)}
        if layers is None or names != stacked.keys() or not all(isinstance(inputs, Tensor) for inputs, _, _ in self.batches):
            return vmap(self)(stacked)
        count = len(next(iter(stacked.values())))
        return self._summed(
            vmap(self._parts, (0, None, None))(
                through(layers, stacked, inputs.expand(count, *inputs.shape)), targets, self.share(ids)
            )
            for inputs, targets, ids in self.batches
        )

    def _parts(self, outputs: Any, targets: Tensor, share: Tensor) -> Tensor:  # noqa: ANN401  # what the model returns
        check_output(outputs, share.shape[1])
        found = self.loss(outputs, targets)
        check_returned("loss", found, "one unreduced loss for each example", *share.shape[1:], way_out=UNREDUCED)
        return share.to(found) @ found

    def _summed(self, parts: Iterator[Tensor]) -> Tensor:
        total = next(parts)  # _shares has refused empty data
        for part in parts:
            total = total + part
        return total


@worded
def line(loss: Function, parameters: Params, direction: Params, at: Float[Tensor, " n"], chunk: int = 128) -> Tensor:
    """Return L(theta + a d) at each a: (n,), or (G, n) of a loss with environments.

    Args:
        loss: from parameters by name to a scalar or (G,); differentiability is not needed.
        parameters: theta.
        direction: d.
        at: values of a.
        chunk: points evaluated at once, by `torch.func.vmap`: memory for so many models and their activations.

    Raises:
        TypeError: arguments of another kind.
        ValueError: no finite points, directions with other names or shapes. Losses may be NaN: that, too, belongs to a slice.
    """
    _check_points("at", at)
    _check_directions(loss, parameters, {"direction": direction})
    points = at.reshape(-1, 1)
    return _evaluated(loss, parameters, [direction], points, chunk).movedim(0, -1)


@worded
def plane(
    loss: Function, parameters: Params, first: Params, second: Params, at: Sequence[Float[Tensor, " _"]], chunk: int = 128
) -> Tensor:
    """Return L(theta + a d + b e): (n, m), or (G, n, m) of a loss with environments.

    Args:
        loss: from parameters by name to a scalar or (G,).
        parameters: theta.
        first: d.
        second: e.
        at: the values of a, (n,), and those of b, (m,).
        chunk: points evaluated at once.

    Raises:
        TypeError: arguments of another kind.
        ValueError: no finite points, directions with other names or shapes.
    """
    check_kind("at", at, (list, tuple), "two tensors, values of a and of b")
    _check_directions(loss, parameters, {"first": first, "second": second})
    if len(at) != 2:
        raise ValueError(f"`at` should have two parts, values of a and of b. Found {len(at)}. Write (a, b).")
    for name, values in zip(("at[0]", "at[1]"), at, strict=True):
        _check_points(name, values)
    wide = torch.promote_types(at[0].dtype, at[1].dtype)
    points = torch.cartesian_prod(*(values.to(wide) for values in at)).reshape(-1, 2)
    found = _evaluated(loss, parameters, [first, second], points, chunk)
    return found.unflatten(0, (len(at[0]), len(at[1]))).movedim((0, 1), (-2, -1))


def _check_points(name: str, values: Tensor) -> None:
    check_numbers(name, values)
    check_data(name, values)
    if values.numel():
        check_shape(name, values, "n")
    check_all_finite(name, values, way_out="Write torch.linspace(-1, 1, 51), for example.")


def _check_directions(loss: Function, parameters: Params, directions: dict[str, Params]) -> None:
    check_callable("loss", loss, "a function from parameters to a loss")
    for name, some in {"parameters": parameters, **directions}.items():
        check_params(name, some)


def _evaluated(loss: Function, parameters: Params, axes: list[Params], points: Tensor, chunk: int) -> Tensor:
    check_whole("chunk", chunk, least=1)
    if len(points) == 0:
        raise ValueError("A slice should have at least one point. Found none. Pass torch.linspace(-1, 1, 51), for example.")
    shapes = {name: tensor.shape for name, tensor in parameters.items()}
    for axis in axes:
        if {name: tensor.shape for name, tensor in axis.items()} != shapes:
            raise ValueError("A direction should have the parameters' names and shapes. Found others. See random_direction.")
    with torch.no_grad():
        return torch.cat([_together(loss, stacked) for stacked in _moved(parameters, axes, points, chunk)])


def _moved(parameters: Params, axes: list[Params], points: Tensor, chunk: int) -> Iterator[Params]:
    along = {name: torch.stack([axis[name].flatten().to(theta) for axis in axes]) for name, theta in parameters.items()}
    for some in points.split(chunk):
        yield {
            name: torch.addmm(theta.flatten(), some.to(theta), along[name]).view(len(some), *theta.shape)
            for name, theta in parameters.items()
        }


def _together(loss: Function, stacked: Params) -> Tensor:
    count = len(next(iter(stacked.values())))
    if count == 1:
        return _returned(loss, {name: tensor[0] for name, tensor in stacked.items()})[None]
    surface = getattr(loss, "__self__", None)
    if isinstance(surface, Surface) and loss == surface.mean and isinstance(surface.losses, _Losses):
        return surface.losses.together(stacked).mean(1)
    return loss.together(stacked) if isinstance(loss, _Losses) else vmap(partial(_returned, loss))(stacked)


def _returned(loss: Function, point: Params) -> Tensor:
    found = loss(point)
    check_returned("loss", found, "one number, or one for each environment", "...", floats=False)
    return found


def _is_average(model: nn.Module, name: str) -> bool:
    """Say whether a buffer is a running average: a table or a mask of another layer is a constant, and moves nowhere."""
    owner, _, own = name.rpartition(".")
    return isinstance(model.get_submodule(owner), _NormBase) and own in {"running_mean", "running_var"}


def _shares(batches: Batches) -> tuple[tuple[int, ...], Callable[[EnvironmentIds], Tensor]]:
    """Return the environments' ids, and from a batch's ids to (G, B): 1 / size where an example is of the environment."""
    if iter(batches) is batches:
        raise ValueError(
            "`batches` should be something to iterate over again and again. Found an iterator, which the first pass uses up. "
            "Pass the loader itself, or a list of batches."
        )
    counted = sorted(count_examples((_whole(ids), len(ids)) for _, _, ids in batches).items())
    names, sizes = (torch.tensor(column, device="cpu") for column in zip(*counted, strict=True))

    def share(ids: EnvironmentIds) -> Tensor:
        same = names[:, None] == torch.as_tensor(ids).cpu().long()
        return same.double() / sizes[:, None]

    return tuple(names.tolist()), share


def _whole(ids: EnvironmentIds) -> EnvironmentIds:
    """Return the zeros of torch.zeros, or other whole numbers of a float type, as integers; anything else as it is."""
    if isinstance(ids, Tensor) and ids.is_floating_point() and torch.equal(ids.long().to(ids), ids):
        return ids.long()
    return ids
