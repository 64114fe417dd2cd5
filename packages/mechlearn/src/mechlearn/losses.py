"""Unreduced losses: (prediction, target) -> one value for each example.

Any function of that kind is a loss. Those here can do more, each by something that a loss of your own may have too:

- ``ranking(prediction)``: the loss as a linear or quadratic function of its target, so that the targets of a whole window are
  ranked by matrix-vector products (see `mechlearn.skips`);
- ``frame(prediction)``: the frame that a prediction stands for, its mean: what a model is fed when it goes on from its own
  prediction;
- ``prediction_shape(frame_shape)``: the shape of a prediction of one frame, where it is not the frame's own;
- ``largest_target``, an attribute: the largest number that a target may be, 1 for cross-entropies.

Index convention: n runs over examples, ``*frame`` is the shape of one of them, z a prediction, x a target.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # the usual name

from mechlearn.arguments import check_not_negative, check_numbers, check_one_of, check_returned

Loss = Callable[[Tensor, Tensor], Tensor]
"""From predictions (n, ...) and targets (n, *frame) to one value for each example (n,)."""

Reduction = Literal["mean", "sum"]
"""Over the elements of a frame; never over examples."""


class Ranking(NamedTuple):
    """A loss as a function of its target x, up to a constant and a factor above 0 that the target has no part in.

    sum(weight * x) + sum(quadratic * x^2), sums over a frame's elements: enough to say which target is best, but for rounding.

    Attributes:
        weight: (n, *frame) the linear coefficients.
        quadratic: the coefficients of the squares: one number for all elements, one for each, or 0 for a linear loss.
        constant: (n,) or one number: a bound on what the loss adds up beside these products, in magnitudes and in their units,
            such as softplus(z). Where it is large the loss rounds coarsely; 0 says that there is nothing else.
    """

    weight: Float[Tensor, "n *frame"]
    quadratic: Float[Tensor, "n *frame"] | float = 0.0
    constant: Float[Tensor, " n"] | float = 0.0


Coefficients = tuple[Tensor, Tensor | float, Tensor | float]
"""As in `Ranking`: (n, *frame) linear, quadratic, and the bound on what is constant in the target."""


@runtime_checkable
class Rankable(Protocol):
    """A loss that is linear or quadratic in its target and says so."""

    def __call__(self, prediction: Tensor, target: Tensor, /) -> Tensor:
        """Return one value for each example."""
        ...

    def ranking(self, prediction: Tensor) -> Ranking:
        """Return the loss as a function of its target."""
        ...


@dataclass(frozen=True, eq=False)
class ElementwiseLoss(ABC):
    """A loss that is a sum or a mean over the elements of a frame.

    Args:
        reduction: "mean" or "sum" over a frame's elements. It changes the scale of the gradient, never the best match.
        weight: factors that broadcast to a frame, or None; weighted elements are still divided by their number.

    Raises:
        TypeError: a weight that is no tensor of real numbers.
        ValueError: another reduction.
    """

    reduction: Reduction = "mean"
    weight: Float[Tensor, "*factors"] | None = None

    def __post_init__(self) -> None:
        check_one_of("reduction", self.reduction, ("mean", "sum"))
        if self.weight is not None:
            check_numbers("weight", self.weight)

    def __call__(self, prediction: Float[Tensor, "n *z"], target: Shaped[Tensor, "n *frame"]) -> Float[Tensor, " n"]:
        """Return the loss of each example.

        Raises:
            TypeError: no tensors of real numbers, or predictions that are no floats.
            ValueError: predictions that are not of the shape that `prediction_shape` says: nothing is broadcast; a weight that
                does not broadcast to a frame; no example, or frames of no numbers.
        """
        self._check_types(prediction, target)
        self._check_shapes(prediction, target)
        losses = self.elements(prediction, target)
        if self.weight is not None:
            _check_weight(self.weight, target.shape[1:])
            losses = losses * self.weight.to(losses.device)
        return self._reduced(losses)

    def ranking(self, prediction: Float[Tensor, "n *z"]) -> Ranking:
        """Return the loss as a function of its target.

        Raises:
            ValueError: a weight that does not broadcast to a frame; no example.
        """
        _check_some("Predictions", prediction)
        linear, quadratic, constant = self.coefficients(prediction)
        if self.weight is None:
            return Ranking(linear, quadratic, constant)
        _check_weight(self.weight, linear.shape[1:])
        weights = self.weight.to(linear).expand_as(linear)
        quadratic = quadratic * weights if isinstance(quadratic, Tensor) or quadratic else 0.0
        return Ranking(linear * weights, quadratic, constant * float(self.weight.abs().max()))

    def prediction_shape(self, frame_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a prediction of one frame."""
        return frame_shape

    @abstractmethod
    def elements(self, prediction: Float[Tensor, "n *z"], target: Shaped[Tensor, "n *frame"]) -> Float[Tensor, "n *frame"]:
        """Return the loss of each element."""

    @abstractmethod
    def coefficients(self, prediction: Float[Tensor, "n *z"]) -> Coefficients:
        """Return each element's linear and quadratic coefficient, and the bound on the sum of what is constant."""

    @abstractmethod
    def frame(self, prediction: Float[Tensor, "n *z"]) -> Float[Tensor, "n *frame"]:
        """Return the frame that a prediction stands for."""

    def _check_types(self, prediction: Tensor, target: Tensor) -> None:
        check_numbers("target", target)
        check_numbers("prediction", prediction)
        if not prediction.is_floating_point():
            raise TypeError(f"`prediction` should hold floats. Found {prediction.dtype}. Convert it with .float().")

    def _check_shapes(self, prediction: Tensor, target: Tensor) -> None:
        _check_some("Targets", target)
        if not target.dim():
            raise ValueError(
                "Targets should have examples along their first axis. Found a single number. Give one number as (1, 1), one "
                "example of one number."
            )
        wanted = (*target.shape[:1], *self.prediction_shape(tuple(target.shape[1:])))
        if prediction.shape != wanted:
            raise ValueError(
                f"Predictions of targets of shape {tuple(target.shape)} should have the shape {wanted}. Found "
                f"{tuple(prediction.shape)}. Reshape one of them: they are not broadcast."
            )

    def _reduced(self, losses: Float[Tensor, "n *frame"]) -> Float[Tensor, " n"]:
        flat = losses.reshape(len(losses), -1)
        return flat.mean(1) if self.reduction == "mean" else flat.sum(1)


