"""The landscape of a model's parameters over the environments of some data."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd  # pyright: ignore[reportPrivateUsage]  # the base class of all dropouts

from mechlearn.arguments import check_callable, check_kind, check_returned, worded
from mechlearn.environments import EnvironmentIds, batch_norms_in_train_mode, partition
from mechlearn.functional import borrowed, call
from mechlearn.surfaces.landscape import Landscape, Part

UNREDUCED = "Build it with reduction='none' and average over everything but the examples."

Batches = Iterable[tuple[Any, Tensor, EnvironmentIds]]
"""What can be iterated over more than once and yields inputs, targets and environment ids, in any order."""

Loss = Callable[[Any, Any], Tensor]
"""From outputs and targets to one unreduced loss for each example."""


@worded
def landscape_of_model(model: nn.Module, loss: Loss, batches: Batches) -> Landscape:
    """Return the landscape of a model's trainable parameters over the environments of some data.

    The model is called on copies of its parameters and buffers, and is given back as it was (`mechlearn.functional`):
    weights, gradients, buffers, mode and whatever its forward pass notes. L_e is the mean loss over all examples of
    environment e, whatever their batch.

    Args:
        model: any module in eval mode, or one whose layers do the same in both modes. An output that is a tensor has the
            examples first.
        loss: from outputs and targets to one unreduced loss for each example.
        batches: what can be iterated over again and again and yields (inputs, targets, environments): a list, or a
            DataLoader, which may shuffle. Inputs are a tensor, a tuple or list of positional arguments (loaders make lists of
            tuples) or a dict of named ones; every tensor in them has the examples first.

    Raises:
        ValueError: a model without trainable parameters, with parameters of several types, or with BatchNorm or dropout in
            train mode; an iterator that would be used up by the first pass; no data.
        TypeError: environments that are no integers, inputs that hold something else than tensors and constants.
    """
    check_kind("model", model, nn.Module, "a torch.nn.Module", way_out="Give a module, not its class.")
    check_callable("loss", loss, "a function from outputs and targets to one loss for each example")
    check_batches(batches)
    trainable = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    _check_model(model, trainable)
    if iter(batches) is batches:
        raise ValueError(
            "`batches` should be something to iterate over again and again. Found an iterator, which the first pass uses up. "
            "Pass the loader itself, or a list of batches."
        )
    sizes = count_examples((found, len(targets)) for _, targets, found in batches)
    ids = tuple(sorted(sizes))
    names, start = dict[str, slice](), 0
    for name, parameter in trainable.items():
        names[name] = slice(start, start + parameter.numel())
        start += parameter.numel()
    tensors = (*model.named_parameters(), *model.named_buffers())
    fixed = {name: tensor.detach().clone() for name, tensor in tensors if name not in trainable}
    shapes = {name: parameter.shape for name, parameter in trainable.items()}
    lengths = [parameter.numel() for parameter in trainable.values()]

    def predicted(theta: Tensor, inputs: object) -> Tensor:
        # One split, not a slice for each parameter: the gradient of a slice is as long as theta.
        pieces = zip(shapes.items(), theta.split(lengths), strict=True)
        copies = {name: tensor.clone() for name, tensor in fixed.items()}  # what one pass writes, the next must not see
        state = {**copies, **{name: piece.view(shape) for (name, shape), piece in pieces}}
        return called(model, state, inputs)

    def parts(e: int) -> Iterator[Part]:
        with borrowed(model):  # as long as a part is in use: a loss may read what the forward pass has noted
            for inputs, targets, found in batches:
                rows = _ids_of(found) == ids[e]
                if bool(rows.any()):
                    kept = _rows(inputs, rows), _rows(targets, rows)
                    cost = partial(_losses, loss, kept[1], int(rows.sum()))
                    yield _part(partial(predicted, inputs=kept[0]), cost, sizes[ids[e]])

    point = torch.cat([parameter.detach().flatten() for parameter in trainable.values()])
    return Landscape(point, ids, parts, names)


def called(model: nn.Module, state: Mapping[str, Tensor], inputs: object) -> Any:  # noqa: ANN401  # what the model returns
    """Return what a model makes of a batch's inputs with other parameters: positional ones of a tuple or list, named ones."""
    if isinstance(inputs, Mapping):
        return call(model, state, (), inputs)
    return call(model, state, inputs if isinstance(inputs, tuple | list) else (inputs,))


def _part(predict: Callable[[Tensor], Tensor], losses: Callable[[Tensor], Tensor], size: int) -> Part:
    def cost(output: Tensor) -> Tensor:
        return losses(output).sum() / size

    return Part(predict, cost)


