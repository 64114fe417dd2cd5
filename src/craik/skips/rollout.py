"""Rolling a trained model out: what it predicts from first frames on, until a rule stops it."""

from collections.abc import Callable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from craik.losses import Loss
from craik.skips.contexts import Model
from craik.skips.results import Rollout

Stop = Callable[[Float[Tensor, "n *frame"]], Bool[Tensor, " n"]]
"""From the newest frames to True for each that ends its trajectory."""


Policy = Callable[[Float[Tensor, "n *frame"], Int[Tensor, " n"], int], Tensor]
"""From the newest frames, their positions in the batch and the step to what the model is given beside the frames."""


def rollout(
    model: Model,
    first: Float[Tensor, "batch *frame"],
    *,
    max_steps: int,
    stop: Stop | None = None,
    fixed_point: float | None = None,
    context: Tensor | Policy | None = None,
    loss: Loss | None = None,
    feedback: Callable[[Tensor], Tensor] | None = None,
) -> Rollout:
    """Apply a model to its own predictions, without a graph; trajectories that have stopped cost nothing more.

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
        ValueError: max_steps below 1, a negative fixed point, or a prediction of another shape than the frame's.
    """
    raise NotImplementedError
