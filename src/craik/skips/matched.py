"""What matching and rolling out give back."""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor

from craik.trajectories import Trajectories


class Matched(NamedTuple):
    """A batch of trajectories with their predictions matched; b runs over trajectories, u over a trajectory's steps.

    Everything but the losses is on the CPU. Behind a trajectory's last step `skips` and `step_losses` are 0, `matched` is -1
    and `explored` is False.

    Attributes:
        loss: the batch's loss, the one number to differentiate.
        trajectory_losses: (batch,) the mean of each trajectory's step losses.
        step_losses: (batch, steps) each step's loss, detached.
        steps: (batch,) how many steps each trajectory took.
        skips: (batch, steps) how many frames ahead each match lies, 1 to the horizon.
        matched: (batch, steps) the matched frame, counted from 0; the running sum of the skips.
        explored: (batch, steps) True where the match was drawn at random.
        evaluations: how many frames the model was evaluated on, over the whole batch.
        predictions: what the model returned at each step, detached, (batch, steps, ...), logits for instance (the loss's
            method `frame` makes frames of them); None unless they were asked for.
    """

    loss: Float[Tensor, ""]
    trajectory_losses: Float[Tensor, " batch"]
    step_losses: Float[Tensor, "batch steps"]
    steps: Int[Tensor, " batch"]
    skips: Int[Tensor, "batch steps"]
    matched: Int[Tensor, "batch steps"]
    explored: Bool[Tensor, "batch steps"]
    evaluations: int
    predictions: Trajectories | None


class Rollout(NamedTuple):
    """What a model predicts from first frames on.

    Attributes:
        trajectories: the first frame and the predictions after it; the frame that stopped a trajectory is its last.
        stopped: (batch,) True where a stopping rule ended the trajectory, False where `max_steps` did.
        evaluations: how many frames the model was evaluated on, over the whole batch.
    """

    trajectories: Trajectories
    stopped: Bool[Tensor, " batch"]
    evaluations: int
