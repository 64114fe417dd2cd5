"""One training step, for loops that need nothing between matching and the optimiser."""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor
from torch.optim import Optimizer

from craik.losses import Loss
from craik.skips.contexts import Context, Model
from craik.skips.matching import match
from craik.skips.results import Matched
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
    in your own loop. Arguments are those of `craik.skips.match`.

    Raises:
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
