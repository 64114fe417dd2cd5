"""What is predicted, by what, and compared with what; checked while it is used."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from craik.losses import Loss, evaluated, frame_of, largest_target, prediction_shape
from craik.skips.contexts import Context, Model, check_context, evaluate
from craik.trajectories import Trajectories

_SLACK = 1 + 1e-6
"""For the rounding of a scale such as 1/255."""


class Problem(NamedTuple):
    """The arguments of `craik.skips.match` that say what is predicted; made by `problem`."""

    model: Model
    trajectories: Trajectories
    loss: Loss
    context: Context | None
    targets: Trajectories
    compare: Callable[[Tensor], Tensor] | None
    feedback: Callable[[Tensor], Tensor]

    def predict(self, inputs: Float[Tensor, "n *frame"], rows: Sequence[int], times: Sequence[int]) -> Tensor:
        """Return the model's predictions from inputs that stand at the given frames of the given trajectories.

        Raises:
            TypeError: the model returned no tensor of floats.
        """
        prediction = evaluate(self.model, inputs, self.context, rows, times)
        if not (isinstance(prediction, Tensor) and prediction.is_floating_point()):
            found = f"a tensor of {prediction.dtype}" if isinstance(prediction, Tensor) else type(prediction).__name__
            raise TypeError(f"The model should return one tensor of floats. Found {found}.")
        return prediction

    def compared(self, prediction: Tensor, count: int) -> Float[Tensor, "n *y"]:
        """Return what the loss sees of predictions.

        Raises:
            ValueError: another shape than the loss expects.
        """
        seen = prediction if self.compare is None else self.compare(prediction)
        expected = (count, *prediction_shape(self.loss, self.targets.frame_shape))
        if tuple(seen.shape) != expected:
            what = "The model" if self.compare is None else "`compare`"
            raise ValueError(
                f"{what} should return a prediction of the shape that the loss compares with a frame, {expected} for {count} "
                f"frames of shape {self.targets.frame_shape}. Found {tuple(seen.shape)}."
            )
        dtype = self.targets.value_dtype
        return seen if seen.dtype == dtype else seen.to(dtype)  # under autocast predictions are shorter than frames

    def losses(self, seen: Float[Tensor, "n *y"], rows: Sequence[int], frames: Sequence[int]) -> Tensor:
        """Return the loss of each prediction against the frame that it is matched with."""
        return evaluated(self.loss, seen, self.targets.at(rows, frames))

    def fed(self, prediction: Tensor) -> Float[Tensor, "n *frame"]:
        """Return predictions as the model's next inputs.

        Raises:
            ValueError: another shape than a frame's.
        """
        frame = self.feedback(prediction)
        expected = (len(prediction), *self.trajectories.frame_shape)
        if tuple(frame.shape) != expected:
            raise ValueError(
                f"A prediction that is fed back should have the shape of a frame, {expected}. Found {tuple(frame.shape)}. "
                "Pass feedback=... to turn the model's output into its input, or teacher_forcing=1."
            )
        return frame.to(self.trajectories.value_dtype)


def problem(
    model: Model,
    trajectories: Trajectories,
    loss: Loss,
    context: Context | None,
    targets: Trajectories | None,
    compare: Callable[[Tensor], Tensor] | None,
    feedback: Callable[[Tensor], Tensor] | None,
) -> Problem:
    """Check what belongs together and fill in what was left out.

    Raises:
        ValueError: a trajectory without a transition, or targets or a context that do not fit, such as bytes without a scale
            under a loss of numbers in [0, 1].
    """
    _check_transitions(trajectories)
    check_context(context, trajectories)
    if targets is not None and not torch.equal(targets.lengths, trajectories.lengths):
        raise ValueError(
            f"`targets` should have the trajectories' lengths, {trajectories.lengths.tolist()}. "
            f"Found {targets.lengths.tolist()}. Make them frame by frame, for example with craik.skips.encoded."
        )
    targets = trajectories if targets is None else targets
    _check_scale(targets, loss)
    return Problem(model, trajectories, loss, context, targets, compare, feedback or frame_of(loss))


def _check_transitions(trajectories: Trajectories) -> None:
    short = (trajectories.lengths < 2).nonzero().flatten().tolist()
    if short:
        raise ValueError(
            "Every trajectory should have at least 2 frames, one to predict from and one to match. Found 1 frame in trajectory "
            f"{short[0]}{f' and {len(short) - 1} more' if len(short) > 1 else ''}. Leave such trajectories out."
        )


def _check_scale(targets: Trajectories, loss: Loss) -> None:
    """Refuse whole numbers above what a loss allows: someone has forgotten that images in bytes have a scale."""
    limit = largest_target(loss)
    if targets.dtype.is_floating_point or limit is None or targets.peak * targets.scale <= limit * _SLACK:
        return
    largest = max(int(own.max()) for own in targets)  # the peak of bytes is 255, whatever they hold
    if largest * targets.scale > limit * _SLACK:
        raise ValueError(
            f"{type(loss).__name__} compares with frames of at most {limit:g}. Found {largest} stored in {targets.dtype} with "
            f"scale={targets.scale:g}. Give the trajectories a scale, 1/255 for images in bytes."
        )
