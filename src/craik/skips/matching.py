"""`match`: run a dynamics model along trajectories and match what it predicts with later frames (thesis algorithm 1)."""

from collections.abc import Callable, Sequence
from typing import Literal

from jaxtyping import Float
from torch import Generator, Tensor

from craik.losses import Loss
from craik.skips.contexts import Context, Model
from craik.skips.results import Matched
from craik.skips.settings import Matching
from craik.trajectories import Trajectories

Average = Literal["trajectories", "steps"]


def match(
    model: Model,
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
    """Predict along every trajectory, match each prediction with a later frame, and return the loss of the matches.

    Thesis algorithm 1, lines 1 to 15, for a batch. Trajectories advance together, each at its own pace; one that has reached
    its last frame costs no further evaluation. Gradients flow into every matched prediction, and through predictions that
    were fed back into the model. Which frame is matched depends on the values alone: a loss with a method `ranking` (see
    `craik.losses`) is ranked by matrix-vector products, any other by evaluating it on the whole window; the result is the same.

    Random numbers: trajectory b has three for each of its steps, whatever else is in the batch. From one generator they are
    drawn trajectory by trajectory, in the order of the batch, so two batches give what one of both gives. With a generator for
    each trajectory the batch's composition and order do not matter either. Numbers are drawn where `exploration` or
    `teacher_forcing` lies strictly between 0 and 1 (or exploration is 1), and only there.

    Args:
        model: f, from frames (n, *frame), and their context where there is one, to predictions of n frames. It should treat
            its examples one by one: BatchNorm in train mode makes results depend on the batch.
        trajectories: at least two frames each.
        loss: from predictions and frames to one value for each, see `craik.losses`.
        matching: `Greedy`, `FixedStep` or `OptimalAlignment`.
        teacher_forcing: epsilon, the probability that the next input is the matched true frame and not the prediction
            (scheduled sampling, thesis algorithm 1, line 13).
        generator: of random numbers, on the CPU: one, or one for each trajectory.
        context: what the model sees beside a frame: one tensor (batch, *context), static, or `Actions`.
        targets: what predictions are compared with, frame by frame, in the place of the trajectories' own frames: latents,
            for instance (see `encoded`).
        compare: applied to predictions before they are compared: an encoder, where f predicts frames that are compared in
            latent space.
        feedback: what turns a prediction into the next input. None: the loss's method `frame`, such as the sigmoid of logits,
            or nothing where it has none.
        average: "trajectories": the mean of a trajectory's step losses, then over the batch (the thesis); "steps": the mean of
            all steps of the batch (the published code).
        keep_predictions: return the predictions, too.

    Raises:
        TypeError: random numbers are needed and no generator is given.
        ValueError: a trajectory without a transition, a probability outside [0, 1], a context or targets that do not fit, or
            a prediction whose shape the loss does not expect.
        FloatingPointError: a prediction that is not finite where it had to be ranked.
    """
    raise NotImplementedError


def candidate_losses(
    matched: Matched,
    trajectories: Trajectories,
    loss: Loss,
    horizon: int,
) -> Float[Tensor, "batch steps horizon"]:
    """Return each kept prediction's loss against every frame of its window, for timelines (thesis figures 2.7 and 2.8).

    Entry [b, u, k] belongs to the frame k + 1 after the one that prediction u of trajectory b was made at; infinity where the
    trajectory has no such frame or step.
    """
    raise NotImplementedError
