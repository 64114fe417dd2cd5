"""States of several entries, such as a picture and a position: a vector to `match`, dictionaries to a model and its losses."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import Choice, check_each, check_kind, check_positive
from mechlearn.losses import ElementwiseLoss, Loss, Ranking, evaluated, frame_of, largest_target, prediction_shape, rankable
from mechlearn.trajectories import Trajectories

Entries = Mapping[Any, Any]
"""A dictionary or a TensorDict of tensors or arrays whose first dimension is the same."""

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class States(Choice):
    """How states of several entries lie in one vector: entry by entry in the order of `shapes`, as floats, times their scales.

    Pictures in bytes become floats here, so that they take four times the memory; where that is too much, predict one entry and
    give the others as context.

    Args:
        shapes: of one state's entries.
        scales: what one unit of an entry's stored numbers means, such as 1/255 for images in bytes; 1 where there is none.

    Raises:
        TypeError: shapes or scales that are not dictionaries, or a shape that is not a list of whole numbers.
        ValueError: no entries, one without elements, a scale that is not positive, or one of an entry that there is not.
    """

    shapes: Shapes
    scales: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        for name, given in (("shapes", self.shapes), ("scales", self.scales)):
            check_kind(name, given, Mapping, "a dictionary by the entries' names")
        for name, shape in self.shapes.items():
            check_each(f"shapes[{name!r}]", shape, int, "whole numbers")
        if not self.shapes or any(0 in shape for shape in self.shapes.values()):
            raise ValueError(f"`shapes` should name entries that have elements. Found {dict(self.shapes)}.")
        _check_names("scales", self.scales, self.shapes)
        for name, scale in self.scales.items():
            check_positive(f"scales[{name!r}]", scale)

    @classmethod
    def of(cls, trajectory: Entries, scales: Mapping[str, float] | None = None) -> "States":
        """Return the states of a trajectory, whose entries have the shape (length, *entry).

        Raises:
            TypeError: an entry that is no array, such as a dictionary in a dictionary.
        """
        return cls({name: tuple(each.shape[1:]) for name, each in _tensors(trajectory).items()}, scales or {})

    def trajectories(self, trajectories: Iterable[Entries], dtype: torch.dtype = torch.float32) -> Trajectories:
        """Return trajectories of dictionaries or TensorDicts, entries (length, *entry), as a padded batch of vectors.

        Raises:
            TypeError: an entry that is no array.
            ValueError: entries of another name, shape or length.
        """
        return Trajectories.from_list(self.packed(each).to(dtype) for each in trajectories)

    def packed(self, entries: Entries) -> Float[Tensor, "n numbers"]:
        """Return states as vectors.

        Raises:
            TypeError, ValueError: as `trajectories`.
        """
        tensors = _tensors(entries)
        scaled = {name: each * self.scales[name] if name in self.scales else each for name, each in tensors.items()}
        return _packed(scaled, self.shapes)

    def unpacked(self, vectors: Float[Tensor, "*n numbers"]) -> dict[str, Tensor]:
        """Return the entries of vectors, each (*n, *entry); views."""
        return _unpacked(vectors, self.shapes)

    def model(self, model: Callable[..., Entries], losses: Mapping[str, Loss] | None = None) -> Callable[..., Tensor]:
        """Return a model of vectors from one of dictionaries, ``f(entries)`` or ``f(entries, context)``.

        Args:
            model: from states as dictionaries of tensors (n, *entry) to a dictionary of predictions.
            losses: one for each entry, where some expect another shape than the entry's, as `GaussianNLL` does.
        """
        shapes = _prediction_shapes(losses or {}, self.shapes)

        def of_vectors(vectors: Tensor, *context: Tensor) -> Tensor:
            return _packed(_tensors(model(self.unpacked(vectors), *context)), shapes)

        return of_vectors

    def loss(self, losses: Mapping[str, Loss], weights: Mapping[str, float] | None = None) -> "StateLoss":
        """Return the weighted sum of one loss for each entry; weights are 1 where none is given.

        Raises:
            ValueError: a loss or weight of an entry that there is not, an entry without a loss, or a weight that is not
                positive.
        """
        ours = all(isinstance(loss, ElementwiseLoss) and rankable(loss) is not None for loss in losses.values())
        kind = RankableStateLoss if ours else StateLoss
        return kind(self.shapes, losses, weights or {})


@dataclass(frozen=True, eq=False)
class StateLoss(Choice):
    """The weighted sum of one loss for each entry of a state, see `States.loss`."""

    shapes: Shapes
    losses: Mapping[str, Loss]
    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        _check_names("losses", self.losses, self.shapes)
        _check_names("weights", self.weights, self.shapes)
        missing = [name for name in self.shapes if name not in self.losses]
        if missing:
            raise ValueError(f"`losses` should have one loss for each entry. Found none for {missing}.")
        for name, weight in self.weights.items():
            check_positive(f"weights[{name!r}]", weight, way_out="Leave the entry out, if it is to have no part.")

    def __call__(self, prediction: Float[Tensor, "n z"], target: Float[Tensor, "n numbers"]) -> Float[Tensor, " n"]:
        """Return the loss of each example."""
        made, true = _unpacked(prediction, self._made), _unpacked(target, self.shapes)
        total = target.new_zeros(len(target))
        for name, loss in self.losses.items():
            _check_range(name, loss, true[name])
            total = total + self.weights.get(name, 1.0) * evaluated(loss, made[name], true[name])
        return total

    def prediction_shape(self, frame_shape: tuple[int, ...]) -> tuple[int, ...]:  # a loss's method
        """Return the shape of the prediction of one state."""
        return (sum(map(math.prod, self._made.values())),)

    def frame(self, prediction: Float[Tensor, "n z"]) -> Float[Tensor, "n numbers"]:
        """Return the state that a prediction stands for, entry by entry."""
        made = _unpacked(prediction, self._made)
        return _packed({name: frame_of(loss)(made[name]) for name, loss in self.losses.items()}, self.shapes)

    @property
    def _made(self) -> Shapes:
        return _prediction_shapes(self.losses, self.shapes)


class RankableStateLoss(StateLoss):
    """The same of `mechlearn.losses` alone, whose windows are ranked by products."""

    @property
    def largest_computed(self) -> float:
        """The largest number that an entry's loss computes with, however faint its targets x are: with 1 - x, for example."""
        return max(largest_target(loss) or 0.0 for loss in self.losses.values())

    def ranking(self, prediction: Float[Tensor, "n z"]) -> Ranking:
        """Return the loss as a function of its target: the sum of the entries', each with its own factor."""
        made, parts = _unpacked(prediction, self._made), dict[str, tuple[Tensor, Tensor]]()
        constant: Tensor | float = 0.0
        for name, shape in self.shapes.items():
            loss = self.losses[name]
            one: Ranking = loss.ranking(made[name])  # pyright: ignore[reportFunctionMemberAccess]
            mean = getattr(loss, "reduction", "mean") == "mean"
            factor = self.weights.get(name, 1.0) / (math.prod(shape) if mean else 1)
            quadratic = one.quadratic if isinstance(one.quadratic, Tensor) else torch.full_like(one.weight, one.quadratic)
            parts[name] = (factor * one.weight, factor * quadratic)
            constant = constant + factor * one.constant
        linear, squares = (_packed({name: part[i] for name, part in parts.items()}, self.shapes) for i in (0, 1))
        return Ranking(linear, squares, constant)