@dataclass(frozen=True, eq=False)
class BinaryCrossEntropyWithLogits(ElementwiseLoss):
    """Binary cross-entropy of logits, softplus(z) - z x, for targets in [0, 1]; linear in the target.

    With ``reduction="sum"`` it is the negative log-likelihood of independent Bernoulli variables. The thesis trains on it
    (section 2.3.2).
    """

    largest_target: ClassVar[float] = 1.0

    def elements(self, prediction: Float[Tensor, "n *frame"], target: Shaped[Tensor, "n *frame"]) -> Float[Tensor, "n *frame"]:
        """Return the loss of each element."""
        return F.binary_cross_entropy_with_logits(prediction, _floats(target, prediction), reduction="none")

    def coefficients(self, prediction: Float[Tensor, "n *frame"]) -> Coefficients:
        """Return -z, 0 for the squares, and log 2 an element: softplus(z) is at most that much above the product with x = 1."""
        return -prediction, 0.0, math.log(2) * prediction.numel() / prediction.shape[0]

    def frame(self, prediction: Float[Tensor, "n *frame"]) -> Float[Tensor, "n *frame"]:
        """Return the probabilities."""
        return prediction.sigmoid()


@dataclass(frozen=True, eq=False)
class BinaryCrossEntropy(ElementwiseLoss):
    """Binary cross-entropy of probabilities, -x log(z + epsilon) - (1 - x) log(1 - z + epsilon); linear in the target.

    The published code's loss, with its epsilon. Prefer logits where you can: they do not saturate.
    """

    epsilon: float = 1e-6
    largest_target: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative("epsilon", self.epsilon)

    def elements(self, prediction: Float[Tensor, "n *frame"], target: Shaped[Tensor, "n *frame"]) -> Float[Tensor, "n *frame"]:
        """Return the loss of each element."""
        target = _floats(target, prediction)
        return -target * (prediction + self.epsilon).log() - (1 - target) * (1 - prediction + self.epsilon).log()

    def coefficients(self, prediction: Float[Tensor, "n *frame"]) -> Coefficients:
        """Return log(1 - z + epsilon) - log(z + epsilon), 0 for the squares, and log 2 an element, as with logits."""
        linear = (1 - prediction + self.epsilon).log() - (prediction + self.epsilon).log()
        return linear, 0.0, math.log(2) * prediction.numel() / prediction.shape[0]

    def frame(self, prediction: Float[Tensor, "n *frame"]) -> Float[Tensor, "n *frame"]:
        """Return the probabilities."""
        return prediction


@dataclass(frozen=True, eq=False)
class SquaredError(ElementwiseLoss):
    """(z - x)^2; quadratic in the target, with the same coefficient for every element unless there are weights."""

    def elements(self, prediction: Float[Tensor, "n *frame"], target: Shaped[Tensor, "n *frame"]) -> Float[Tensor, "n *frame"]:
        """Return the loss of each element."""
        return (prediction - _floats(target, prediction)).square()

    def coefficients(self, prediction: Float[Tensor, "n *frame"]) -> Coefficients:
        """Return -2 z, 1 for the squares, and the sum of z^2."""
        flat = prediction.reshape(prediction.shape[0], -1)
        return -2 * prediction, 1.0, torch.linalg.vecdot(flat, flat)

    def frame(self, prediction: Float[Tensor, "n *frame"]) -> Float[Tensor, "n *frame"]:
        """Return the prediction itself."""
        return prediction


