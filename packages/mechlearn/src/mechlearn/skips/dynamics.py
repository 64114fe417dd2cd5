"""`Dynamics`: a dynamics model with all that says what it predicts and what that is compared with."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import Choice
from mechlearn.functional import in_a_sentence
from mechlearn.losses import Loss, frame_of, largest_target
from mechlearn.skips.contexts import Context, fitting
from mechlearn.skips.sampling import Sampled
from mechlearn.skips.simulators.cumulants import Cumulants
from mechlearn.skips.simulators.memory import Memory
from mechlearn.skips.simulators.outcome import Outcome, taken_apart
from mechlearn.trajectories import Trajectories

Model = Callable[..., Tensor | tuple[Tensor, ...]]
"""A dynamics model: ``f(frames[, context][, state])`` from (n, *frame) to predictions of n frames, or to a tuple of these, of
the sums of cumulants over the skip and of the new state, of which there are as many as its dynamics have."""

_SLACK = 1 + 1e-6
"""For the rounding of a scale such as 1/255."""


@dataclass(frozen=True, eq=False)
class Dynamics(Choice):
    """A dynamics model f and its loss, with what the model sees beside frames and what its predictions stand for.

    Source: f and L of thesis section 2.2. A context and targets are those of one batch of trajectories.

    Args:
        model: f, from frames (n, *frame), and their context where there is one, to predictions of n frames. It should treat
            its examples one by one: BatchNorm in train mode makes results depend on the batch.
        loss: from predictions and frames to one value for each, see `mechlearn.losses`.
        context: what the model sees beside a frame: one tensor (batch, *context), static, `Actions` or `Options`.
        targets: what predictions are compared with, frame by frame, in the place of the trajectories' own frames: latents,
            for instance (see `encoded`).
        compare: applied to predictions before they are compared: an encoder, where f predicts frames that are compared in
            latent space.
        feedback: what turns a prediction into the next input. None: the loss's method `frame`, such as the sigmoid of logits,
            or nothing where it has none. `Sampled` draws it at random.
        cumulants: what the model predicts the sum of over its skips, such as rewards; of one batch, as a context is.
        state: what the model keeps from one step to the next, and how many first frames it is shown.

    Raises:
        TypeError: a model, loss, `compare` or `feedback` that cannot be called, or anything else of another kind.

    Example:
        >>> import torch
        >>> from mechlearn.losses import SquaredError
        >>> from mechlearn.skips import Dynamics, Fixed, match
        >>> from mechlearn.trajectories import Trajectories
        >>> dynamics = Dynamics(torch.nn.Linear(3, 3), SquaredError())
        >>> trajectories = Trajectories(torch.zeros(2, 9, 3), torch.tensor([9, 5]))
        >>> match(dynamics, trajectories, Fixed(dt=4)).steps.tolist()
        [2, 1]
    """

    model: Model
    loss: Loss
    context: Context | None = None
    _: KW_ONLY
    targets: Trajectories | None = None
    compare: Callable[[Tensor], Tensor] | None = None
    feedback: Callable[[Tensor], Tensor] | Sampled | None = None
    cumulants: Cumulants | None = None
    state: Memory | None = None

    def __post_init__(self) -> None:
        for name in ("model", "loss", "compare", "feedback"):
            found = getattr(self, name)
            sampled = name == "feedback" and isinstance(found, Sampled)
            absent = found is None and name in ("compare", "feedback")
            if isinstance(found, type) or not (callable(found) or sampled or absent):
                what = f"the class {found.__name__} itself" if isinstance(found, type) else type(found).__name__
                raise TypeError(f"`{name}` should be a function of tensors. Found {what}.")
        _check_context_kinds(self.context, self.targets)
        _check_simulator_kinds(self.cumulants, self.state)

    def given(self, rows: Sequence[int] | Tensor, times: Sequence[int] | Tensor, device: torch.device) -> Tensor | None:
        """Return what the model sees beside frame ``times[i]`` of trajectory ``rows[i]``; None where there is no context."""
        if self.context is None:
            return None
        b, t = (torch.as_tensor(index, device=device) for index in (rows, times))
        return self.context[b] if isinstance(self.context, Tensor) else self.context.at(b, t)

    def outcome(self, inputs: Float[Tensor, "n *frame"], given: Tensor | None, state: Tensor | None = None) -> Outcome:
        """Return what the model makes of frames, of what is given beside them and of its state; as many as there are.

        Raises:
            TypeError: the model returned no tensor of floats, or not as many as its dynamics have.
            ValueError: cumulants or a state of another shape.
        """
        with in_a_sentence():
            returned = self.model(*(each for each in (inputs, given, state) if each is not None))
        return taken_apart(returned, self.cumulants, state)

    def fed(
        self, prediction: Tensor, frame_shape: Sequence[int], streams: Sequence[Generator | None] | None = None
    ) -> Float[Tensor, "n *frame"]:
        """Return predictions as the model's next inputs, with the noise of a stream for each where feedback samples.

        Raises:
            TypeError: feedback that samples, and no streams.
            ValueError: another shape than a frame's.
        """
        if isinstance(self.feedback, Sampled):
            if streams is None:
                raise TypeError(
                    "Feedback that samples should be given a stream of noise for each prediction. Found none. Go on by "
                    "mechlearn.skips.follow, or pass `streams`."
                )
            frame = self.feedback.drawn(prediction, frame_shape, streams)
        else:
            frame = self._frame(prediction)
        expected = (len(prediction), *frame_shape)
        if tuple(frame.shape) != expected:
            raise ValueError(
                f"A prediction should have the shape of a frame to be fed back, {expected}. Found {tuple(frame.shape)}. Give "
                "`Dynamics` a feedback=... that turns the model's output into its input, or match with teacher_forcing=1."
            )
        return frame

    @cached_property
    def _frame(self) -> Callable[[Tensor], Tensor]:
        return frame_of(self.loss) if self.feedback is None or isinstance(self.feedback, Sampled) else self.feedback


def _check_context_kinds(context: object, targets: object) -> None:
    if not isinstance(context, Context | None):
        raise TypeError(
            f"`context` should be a tensor (batch, *context), Actions(...) or Options(...). Found {type(context).__name__}. "
            "A function that gives it step by step is a roll-out's: rollout(..., policy=...)."
        )
    if not isinstance(targets, Trajectories | None):
        raise TypeError(
            f"`targets` should be Trajectories. Found {type(targets).__name__}. mechlearn.skips.encoded makes them."
        )


def _check_simulator_kinds(cumulants: object, state: object) -> None:
    if not isinstance(cumulants, Cumulants | None):
        raise TypeError(f"`cumulants` should be Cumulants(values). Found {type(cumulants).__name__}.")
    if not isinstance(state, Memory | None):
        raise TypeError(f"`state` should be Memory(initial). Found {type(state).__name__}.")


def check_kinds(dynamics: object, trajectories: object) -> None:
    """Reject anything but a dynamics and trajectories."""
    check_dynamics(dynamics)
    if not isinstance(trajectories, Trajectories):
        raise TypeError(
            f"`trajectories` should be Trajectories. Found {type(trajectories).__name__}. A padded tensor "
            "(batch, time, *frame) becomes such by Trajectories(frames, lengths), a list by Trajectories.from_list."
        )


def check_dynamics(dynamics: object) -> None:
    """Reject anything but a dynamics, such as a bare model.

    Raises:
        TypeError: that.
    """
    if not isinstance(dynamics, Dynamics):
        raise TypeError(
            f"`dynamics` should be skips.Dynamics. Found {type(dynamics).__name__}. Dynamics(model, loss) says what a "
            "model's predictions are compared by, and how they are fed back."
        )


def fitted(dynamics: Dynamics, trajectories: Trajectories) -> Dynamics:
    """Return dynamics whose context, targets and loss fit the trajectories; actions know which are each one's own.

    Raises:
        ValueError: a trajectory without a transition, targets, cumulants or a context of another batch, or whole numbers above
            what the loss allows, such as bytes without a scale under a loss of numbers in [0, 1].
    """
    _check_transitions(trajectories)
    if dynamics.state is not None:
        dynamics.state.check(trajectories)
    if dynamics.cumulants is not None:
        dynamics.cumulants.check(trajectories)
    context = fitting(dynamics.context, trajectories)
    targets = dynamics.targets
    if targets is not None and not torch.equal(targets.lengths, trajectories.lengths):
        raise ValueError(
            f"`targets` should have the trajectories' lengths, {trajectories.lengths.tolist()}. "
            f"Found {targets.lengths.tolist()}. Make them frame by frame, for example with mechlearn.skips.encoded."
        )
    _check_scale(trajectories if targets is None else targets, dynamics.loss)
    return dynamics if context is dynamics.context else replace(dynamics, context=context)


def _check_transitions(trajectories: Trajectories) -> None:
    short = (trajectories.lengths < 2).nonzero().flatten().tolist()
    if short:
        raise ValueError(
            "Every trajectory should have at least 2 frames, one to predict from and one to match. Found 1 frame in trajectory "
            f"{short[0]}{f' and {len(short) - 1} more' if len(short) > 1 else ''}. Leave such trajectories out."
        )


def _check_scale(targets: Trajectories, loss: Loss) -> None:
    """Reject numbers out of a loss's range: someone has forgotten that images in bytes have a scale."""
    limit = largest_target(loss)
    if limit is None:
        return
    least: float = getattr(loss, "smallest_target", 0.0)
    low, high = least - (_SLACK - 1) * limit, limit * _SLACK
    if targets.low * targets.scale >= low and targets.peak * targets.scale <= high:
        return
    for own in targets:  # those were bounds: of bytes, of padding, of trajectories that are not in this batch
        ends = own.detach().aminmax()
        above = float(ends.max) * targets.scale > high
        if above or float(ends.min) * targets.scale < low:
            rule, found = (f"at most {limit:g}", ends.max) if above else (f"at least {least:g}", ends.min)
            raise ValueError(
                f"{type(loss).__name__} compares with frames of {rule}. Found {found.item():g} stored in {targets.dtype} with "
                f"scale={targets.scale:g}. Give the trajectories a scale, 1/255 for images of 0 to 255, or shift them; or take "
                "a loss of any numbers, such as SquaredError."
            )
