"""`rollout_parts`: parts with clocks of their own, rolled out side by side and joined to frames again."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_floats, check_kind, check_one_of, check_whole
from mechlearn.skips.dynamics import Dynamics
from mechlearn.skips.parts.partition import Parts
from mechlearn.skips.sampling import Sampled
from mechlearn.trajectories import Trajectories

Between = Literal["linear", "hold"]
"""What a part is between two frames that were predicted of it: on the straight line, or as it was before."""


class RolledParts(NamedTuple):
    """What the models of parts predict from first frames on.

    Attributes:
        trajectories: joined, frame by frame, as many as were asked for.
        clocks: for each part and trajectory the times of its frames, in frames from 0 on.
        parts: for each part its frames at those times, the first given.
        evaluations: how many frames of parts the models were evaluated on.
    """

    trajectories: Trajectories
    clocks: dict[str, list[Float[Tensor, " times"]]]
    parts: dict[str, Trajectories]
    evaluations: int


class _Process:
    """One part on its way: its newest time and frame for each trajectory, those before, and all of them."""

    def __init__(self, first: Tensor) -> None:
        self.time = torch.zeros(len(first), dtype=torch.float64)
        self.frame = first.clone()
        self._before = self.time.clone(), self.frame.clone()
        self.times = [[0.0] for _ in first]
        self.frames = [[one] for one in first]

    def at(self, time: Tensor, rows: Tensor, between: Between) -> Tensor:
        """Return what it is, of some trajectories, at times between its newest two."""
        times, frames = torch.stack([self._before[0][rows], self.time[rows]]), (self._before[1][rows], self.frame[rows])
        return _between(time, times, frames, between)

    def moves(self, rows: Tensor, durations: Tensor, frames: Tensor) -> None:
        """Go on by one prediction in some trajectories."""
        for before, newest in zip(self._before, (self.time, self.frame), strict=True):
            before[rows] = newest[rows]
        self.time[rows] += durations
        self.frame[rows] = frames
        for b, time, frame in zip(rows.tolist(), self.time[rows].tolist(), frames, strict=True):
            self.times[b].append(time)
            self.frames[b].append(frame)

    def sampled(self, b: int, count: int, between: Between) -> Tensor:
        """Return a trajectory's part at times 0 .. count - 1."""
        times, frames = torch.tensor(self.times[b], dtype=torch.float64), torch.stack(self.frames[b])
        asked = torch.arange(count, dtype=torch.float64)
        after = torch.searchsorted(times, asked)
        before = (after - 1).clamp(min=0)
        return _between(asked, torch.stack([times[before], times[after]]), (frames[before], frames[after]), between)


@torch.no_grad()
def rollout_parts(
    parts: Parts, first: Float[Tensor, "batch elements *rest"], *, frames: int, between: Between = "linear"
) -> RolledParts:
    """Roll parts out side by side, the one whose clock is behind first, and join them frame by frame (ours).

    A part's model predicts its elements and, as `Cumulants.clock`, how many frames later that will be; what it predicts of
    that is taken to be one frame at least. The part whose clock is least predicts next, of equals the first; where parts see
    all, it is shown the others at its own time, which lies between the newest two frames of each of them. When all clocks have
    passed the last frame, each part is read at whole frames.

    Args:
        parts: dynamics with a clock, a static context or none, and no memory.
        first: the frames to start from.
        frames: how many to return, the first among them.
        between: what a part is between its frames; "hold" where they are no numbers of a line, such as pictures.

    Returns:
        Frames (batch, frames, *frame), and the roll-out of each part.

    Raises:
        TypeError: what are no parts, or no frames of floats.
        ValueError: parts that do not cover the frame, dynamics without a clock or with what is not rolled out here, or fewer
            than 2 frames; no first frames.
        FloatingPointError: a prediction that is not finite.
    """
    check_kind("parts", parts, Parts, "Parts({name: Part(elements, dynamics)})")
    check_floats("first", first, "...", "elements", way_out="Trajectories.first() gives first frames.")
    check_whole("frames", frames, 2)
    check_one_of("between", between, get_args(Between))
    parts.check_cover(first.shape[1:])
    for name, part in parts.parts.items():
        _check_dynamics(name, part.dynamics, len(first))
    processes, evaluations = {name: _Process(parts.own(name, first)) for name in parts.parts}, 0
    while True:
        clocks = torch.stack([each.time for each in processes.values()])
        least, behind = clocks.min(0)
        going = least < frames - 1
        if not going.any():
            break
        for i, name in enumerate(processes):
            rows = (going & (behind == i)).nonzero().flatten()
            if len(rows):
                _advance(parts, processes, name, rows, between)
                evaluations += len(rows)
    rows = range(len(first))
    joined = [parts.joined({name: each.sampled(b, frames, between) for name, each in processes.items()}) for b in rows]
    return RolledParts(
        Trajectories.from_list(joined),
        {name: [torch.tensor(times, dtype=torch.float64) for times in each.times] for name, each in processes.items()},
        {name: Trajectories.from_list(torch.stack(own) for own in each.frames) for name, each in processes.items()},
        evaluations,
    )