def _check_range(name: str, loss: Loss, target: Tensor) -> None:
    limit = largest_target(loss)
    if limit is not None and (float(target.max()) > limit * (1 + 1e-6) or float(target.min()) < -limit * 1e-6):
        raise ValueError(
            f"{type(loss).__name__} compares with numbers in [0, {limit:g}]. Found {float(target.min()):g} to "
            f"{float(target.max()):g} in the entry {name!r}. Give it a scale, 1/255 for images in bytes."
        )


def _tensors(entries: object) -> dict[str, Tensor]:
    if not isinstance(entries, Mapping):
        raise TypeError(f"A state should be a dictionary or a TensorDict of entries. Found {type(entries).__name__}.")
    found: dict[str, Tensor] = {}
    for name, each in entries.items():
        if isinstance(each, Mapping):
            raise TypeError(
                f"An entry should be one array. Found {type(each).__name__} in the entry {name!r}. Flatten it before, a "
                "TensorDict with flatten_keys()."
            )
        found[str(name)] = torch.as_tensor(each)
    return found


def _packed(entries: Mapping[str, Tensor], shapes: Shapes) -> Tensor:
    if set(entries) != set(shapes):
        raise ValueError(f"There should be the entries {sorted(shapes)}. Found {sorted(entries)}.")
    lengths = {len(each) for each in entries.values()}
    if len(lengths) > 1:
        raise ValueError(f"All entries should be of one length. Found { {name: len(each) for name, each in entries.items()} }.")
    for name, shape in shapes.items():
        if tuple(entries[name].shape[1:]) != tuple(shape):
            raise ValueError(
                f"The entry {name!r} should have the shape {tuple(shape)}. Found {tuple(entries[name].shape[1:])}."
            )
    floats = [_floating(entries[name]).reshape(len(entries[name]), -1) for name in shapes]
    return torch.cat(floats, dim=1)


def _floating(each: Tensor) -> Tensor:
    return each if each.is_floating_point() else each.to(torch.get_default_dtype())


def _unpacked(vectors: Tensor, shapes: Shapes) -> dict[str, Tensor]:
    ends = [0, *accumulate(map(math.prod, shapes.values()))]
    parts = [vectors[..., start:end] for start, end in pairwise(ends)]
    return {name: part.reshape(*vectors.shape[:-1], *shapes[name]) for name, part in zip(shapes, parts, strict=True)}


def _prediction_shapes(losses: Mapping[str, Loss], shapes: Shapes) -> Shapes:
    return {name: prediction_shape(losses[name], tuple(s)) if name in losses else tuple(s) for name, s in shapes.items()}


def _check_names(what: str, found: Mapping[str, object], shapes: Shapes) -> None:
    other = sorted(set(found) - set(shapes))
    if other:
        names: Sequence[str] = sorted(shapes)
        raise ValueError(f"`{what}` should be of the entries {names}. Found {other}.")
