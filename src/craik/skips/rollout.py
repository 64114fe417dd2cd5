"""Rolling a trained model out: what it predicts from first frames on, until a rule stops it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Generator, Tensor

from craik.arguments import check_not_negative, check_whole
from craik.skips.contexts import Actions, Context
from craik.skips.dynamics import Dynamics, check_dynamics
from craik.skips.sampling import Sampled, generators_of, stream
from craik.trajectories import Trajectories

Stop = Callable[[Float[Tensor, "n *frame"]], Bool[Tensor, " n"]]
"""From the newest frames to True for each that ends its trajectory."""


Policy = Callable[[Float[Tensor, "n *frame"], Int[Tensor, " n"], int], Tensor]
"""From the newest frames, their positions in the batch and the step to what the model is given beside the frames."""


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
        first: the frames to start from.
        max_steps: how many times f is applied at most.
        stop: looks at the newest frames, (n, *frame), and says which end their trajectory; the first frames are not shown.
        fixed_point: stop where no number of a frame changes by more than this; None for never.
        policy: what the model sees beside frames, in the place of the dynamics' context: ``(frames, rows, step) -> (n,
            *context)``, called with the newest frames of the trajectories that still roll, their positions in the batch, and
            the step from 0.
        generator: of random numbers, on the CPU, where feedback is `Sampled`: one, or one for each trajectory.

    Raises:
        TypeError: what is no `Dynamics` or no tensor of frames, or dynamics with `Actions` and no policy.
        ValueError: max_steps below 1, a negative fixed point, first frames that are not finite floats, or a prediction of
            another shape than the frame's.
        FloatingPointError: a prediction that is not finite.
    """
    check_dynamics(dynamics)
    _check(first, max_steps, fixed_point)
    if policy is None:
        _check_context(dynamics.context, len(first))
    noise = _noise(dynamics, generator, len(first))
    frames = [[one] for one in first]
    stopped = torch.zeros(len(first), dtype=torch.bool)
    rows, newest, evaluations = torch.arange(len(first)), first, 0
    for step in range(max_steps):
        # Copies on both sides: a model may work in place on what it is given, or return the same memory each time.
        before, newest = newest, _predict(dynamics, newest.clone(), policy, rows, step, noise).clone()
        evaluations += len(rows)
        for b, one in zip(rows.tolist(), newest, strict=True):
            frames[b].append(one)
        ends = _ends(before, newest, stop, fixed_point)
        stopped[rows[ends]] = True
        rows, newest = rows[~ends], newest[(~ends).to(newest.device)]
        if len(rows) == 0:
            break
    return Rollout(Trajectories.from_list(torch.stack(each) for each in frames), stopped, evaluations)


def _noise(dynamics: Dynamics, generator: Generator | Sequence[Generator] | None, count: int) -> list[Generator] | None:
    """Return a stream of noise for each trajectory, where feedback samples."""
    if not isinstance(dynamics.feedback, Sampled):
        return None
    return [stream(each) for each in generators_of(generator, count)]


def _predict(
    dynamics: Dynamics, newest: Tensor, policy: Policy | None, rows: Tensor, step: int, noise: list[Generator] | None
) -> Tensor:
    times = torch.full_like(rows, step)
    given = dynamics.given(rows, times, newest.device) if policy is None else _chosen(policy(newest.clone(), rows, step))
    streams = noise and [noise[b] for b in rows.tolist()]
    found = dynamics.fed(dynamics.predict(newest, given), newest.shape[1:], streams).to(newest.dtype)
    _check_prediction(found, rows, step)
    return found


def _chosen(given: object) -> Tensor:
    """Return what a policy gives as a copy: a model may work in place on this, too."""
    if not isinstance(given, Tensor):
        raise TypeError(f"`policy` should return one tensor (n, *context). Found {type(given).__name__}.")
    return given.clone()


def _check_prediction(found: Tensor, rows: Tensor, step: int) -> None:
    if not found.isfinite().all():
        bad = int(found.isfinite().flatten(1).all(1).logical_not().nonzero()[0])
        raise FloatingPointError(
            f"Every prediction should be finite. Found one that is not in trajectory {int(rows[bad])}, frame {step + 1} (both "
            "counted from 0; frame 0 was given): the roll-out diverges. Train longer or with a lower learning rate, or end it "
            "before with `stop` or `max_steps`."
        )


def _ends(before: Tensor, newest: Tensor, stop: Stop | None, fixed_point: float | None) -> Tensor:
    """Say which of the newest frames end their trajectory, on the CPU."""
    ends = torch.zeros(len(newest), dtype=torch.bool)
    if stop is not None:
        found = stop(newest.clone())
        if found.shape != ends.shape or found.dtype != torch.bool:
            raise ValueError(f"`stop` should return one bool for each of {len(newest)} frames. Found {_kind(found)}.")
        ends |= found.cpu()
    if fixed_point is not None:
        ends |= ((newest - before).abs().flatten(1).amax(1) <= fixed_point).cpu()
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
    if not first.is_floating_point() or len(first) == 0:
        raise ValueError(
            f"`first` should be floats of shape (batch, *frame), at least one. Found {_kind(first)}. "
            "Trajectories.first() gives them."
        )
    if not first.isfinite().all():
        bad = int(first.isfinite().flatten(1).all(1).logical_not().nonzero()[0])
        raise ValueError(f"`first` should be finite. Found NaN or infinity in frame {bad} of the batch. Leave it out.")


def _check_context(context: Context | None, count: int) -> None:
    if isinstance(context, Tensor) and (context.dim() == 0 or len(context) != count):
        raise ValueError(f"`context` should hold one entry for each of {count} frames. Found {tuple(context.shape)}.")
    if isinstance(context, Actions):
        raise TypeError(
            "A roll-out does not know how many frames a prediction skipped, so actions come from a policy (frames, rows, step) "
            "-> (n, *context). Found Actions as the dynamics' context. Pass policy=... to `rollout`."
        )


def _kind(found: Tensor) -> str:
    return f"{found.dtype}, shape {tuple(found.shape)}"