def _advance(parts: Parts, processes: dict[str, _Process], name: str, rows: Tensor, between: Between) -> None:
    """Let one part predict, in the trajectories where its clock is behind."""
    process, dynamics = processes[name], parts.parts[name].dynamics
    now = process.time[rows]
    if parts.sees == "all" and len(processes) > 1:
        values = {each: processes[each].at(now, rows, between) for each in processes}
        values[name] = process.frame[rows]
        given: Tensor | None = parts.others(name, parts.joined(values))
    else:
        given = dynamics.given(rows, torch.zeros_like(rows), process.frame.device)
    own = process.frame[rows]
    outcome = dynamics.outcome(own.clone(), given)
    made = dynamics.fed(outcome.prediction, own.shape[1:]).to(own.dtype)
    assert outcome.cumulants is not None  # checked before
    durations = outcome.cumulants[:, 0].cpu().double()
    if not (made.isfinite().all() and durations.isfinite().all()):
        raise FloatingPointError(
            f"Every prediction should be finite. Found one that is not in part {name!r}, trajectory {int(rows[0])} or another: "
            "the roll-out diverges. Train longer or with a lower learning rate, or ask for fewer frames."
        )
    process.moves(rows, durations.clamp(min=1.0), made)


def _between(
    time: Float[Tensor, " n"], times: Float[Tensor, "2 n"], frames: Sequence[Tensor], between: Between
) -> Float[Tensor, "n *frame"]:
    """Return what lies between two frames at a time between theirs."""
    before, after = frames
    share = torch.where(times[1] > times[0], (time - times[0]) / (times[1] - times[0]), 1.0)
    if between == "hold":
        share = (share >= 1).double()
    share = share.to(before.device, before.dtype).reshape(-1, *[1] * (before.dim() - 1))
    return torch.lerp(before, after, share.expand_as(before))


def _check_dynamics(name: str, dynamics: Dynamics, count: int) -> None:
    cumulants, context = dynamics.cumulants, dynamics.context
    if cumulants is None or cumulants.width != 1:
        raise ValueError(
            f"A part should predict how long it takes, by cumulants of 1 without a discount. Found none in {name!r}. Give its "
            "dynamics cumulants=Cumulants.clock(trajectories) in training, and Cumulants(None) here."
        )
    if dynamics.state is not None or isinstance(dynamics.feedback, Sampled):
        raise ValueError(
            f"Parts are rolled out without memories and without samples. Found one in {name!r}. Roll each out by itself with "
            "mechlearn.skips.rollout, and join what it makes."
        )
    if context is not None and (not isinstance(context, Tensor) or len(context) != count):
        raise ValueError(
            f"The context of a part should be static, one entry for each of {count} frames. Found another in {name!r}. Leave "
            "actions and options out, or give them as elements of the frame."
        )
