"""`Memory`: what a model keeps from one match to the next, where one frame does not show the state (thesis section 2.1.2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import Choice, check_tensor, check_whole
from mechlearn.trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class Memory(Choice):
    """A model's state: it is given the one that it returned at its step before, (prediction, state) = f(frame, ..., state).

    In training it goes along the matches: what was skipped is not remembered, and whether the next input is the true frame or
    the prediction makes no difference to it. Gradients flow through it. "Initial observations x_0 .. x_k, for some small k"
    (thesis section 2.1.1) are shown one after the other before anything is predicted: the first prediction is made at frame
    ``frames - 1``, counted from 0, and what the model predicts before that has no part in the loss.

    Args:
        initial: one trajectory's state before its first frame, the same for all; it may be a parameter. A state of several
            tensors, such as an LSTM's, is one of them stacked.
        frames: how many first frames are shown; 1 is the thesis's fully observable case.

    Raises:
        TypeError: an initial state that is no tensor of floats, or a number of frames that is not whole.
        ValueError: an initial state without elements, or no frames.
    """

    initial: Float[Tensor, "*state"]
    frames: int = 1

    def __post_init__(self) -> None:
        check_tensor("initial", self.initial)
        check_whole("frames", self.frames, 1, why="a roll-out starts from a frame")
        if not self.initial.is_floating_point():
            raise TypeError(f"`initial` should be floats. Found {self.initial.dtype}. Convert it with .float().")
        if self.initial.numel() == 0:
            raise ValueError(f"`initial` should have elements. Found shape {tuple(self.initial.shape)}. Leave the state out.")

    def started(self, count: int, device: torch.device) -> Float[Tensor, "n *state"]:
        """Return the initial state of so many trajectories: copies, for a model may work in place."""
        return self.initial.to(device).expand(count, *self.initial.shape).clone()

    def first(self, trajectories: Trajectories) -> Tensor:
        """Return the frames that a model is shown first, as `rollout` takes them.

        Raises:
            ValueError: a trajectory that has not as many and one more.
        """
        self.check(trajectories)
        return trajectories.first() if self.frames == 1 else trajectories.values()[:, : self.frames]

    def check(self, trajectories: Trajectories) -> None:
        """Reject trajectories without a frame behind those that are shown.

        Raises:
            ValueError: that.
        """
        short = (trajectories.lengths <= self.frames).nonzero().flatten().tolist()
        if short:
            raise ValueError(
                f"Every trajectory should have a frame behind the {self.frames} that the model is shown first. Found "
                f"{int(trajectories.lengths[short[0]])} frames in trajectory {short[0]}. Show fewer, or leave it out."
            )
