"""One training step, for loops that need nothing between matching and the optimiser."""

from collections.abc import Callable, Sequence
from typing import Literal

from torch import Generator, Tensor
from torch.optim import Optimizer

from craik.losses import Loss
from craik.skips.contexts import Context, Model
from craik.skips.results import Matched
from craik.skips.settings import Matching
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
    average: Literal["trajectories", "steps"] = "trajectories",
    keep_predictions: bool = False,
) -> Matched:
    """Match a batch, differentiate its loss and let the optimiser take its step (thesis algorithm 1, with line 16).

    It is zero_grad, `match`, backward and step, in this order. Clip gradients, accumulate or scale by writing these four lines
    in your own loop. Arguments are those of `craik.skips.match`.

    Raises:
        FloatingPointError: the loss is not finite; parameters and optimiser are as they were.
    """
    raise NotImplementedError
