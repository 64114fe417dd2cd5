"""`Predictor`: a dynamics model at work along a batch of trajectories; what a way to match is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_flag, check_share
from mechlearn.losses import BinaryCrossEntropy, evaluated, prediction_shape
from mechlearn.skips.dynamics import Dynamics, check_kinds, fitted
from mechlearn.skips.matched import Steps
from mechlearn.skips.sampling import Sampled
from mechlearn.skips.simulators.options import Options
from mechlearn.skips.simulators.outcome import Layout
from mechlearn.trajectories import Trajectories

_ROUNDING = 1e-6
"""How far out of [0, 1] a probability may be."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """What `mechlearn.skips.match` hands to a matching: it predicts along the trajectories, compares and feeds back.

    Index conventions: n predictions stand at frames ``times[i]`` of trajectories ``rows[i]``, both counted from 0.

    Args:
        dynamics: model, loss and what belongs to them.
        trajectories: the batch.
        teacher_forcing: epsilon, the probability of a true frame as the next input.
        generator: of random numbers, where any are needed.
        keep_predictions: whether the result holds the predictions.

    Raises:
        TypeError: what is no `Dynamics` or no `Trajectories`.
        ValueError: a probability outside [0, 1], or trajectories that the dynamics do not fit.
    """

    dynamics: Dynamics
    trajectories: Trajectories
    teacher_forcing: float = 1.0
    generator: Generator | Sequence[Generator] | None = None
    keep_predictions: bool = False

    def __post_init__(self) -> None:
        check_flag("keep_predictions", self.keep_predictions)
        check_kinds(self.dynamics, self.trajectories)
        check_share("teacher_forcing", self.teacher_forcing, why="it is a probability", way_out="Check its schedule.")
        object.__setattr__(self, "dynamics", fitted(self.dynamics, self.trajectories))

    @cached_property
    def targets(self) -> Trajectories:
        """What predictions are compared with: the trajectories, unless the dynamics say otherwise."""
        return self.trajectories if self.dynamics.targets is None else self.dynamics.targets

    @cached_property
    def lengths(self) -> list[int]:
        """How many frames each trajectory has."""
        return self.trajectories.lengths.tolist()

    @cached_property
    def layout(self) -> Layout:
        """How predictions lie in one tensor with cumulants and state, where the dynamics have such."""
        cumulants, state = self.dynamics.cumulants, self.dynamics.state
        return Layout(0 if cumulants is None else cumulants.width, None if state is None else tuple(state.initial.shape))

    def reached(self, rows: Sequence[int], times: Sequence[int]) -> list[int]:
        """Return how many frames each trajectory has up to the end of what runs: of its option, or of itself."""
        if self._ends is None:
            return [self.lengths[b] for b in rows]
        return [self._ends[b][time] + 1 for b, time in zip(rows, times, strict=True)]

    @cached_property
    def _ends(self) -> list[list[int]] | None:
        context = self.dynamics.context
        return context.ends(self.lengths) if isinstance(context, Options) else None

    def steps(self) -> Steps:
        """Return the steps of this batch, none so far."""
        return Steps(self.lengths, self.keep_predictions, self.layout, self.dynamics.cumulants)

    def started(self, rows: Sequence[int], found: Steps) -> tuple[Tensor, list[int]]:
        """Return the inputs of the first step and the frames that they stand at: behind those that a memory is shown.

        Args:
            rows: of all trajectories.
            found: where evaluations are counted.
        """
        memory = self.dynamics.state
        if memory is None:
            return self.trajectories.at(rows, [0] * len(rows)), [0] * len(rows)
        inputs = self._beside(self.trajectories.at(rows, [0] * len(rows)), None)
        for time in range(memory.frames - 1):
            shown = self.predict(inputs, rows, [time] * len(rows))
            inputs = self._beside(self.trajectories.at(rows, [time + 1] * len(rows)), shown)
            found.evaluations += len(rows)
        return inputs, [memory.frames - 1] * len(rows)

    def predict(self, inputs: Tensor, rows: Sequence[int], times: Sequence[int]) -> Tensor:
        """Return the model's predictions from inputs that stand at the given frames, as rows of `layout`.

        A model may work in place: inputs that are a view of the trajectories are copied before. Or it may return the same
        memory each time, as a layer that writes `out=` does where no gradient is kept: what it returns is copied, too.

        Raises:
            TypeError: the model returned no tensor of floats, or not as many as its dynamics have.
            ValueError: cumulants or a state of another shape.
        """
        if inputs.untyped_storage().data_ptr() == self.trajectories.frames.untyped_storage().data_ptr():
            inputs = inputs.clone()
        frames, state = self.layout.split(inputs, self.trajectories.frame_shape)
        made = self.layout.row(self.dynamics.outcome(frames, self.dynamics.given(rows, times, inputs.device), state))
        return made if made.requires_grad or not self.layout.plain else made.clone()

    def compared(self, prediction: Tensor, count: int) -> Float[Tensor, "n *y"]:
        """Return what the loss sees of `count` predictions.

        Raises:
            TypeError: a wider type than that of the frames.
            ValueError: another shape than the loss expects, or logits where it compares probabilities.
        """
        prediction, compare = self.layout.prediction(prediction), self.dynamics.compare
        seen = prediction if compare is None else compare(prediction.clone())  # an encoder may work in place, as a model may
        if compare is not None and isinstance(seen, Tensor) and not seen.requires_grad:  # pyright: ignore[reportUnnecessaryIsInstance]
            seen = seen.clone()
        expected = (count, *prediction_shape(self.dynamics.loss, self.targets.frame_shape))
        if tuple(seen.shape) != expected:
            what = "The model" if compare is None else "`compare`"
            raise ValueError(
                f"{what} should return a prediction of the shape that the loss compares with a frame, {expected} for {count} "
                f"frames of shape {self.targets.frame_shape}. Found {tuple(seen.shape)}."
            )
        dtype = self.targets.value_dtype
        self._check_values(seen, dtype)
        return seen if seen.dtype == dtype else seen.to(dtype)  # under autocast predictions are shorter than frames

    def losses(self, seen: Float[Tensor, "n *y"], rows: Sequence[int], frames: Sequence[int]) -> Float[Tensor, " n"]:
        """Return the loss of each prediction against the frame that it is matched with."""
        return evaluated(self.dynamics.loss, seen, self.targets.at(rows, frames))

    @property
    def samples(self) -> bool:
        """Whether feedback is sampled, so that every trajectory needs a stream of noise."""
        return isinstance(self.dynamics.feedback, Sampled) and self.teacher_forcing < 1

    def fed(self, prediction: Tensor, streams: Sequence[Generator | None] | None = None) -> Float[Tensor, "n *frame"]:
        """Return predictions as the model's next inputs: copies, for a model that works in place changes what it is fed.

        Raises:
            ValueError: another shape than a frame's.
        """
        prediction = self.layout.prediction(prediction)
        return self.dynamics.fed(prediction.clone(), self.trajectories.frame_shape, streams).to(self.trajectories.value_dtype)

    def inputs(self, frames: Float[Tensor, "n *frame"], prediction: Tensor) -> Tensor:
        """Return the next inputs: frames, true or fed, with the state that came with each one's prediction."""
        return self.layout.with_state(frames, prediction)

    def _beside(self, frames: Tensor, shown: Tensor | None) -> Tensor:
        memory = self.dynamics.state
        initial = None if memory is None or shown is not None else memory.started(len(frames), frames.device)
        return self.layout.with_state(frames, shown, initial)

    def _check_values(self, seen: Tensor, dtype: torch.dtype) -> None:
        """Reject predictions that would be rounded to the frames' type, and logits where probabilities are compared."""
        if torch.finfo(seen.dtype).bits > torch.finfo(dtype).bits:
            raise TypeError(
                f"A prediction should be no wider than the frames that it is compared with. Found {seen.dtype} for frames of "
                f"{dtype}. Convert the frames with trajectories.to(dtype={seen.dtype}), or the prediction."
            )
        if isinstance(self.dynamics.loss, BinaryCrossEntropy):
            low, high = (float(end) for end in seen.detach().aminmax())
            if low < -_ROUNDING or high > 1 + _ROUNDING:
                raise ValueError(
                    f"BinaryCrossEntropy compares probabilities, in [0, 1]. Found predictions of {low:g} to {high:g}, as "
                    "logits are. Take BinaryCrossEntropyWithLogits, or end the model with a sigmoid."
                )
