"""Rolling a trained model out: what it predicts from first frames on, until a rule stops it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Generator, Tensor

from mechlearn.arguments import FLOATS, check_callable, check_data, check_not_negative, check_whole
from mechlearn.skips.contexts import Actions, Context
from mechlearn.skips.dynamics import Dynamics, check_dynamics
from mechlearn.skips.sampling import Sampled, generators_of, stream
from mechlearn.skips.simulators.cumulants import Cumulants, Gained
from mechlearn.skips.simulators.options import Options
from mechlearn.skips.simulators.outcome import Outcome
from mechlearn.trajectories import Trajectories

Stop = Callable[[Float[Tensor, "n *frame"]], Bool[Tensor, " n"]]
"""From the newest frames to True for each that ends its trajectory."""


Policy = Callable[[Float[Tensor, "n *frame"], Int[Tensor, " n"], int], Tensor]
"""From the newest frames, their positions in the batch and the step to what the model is given beside the frames."""


class Rollout(NamedTuple):
    """What a model predicts from first frames on.

    Attributes:
        trajectories: the first frames and the predictions after them; the frame that stopped a trajectory is its last.
        stopped: (batch,) True where a stopping rule ended the trajectory, False where `max_steps` did.
        evaluations: how many frames the model was evaluated on, over the whole batch.
        gained: the predicted cumulants, added up; None without `Cumulants`.
        given: how many frames of each trajectory were given and not predicted: more than one where a memory is shown as many.
    """

    trajectories: Trajectories
    stopped: Bool[Tensor, " batch"]
    evaluations: int
    gained: Gained | None = None
    given: int = 1


@torch.no_grad()
def rollout(
    dynamics: Dynamics,
    first: Shaped[Tensor, "batch *frame"],
    *,
    max_steps: int,
    stop: Stop | None = None,
    fixed_point: float | None = None,
    policy: Policy | None = None,
    generator: Generator | Sequence[Generator] | None = None,
) -> Rollout:
    """Apply a model to its own predictions, without a graph; trajectories that have stopped cost nothing more.

    Source: thesis section 2.2, where f unfolds the dynamics at test time and a label is read from its frames.

    A model knows no transition beyond the last frame of its training data, so a roll-out should stop where one of these
    would: give `stop`, or `fixed_point` where the worlds come to rest.

    Args:
        dynamics: the model; what turns its predictions into frames, `feedback` or the loss's method `frame`; and a static
            context, where there is one. Targets have no part in it.
        first: the frames to start from; (batch, k, *frame) where the dynamics have a memory that is shown k > 1 of them.
        max_steps: how many times f is applied at most.
        stop: looks at the newest frames, (n, *frame), and says which end their trajectory; the first frames are not shown.
        fixed_point: stop where no number of a frame changes by more than this; None for never.
        policy: what the model sees beside frames, in the place of the dynamics' context: ``(frames, rows, step) -> (n,
            *context)``, called with the newest frames of the trajectories that still roll, their positions in the batch, and
            the step from 0; first frames that a memory is shown have steps below 0.
        generator: of random numbers, on the CPU, where feedback is `Sampled`: one, or one for each trajectory.

    Returns:
        The predicted frames of each trajectory, with how many there are, see `Rollout`.

    Raises:
        TypeError: what is no `Dynamics` or no tensor of frames, what else than a tensor `stop` returns, or dynamics with
            `Actions` and no policy.
        ValueError: max_steps below 1, a negative fixed point, first frames that are not finite floats, or not as many as a
            memory is shown, or a prediction of another shape than the frame's.
        FloatingPointError: a prediction that is not finite.
    """
    for name, function in (("stop", stop), ("policy", policy)):
        if function is not None:
            check_callable(name, function, "a function of frames, or None")
    check_dynamics(dynamics)
    _check(first, max_steps, fixed_point)
    if policy is None:
        _check_context(dynamics.context, len(first))
    roller = _Roller(dynamics, policy, _noise(dynamics, generator, len(first)))
    given, newest, state, evaluations = _shown(roller, first)
    stopped, counted = torch.zeros(len(first), dtype=torch.bool), _Counted(dynamics.cumulants, len(first))
    rows, made = torch.arange(len(first)), list[tuple[Tensor, Tensor]]()
    for step in range(max_steps):
        # Copies on both sides: a model may work in place on what it is given, or return the same memory each time.
        outcome = roller.outcome(newest.clone(), rows, step, state)
        before, newest = newest, roller.fed(outcome, newest, rows).clone()
        _check_prediction(newest, rows, step + given.shape[1])
        evaluations += len(rows)
        counted.add(rows, outcome)
        made.append((rows, newest))
        ends = _ends(before, newest, stop, fixed_point)
        stopped[rows[ends]] = True
        goes = (~ends).to(newest.device)
        rows, newest, state = rows[~ends], newest[goes], None if outcome.state is None else outcome.state[goes].clone()
        if len(rows) == 0:
            break
    return Rollout(_together(given, made), stopped, evaluations, counted.gained(), given.shape[1])


class _Roller(NamedTuple):
    """What predicts at each step, with what stands beside frames and the noise of each trajectory."""

    dynamics: Dynamics
    policy: Policy | None
    noise: list[Generator] | None

    def outcome(self, newest: Tensor, rows: Tensor, step: int, state: Tensor | None) -> Outcome:
        times = torch.full_like(rows, max(step, 0))
        policy = self.policy
        given = (
            self.dynamics.given(rows, times, newest.device) if policy is None else _chosen(policy(newest.clone(), rows, step))
        )
        return self.dynamics.outcome(newest, given, state)

    def fed(self, outcome: Outcome, newest: Tensor, rows: Tensor) -> Tensor:
        streams = self.noise and [self.noise[b] for b in rows.tolist()]
        return self.dynamics.fed(outcome.prediction, newest.shape[1:], streams).to(newest.dtype)


class _Counted:
    """What roll-outs have gained, step by step."""

    def __init__(self, cumulants: Cumulants | None, count: int) -> None:
        self._cumulants, self._all = cumulants, list[Tensor]()
        self._now = torch.stack([torch.zeros(count, dtype=torch.float64), torch.ones(count, dtype=torch.float64)])

    def add(self, rows: Tensor, outcome: Outcome) -> None:
        if self._cumulants is not None and outcome.cumulants is not None:
            self._now = self._now.clone()
            self._now[:, rows] = self._cumulants.added(self._now[:, rows], outcome.cumulants.cpu().double())
            self._all.append(self._now)

    def gained(self) -> Gained | None:
        return Gained(*torch.stack(self._all, dim=2)) if self._all else None


def _together(given: Tensor, made: list[tuple[Tensor, Tensor]]) -> Trajectories:
    """Put the frames of each step behind those that were given; a trajectory is in all steps until it stops."""
    batch, count = given.shape[:2]
    frames = given.new_zeros(batch, count + len(made), *given.shape[2:])
    lengths = torch.full((batch,), count)
    frames[:, :count] = given
    for place, (rows, newest) in enumerate(made, start=count):
        frames[slice(None) if len(rows) == batch else rows.to(frames.device), place] = newest
        lengths[rows] += 1
    return Trajectories(frames, lengths)


def _shown(roller: _Roller, first: Tensor) -> tuple[Tensor, Tensor, Tensor | None, int]:
    """Show a model with a memory its first frames; return (batch, k, *frame) of them, the newest, the state, the cost."""
    memory = roller.dynamics.state
    if memory is None:
        return first.unsqueeze(1), first, None, 0
    given = first.unsqueeze(1) if memory.frames == 1 else first
    if memory.frames > 1 and (first.dim() < 2 or first.shape[1] != memory.frames):
        raise ValueError(
            f"`first` should be the {memory.frames} frames that the model's memory is shown, (batch, {memory.frames}, *frame). "
            f"Found {tuple(first.shape)}. trajectories.values()[:, :{memory.frames}] gives them."
        )
    rows, state = torch.arange(len(first)), memory.started(len(first), first.device)
    for time in range(memory.frames - 1):
        found = roller.outcome(given[:, time].clone(), rows, time + 1 - memory.frames, state).state
        state = state if found is None else found.clone()
    return given, given[:, -1], state, len(first) * (memory.frames - 1)


def _noise(dynamics: Dynamics, generator: Generator | Sequence[Generator] | None, count: int) -> list[Generator] | None:
    """Return a stream of noise for each trajectory, where feedback samples."""
    if not isinstance(dynamics.feedback, Sampled):
        return None
    return [stream(each) for each in generators_of(generator, count)]


def _chosen(given: object) -> Tensor:
    """Return what a policy gives as a copy: a model may work in place on this, too."""
    if not isinstance(given, Tensor):
        raise TypeError(f"`policy` should return one tensor (n, *context). Found {type(given).__name__}.")
    return given.clone()


def _check_prediction(found: Tensor, rows: Tensor, frame: int) -> None:
    if not found.isfinite().all():
        bad = int(found.isfinite().reshape(len(found), -1).all(1).logical_not().nonzero()[0])
        raise FloatingPointError(
            f"Every prediction should be finite. Found one that is not in trajectory {int(rows[bad])}, frame {frame} (both "
            "counted from 0; frame 0 was given): the roll-out diverges. Train longer or with a lower learning rate, or end it "
            "before with `stop` or `max_steps`."
        )


def _ends(before: Tensor, newest: Tensor, stop: Stop | None, fixed_point: float | None) -> Tensor:
    """Say which of the newest frames end their trajectory, on the CPU."""
    ends = torch.zeros(len(newest), dtype=torch.bool)
    if stop is not None:
        found = stop(newest.clone())
        if not isinstance(found, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance] # a user's function
            raise TypeError(f"`stop` should return a tensor, one bool for each frame. Found {type(found).__name__}.")
        if found.shape != ends.shape or found.dtype != torch.bool:
            raise ValueError(f"`stop` should return one bool for each of {len(newest)} frames. Found {_kind(found)}.")
        ends |= found.cpu()
    if fixed_point is not None:
        ends |= ((newest - before).abs().reshape(len(newest), -1).amax(1) <= fixed_point).cpu()
    return ends


def _check(first: object, max_steps: int, fixed_point: float | None) -> None:
    check_whole("max_steps", max_steps, 1)
    if fixed_point is not None:
        check_not_negative("fixed_point", fixed_point, way_out="None for never.")
    if not isinstance(first, Tensor):
        raise TypeError(
            f"`first` should be a tensor of first frames, (batch, *frame). Found {type(first).__name__}. Trajectories.first() "
            "gives them."
        )
    check_data("first", first)
    if first.dtype not in FLOATS or first.dim() == 0 or first.numel() == 0:
        raise ValueError(
            f"`first` should be floats of shape (batch, *frame), at least one. Found {_kind(first)}. "
            "Trajectories.first() gives them."
        )
    if not first.isfinite().all():
        bad = int(first.isfinite().reshape(len(first), -1).all(1).logical_not().nonzero()[0])
        raise ValueError(f"`first` should be finite. Found NaN or infinity in frame {bad} of the batch. Leave it out.")


def _check_context(context: Context | None, count: int) -> None:
    if isinstance(context, Tensor) and (context.dim() == 0 or len(context) != count):
        raise ValueError(f"`context` should hold one entry for each of {count} frames. Found {tuple(context.shape)}.")
    if isinstance(context, Options):
        raise TypeError(
            "A roll-out does not know which option would be chosen. Found Options as the dynamics' context. Give the option "
            "that runs as a static context, ids (batch,), with `stop` where it ends; or pass policy=... to `rollout`."
        )
    if isinstance(context, Actions):
        raise TypeError(
            "A roll-out does not know how many frames a prediction skipped, so actions come from a policy (frames, rows, step) "
            "-> (n, *context). Found Actions as the dynamics' context. Pass policy=... to `rollout`."
        )


def _kind(found: Tensor) -> str:
    return f"{found.dtype}, shape {tuple(found.shape)}"
