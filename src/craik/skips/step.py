"""One training step, for loops that need nothing between matching and the optimiser."""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor
from torch.optim import Optimizer

from craik.losses import Loss
from craik.skips.contexts import Context, Model
from craik.skips.matched import Matched
from craik.skips.matching import match
from craik.skips.settings import Matching
from craik.skips.tracks import Average
from craik.trajectories import Trajectories


def training_step(
    model: Model,
    optimizer: Optimizer,
    trajectories: Trajectories,
    loss: Loss,
    matching: Matching,
    *,
    teacher_forcing: float = 1.0,
    generator: Generator | Sequence[Generator] | None = None,
    context: Context | None = None,
    targets: Trajectories | None = None,
    compare: Callable[[Tensor], Tensor] | None = None,
    feedback: Callable[[Tensor], Tensor] | None = None,
    average: Average = "trajectories",
    keep_predictions: bool = False,
) -> Matched:
    """Match a batch, differentiate its loss and let the optimiser take its step (thesis algorithm 1, with line 16).

    It is `match`, zero_grad, backward and step, in this order. Clip gradients, accumulate or scale by writing these four lines
    in your own loop.

    Args:
        model: f, see `match`.
        optimizer: of the model's parameters.
        trajectories: the batch.
        loss: from predictions and frames to one value for each.
        matching: `Greedy`, `FixedStep` or `OptimalAlignment`.
        teacher_forcing: epsilon, the probability that the next input is the matched true frame.
        generator: of random numbers, on the CPU: one, or one for each trajectory.
        context: what the model sees beside a frame.
        targets: what predictions are compared with in the place of the trajectories' frames.
        compare: applied to predictions before they are compared.
        feedback: what turns a prediction into the next input.
        average: "trajectories" (the thesis) or "steps" (the published code).
        keep_predictions: return the predictions, too.

    Raises:
        TypeError, ValueError: those of `match`.
        FloatingPointError: the loss is not finite; parameters and optimiser are as they were.
    """
    matched = match(
        model,
        trajectories,
        loss,
        matching,
        teacher_forcing=teacher_forcing,
        generator=generator,
        context=context,
        targets=targets,
        compare=compare,
        feedback=feedback,
        average=average,
        keep_predictions=keep_predictions,
    )
    if not torch.isfinite(matched.loss):
        bad = (~matched.trajectory_losses.detach().isfinite()).nonzero().flatten().tolist()
        where = f", from trajectory {bad[0]} of the batch" if bad else ""
        raise FloatingPointError(
            f"The loss should be finite. Found {float(matched.loss.detach())}{where}. Lower the learning rate or clip "
            "gradients; nothing was changed."
        )
    optimizer.zero_grad()
    matched.loss.backward()
    optimizer.step()
    return matched
