"""Rolling a trained model out: what it predicts from first frames on, until a rule stops it."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from craik.losses import Loss, frame_of
from craik.skips.contexts import Model
from craik.skips.matched import Rollout
from craik.trajectories import Trajectories

Stop = Callable[[Float[Tensor, "n *frame"]], Bool[Tensor, " n"]]
"""From the newest frames to True for each that ends its trajectory."""


Policy = Callable[[Float[Tensor, "n *frame"], Int[Tensor, " n"], int], Tensor]
"""From the newest frames, their positions in the batch and the step to what the model is given beside the frames."""


@torch.no_grad()
def rollout(
    model: Model,
    first: Shaped[Tensor, "batch *frame"],
    *,
    max_steps: int,
    stop: Stop | None = None,
    fixed_point: float | None = None,
    context: Tensor | Policy | None = None,
    loss: Loss | None = None,
    feedback: Callable[[Tensor], Tensor] | None = None,
) -> Rollout:
    """Apply a model to its own predictions, without a graph; trajectories that have stopped cost nothing more.

    Source: thesis section 2.2, where f unfolds the dynamics at test time and a label is read from its frames.

    A model knows no transition beyond the last frame of its training data, so a roll-out should stop where one of these
    would: give `stop`, or `fixed_point` where the worlds come to rest.

    Args:
        model: f, from frames (n, *frame) and their context, where there is one, to predictions.
        first: the frames to start from.
        max_steps: how many times f is applied at most.
        stop: looks at the newest frames, (n, *frame), and says which end their trajectory; the first frames are not shown.
        fixed_point: stop where no number of a frame changes by more than this; None for never.
        context: static, (batch, *context), or a policy ``(frames, rows, step) -> (n, *context)``, called with the newest frames
            of the trajectories that still roll, their positions in the batch, and the step from 0.
        loss: whose method `frame` turns predictions into frames, such as the sigmoid of logits; None leaves them as they are.
        feedback: what turns predictions into the next input, in the place of the loss's `frame`.

    Raises:
        TypeError: a context that is neither a tensor nor a policy, such as `Actions`.
        ValueError: max_steps below 1, a negative fixed point, first frames that are not finite floats, or a prediction of
            another shape than the frame's.
        FloatingPointError: a prediction that is not finite.
    """
    _check(first, max_steps, fixed_point, context)
    frame = feedback or (torch.nn.Identity() if loss is None else frame_of(loss))
    frames = [[one] for one in first]
    stopped = torch.zeros(len(first), dtype=torch.bool)
    rows, newest, evaluations = torch.arange(len(first)), first, 0
    for step in range(max_steps):
        before, newest = newest, _predict(model, frame, newest, context, rows, step)
        evaluations += len(rows)
        for b, one in zip(rows.tolist(), newest, strict=True):
            frames[b].append(one)
        ends = _ends(before, newest, stop, fixed_point)
        stopped[rows[ends]] = True
        rows, newest = rows[~ends], newest[(~ends).to(newest.device)]
        if len(rows) == 0:
            break
    return Rollout(Trajectories.from_list(torch.stack(each) for each in frames), stopped, evaluations)


def _predict(
    model: Model, frame: Callable[[Tensor], Tensor], newest: Tensor, context: Tensor | Policy | None, rows: Tensor, step: int
) -> Tensor:
    if context is None:
        prediction = model(newest)
    elif isinstance(context, Tensor):
        prediction = model(newest, context[rows.to(context.device)])
    else:
        prediction = model(newest, context(newest, rows, step))
    found = frame(prediction)
    if found.shape != newest.shape:
        raise ValueError(
            f"A prediction should have the shape of a frame to be fed back, {tuple(newest.shape)}. Found {tuple(found.shape)}. "
            "Pass loss=... or feedback=... to turn the model's output into its input."
        )
    found = found.to(newest.dtype)
    _check_prediction(found, rows, step)
    return found


def _check_prediction(found: Tensor, rows: Tensor, step: int) -> None:
    if not found.isfinite().all():
        bad = int(found.isfinite().flatten(1).all(1).logical_not().nonzero()[0])
        raise FloatingPointError(
            f"Every prediction should be finite. Found one that is not in trajectory {int(rows[bad])}, frame {step + 1} (both "
            "counted from 0; frame 0 was given): the roll-out diverges. Train longer or with a lower learning rate, or end it "
            "before with `stop` or `max_steps`."
        )


def _ends(before: Tensor, newest: Tensor, stop: Stop | None, fixed_point: float | None) -> Tensor:
    """Say which of the newest frames end their trajectory, on the CPU."""
    ends = torch.zeros(len(newest), dtype=torch.bool)
    if stop is not None:
        found = stop(newest)
        if found.shape != ends.shape or found.dtype != torch.bool:
            raise ValueError(f"`stop` should return one bool for each of {len(newest)} frames. Found {_kind(found)}.")
        ends |= found.cpu()
    if fixed_point is not None:
        ends |= ((newest - before).abs().flatten(1).amax(1) <= fixed_point).cpu()
    return ends


def _check(first: Tensor, max_steps: int, fixed_point: float | None, context: object) -> None:
    if max_steps < 1:
        raise ValueError(f"`max_steps` should be at least 1. Found {max_steps}.")
    if fixed_point is not None and not 0 <= fixed_point < math.inf:
        raise ValueError(f"`fixed_point` should be a number of 0 or more, or None. Found {fixed_point!r}.")
    if not first.is_floating_point() or len(first) == 0:
        raise ValueError(
            f"`first` should be floats of shape (batch, *frame), at least one. Found {_kind(first)}. "
            "Trajectories.first() gives them."
        )
    if not first.isfinite().all():
        bad = int(first.isfinite().flatten(1).all(1).logical_not().nonzero()[0])
        raise ValueError(f"`first` should be finite. Found NaN or infinity in frame {bad} of the batch. Leave it out.")
    _check_context(context, len(first))


def _check_context(context: object, count: int) -> None:
    if isinstance(context, Tensor) and (context.dim() == 0 or len(context) != count):
        raise ValueError(f"`context` should hold one entry for each of {count} frames. Found {tuple(context.shape)}.")
    if not (context is None or isinstance(context, Tensor) or callable(context)):
        raise TypeError(
            "`context` should be a tensor (batch, *context) or a policy (frames, rows, step) -> (n, *context): a roll-out does "
            f"not know how many frames a prediction skipped. Found {type(context).__name__}. Pass such a function."
        )


def _kind(found: Tensor) -> str:
    return f"{found.dtype}, shape {tuple(found.shape)}"