def _losses(loss: Loss, targets: object, count: int, output: Tensor) -> Tensor:
    check_output(output, count)
    losses = loss(output, targets)
    check_returned("loss", losses, "one unreduced loss for each example", count, way_out=UNREDUCED)
    return losses


def check_output(output: object, count: int) -> None:
    """Reject what a model returned where it is a tensor without a row for each example, or holds none at all."""
    if isinstance(output, Tensor):
        check_returned("model", output, "a row for each example", count, *output.shape[1:], floats=not output.is_complex())
    elif output is None or isinstance(output, str | int | float | np.ndarray):
        raise TypeError(f"`model` should return a tensor, or tensors. Found {type(output).__name__}.")


def check_batches(batches: object) -> None:
    """Reject what holds no batches of three, where that can be told without using an iterator up.

    Raises:
        TypeError, ValueError: that.
    """
    rule = "`batches` should hold batches (inputs, targets, environments). "
    if isinstance(batches, str | bytes | Mapping | Tensor | np.ndarray) or not isinstance(batches, Iterable):
        raise TypeError(f"{rule}Found {'None' if batches is None else type(batches).__name__}. Give a list, or a loader.")
    if isinstance(batches, list | tuple):
        if not batches:
            raise ValueError(f"{rule}Found none of them. Check what filled the list.")
        for place, one in enumerate(batches):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if not isinstance(one, list | tuple) or len(one) != 3:  # pyright: ignore[reportUnknownArgumentType]
                raise TypeError(f"{rule}Found {type(one).__name__} at {place}. Put the three in a tuple.")  # pyright: ignore[reportUnknownArgumentType]


def _check_model(model: nn.Module, trainable: Mapping[str, Tensor]) -> None:
    if not trainable:
        raise ValueError("`model` should have at least one parameter that requires a gradient. Found none. Unfreeze some.")
    kinds = {(parameter.dtype, parameter.device) for parameter in trainable.values()}
    if len(kinds) > 1:
        raise ValueError(f"All trainable parameters should have one type and device. Found {kinds}. Convert the model.")
    ((dtype, _),) = kinds
    if dtype.is_complex:
        raise TypeError(
            f"`model` should have real parameters: a complex gradient has no sign. Found {dtype}. Train real and imaginary "
            "parts, and put torch.complex in the model."
        )
    dropouts = [name for name, module in model.named_modules() if isinstance(module, _DropoutNd) and module.training]
    noisy = [*batch_norms_in_train_mode(model), *dropouts]
    if noisy:
        raise ValueError(
            "A loss should be a function of the parameters alone, the same at every call. Found BatchNorm or dropout in train "
            f"mode: {noisy[0]!r}. Call model.eval() first."
        )


def count_examples(batches: Iterable[tuple[EnvironmentIds, int]]) -> dict[int, int]:
    """Count each environment's examples, from each batch's ids and its number of examples.

    Raises:
        TypeError: ids that are no integers.
        ValueError: ids that are not one for each example, or none at all.
    """
    sizes = dict[int, int]()
    for found, examples in batches:
        groups = partition(found, examples, torch.device("cpu"))
        if not isinstance(groups.ids, Tensor):
            raise TypeError(
                f"A landscape's environments should be integers. Found {groups.named(0)!r}. "
                "Number them, and keep the names beside."
            )
        for name, size in zip(groups.ids.tolist(), groups.sizes, strict=True):
            sizes[name] = sizes.get(name, 0) + size
    if not sizes:
        raise ValueError("`batches` should yield (inputs, targets, environments). Found none. Pass at least one batch.")
    return sizes


def _ids_of(environments: EnvironmentIds) -> Tensor:
    return environments.cpu() if isinstance(environments, Tensor) else torch.as_tensor(environments)


def _rows(value: object, rows: Tensor) -> object:
    """Select examples from a tensor, or from each tensor of a tuple, list or mapping; constants beside them stay."""
    if isinstance(value, Tensor):
        return value[rows.to(value.device)]
    if isinstance(value, tuple):
        return tuple(_rows(part, rows) for part in value)
    if isinstance(value, list):
        return [_rows(part, rows) for part in value]
    if isinstance(value, Mapping):
        return {key: _rows(part, rows) for key, part in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        "Inputs should be tensors, or tuples, lists and dictionaries of such, which are split by environment. Found "
        f"{type(value).__name__}. Convert arrays with torch.as_tensor."
    )