@dataclass(frozen=True, eq=False)
class GaussianNLL(ElementwiseLoss):
    """The negative log-likelihood of independent normal variables, (v + log 2 pi + (x - m)^2 exp(-v)) / 2.

    A prediction of a frame has the shape (2, *frame): the mean m, then the log-variance v. Quadratic in the target. "sum" is
    the likelihood of a frame, "mean" the same divided by the number of its elements.
    """

    def prediction_shape(self, frame_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return (2, *frame)."""
        return (2, *frame_shape)

    def elements(
        self, prediction: Float[Tensor, "n 2 *frame"], target: Shaped[Tensor, "n *frame"]
    ) -> Float[Tensor, "n *frame"]:
        """Return the loss of each element."""
        mean, log_variance = prediction.unbind(1)
        return (log_variance + math.log(2 * math.pi) + (_floats(target, mean) - mean).square() * (-log_variance).exp()) / 2

    def coefficients(self, prediction: Float[Tensor, "n 2 *frame"]) -> Coefficients:
        """Return -m exp(-v), exp(-v) / 2 for the squares, and the sum of (|v| + log 2 pi + m^2 exp(-v)) / 2."""
        mean, log_variance = prediction.unbind(1)
        precision = (-log_variance).exp()
        linear = -mean * precision
        flat = [part.reshape(part.shape[0], -1) for part in (linear, mean, log_variance)]
        constant = flat[2].abs().sum(1) - torch.linalg.vecdot(flat[0], flat[1]) + math.log(2 * math.pi) * flat[1].shape[1]
        return linear, precision / 2, constant / 2

    def frame(self, prediction: Float[Tensor, "n 2 *frame"]) -> Float[Tensor, "n *frame"]:
        """Return the mean."""
        return prediction[:, 0]


def _floats(target: Tensor, prediction: Tensor) -> Tensor:
    """Return truth values and integers in a prediction's type, others as they are: of bytes -x would be 256 - x."""
    return target if target.is_floating_point() else target.to(prediction.dtype)


def _check_weight(weight: Tensor, frame: torch.Size) -> None:
    """Reject a weight that would make a frame larger, or that would meet the examples."""
    pairs = zip(reversed(weight.shape), reversed(frame), strict=False)
    if weight.dim() > len(frame) or any(own not in (1, wanted) for own, wanted in pairs):
        raise ValueError(
            f"`weight` should broadcast to a frame, {tuple(frame)}. Found the shape {tuple(weight.shape)}. Give one factor for "
            "each number of a frame, with axes of 1 where they are the same; weigh examples by what you do with their losses."
        )


def _check_some(what: str, tensor: Tensor) -> None:
    if tensor.dim() and not tensor.numel():
        raise ValueError(
            f"{what} should be of an example and of a number at least. Found the shape {tuple(tensor.shape)}. Leave such "
            "batches out."
        )


def rankable(loss: Loss) -> Rankable | None:
    """Return the loss where what it says of its ranking is true of its values, None where windows are evaluated on it.

    A class that changes a loss's values (`elements`, ``__call__``, a module's ``forward``) and inherits the ranking of the loss
    that it was before does not speak for itself: `ranking` or `coefficients` should be as near to it as these are.

    >>> class AbsoluteError(SquaredError):
    ...     def elements(self, prediction, target):
    ...         return (prediction - target).abs()
    >>> rankable(SquaredError()) is None, rankable(AbsoluteError()) is None
    (False, True)
    """
    if not isinstance(loss, Rankable):
        return None
    return loss if _nearest(loss, "ranking", "coefficients") <= _nearest(loss, *_VALUES) else None


_VALUES = ("__call__", "forward", "elements", "_reduced")
"""What a loss's values are made by."""


def _nearest(thing: object, *names: str) -> int:
    """Return how far up a class's ancestors one of some attributes is first found; 0 stands for the instance itself."""
    places: list[Any] = [getattr(thing, "__dict__", {}), *map(vars, type(thing).__mro__)]
    return next((place for place, own in enumerate(places) if any(name in own for name in names)), len(places))


def evaluated(loss: Loss, prediction: Float[Tensor, "n *z"], target: Shaped[Tensor, "n *frame"]) -> Tensor:
    """Return a loss's values, checked to be one for each example.

    Raises:
        TypeError: values that are no floats.
        ValueError: values of another shape.
    """
    values = loss(prediction, target)
    way_out = "Leave the examples unreduced, for example with losses.flatten(1).mean(1)."
    check_returned("loss", values, "one value for each example", len(prediction), way_out=way_out)
    return values


def frame_of(loss: Loss) -> Callable[[Tensor], Tensor]:
    """Return what turns a loss's predictions into frames: its method `frame`, or nothing where it has none."""
    return getattr(loss, "frame", torch.nn.Identity())


def prediction_shape(loss: Loss, frame_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that a loss expects a prediction of one frame to have: its frame's, unless the loss says another."""
    method = getattr(loss, "prediction_shape", None)
    return frame_shape if method is None else method(frame_shape)


def largest_target(loss: Loss) -> float | None:
    """Return the largest number that a loss's targets may be, or None where the loss sets no limit."""
    return getattr(loss, "largest_target", None)
