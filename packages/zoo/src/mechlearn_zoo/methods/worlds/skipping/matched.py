"""M along trajectories, each prediction matched with a coming latent: likelihood, jumps and rewards.

Index conventions: b a trajectory, t a frame, u a step of M, n some steps of some trajectories, l a dimension of the latent, k a
jump of 1..H.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from mechlearn.arguments import check_each, check_floats, check_ids, check_kind, check_numbers, check_shape
from mechlearn.skips import Actions, Chosen, Dynamics, Fixed, Greedy, Matched, Matching, Predictor, Steps
from mechlearn.skips.matched import Average
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.methods.worlds.skipping.likelihood import MixtureNLL
from mechlearn_zoo.methods.worlds.skipping.memory import SkippingRNN
from mechlearn_zoo.nn.recurrent import Recurrent


class Skipped(NamedTuple):
    """A batch of trajectories with M's predictions matched.

    Attributes:
        loss: the one number to differentiate: the likelihood's loss, plus the jumps' and the rewards', all averaged alike.
        matched: the likelihood's part, as `mechlearn.skips.match` gives it, with the predictions (b, u, 3, l, K).
        jumps: (b, u) cross-entropies of the matched jumps, 0 behind a trajectory's last step; detached.
        rewards: (b, u) squared errors of the summed rewards, likewise; None where M does not predict them.
    """

    loss: Float[Tensor, ""]
    matched: Matched
    jumps: Float[Tensor, "b u"]
    rewards: Float[Tensor, "b u"] | None


def skipped_nll(
    memory: SkippingRNN,
    trajectories: Trajectories,
    actions: Actions,
    matching: Matching,
    *,
    rewards: Float[Tensor, "b t"] | None = None,
    teacher_forcing: float = 1.0,
    generator: Generator | Sequence[Generator] | None = None,
    average: Average = "trajectories",
) -> Skipped:
    """Let M go along every trajectory of latents, match each prediction with a coming one, and return the losses.

    Which frame is matched depends on the likelihoods alone; gradients flow through the matched ones and through M's state. With
    ``Fixed(dt)``, or ``Greedy(1)``, and true frames fed, the path is known beforehand and M reads it in one call.

    Args:
        memory: M.
        trajectories: of latents (b, t, l), whitened.
        actions: taken at each frame; M sees those of a window, flattened.
        matching: one that goes step by step, such as ``Greedy(H, exploration, ties="last")`` or ``Fixed(dt)``.
        rewards: (b, t) received at each frame, on the way to the next; needed where M predicts them.
        teacher_forcing: the probability that M is fed the matched true latent, not the mean of what it predicted.
        generator: of random numbers, as `mechlearn.skips.match` takes it.
        average: "trajectories" or "steps".

    Raises:
        TypeError: arguments of another kind, or a matching that does not go step by step.
        ValueError: latents or actions of another width, jumps beyond M's horizon, rewards of another shape, or one of rewards
            and their prediction without the other.
    """
    check_kind("memory", memory, SkippingRNN, "a SkippingRNN")
    check_kind("actions", actions, Actions, "mechlearn.skips.Actions", way_out="Actions(values, window=...) takes (b, t, a).")
    check_kind("trajectories", trajectories, Trajectories, "mechlearn.trajectories.Trajectories, of latents")
    check_kind("matching", matching, Matching, "Greedy(...) or Fixed(...) of mechlearn.skips")
    _check_widths(memory, trajectories, actions)
    _check_rewards(memory, trajectories, rewards)
    loss = MixtureNLL(memory.mixtures, memory.head.least_log_scale)
    dynamics = Dynamics(memory, loss, actions)
    remembering = _Remembering(dynamics, trajectories, teacher_forcing, generator, keep_predictions=True, memory=memory)
    step = _known_step(matching) if teacher_forcing == 1 else None
    steps = matching.along(remembering) if step is None else remembering.straight(step)
    return _added(memory, steps.matched(average), remembering, rewards, average)


class _Trace(NamedTuple):
    """What M showed at n steps: hidden units (n, hidden), of which trajectories, at which of their steps."""

    shown: Tensor
    rows: list[int]
    steps: list[int]


@dataclass(frozen=True, eq=False)
class _Remembering(Predictor):
    """M along trajectories: its state follows each one, and what it shows is kept for jumps and rewards."""

    memory: SkippingRNN = field(kw_only=True)
    traces: list[_Trace] = field(default_factory=list[_Trace], kw_only=True)
    kept: list[Recurrent] = field(default_factory=list[Recurrent], kw_only=True)
    """M's state after the latest step, alone in a list."""

    def predict(self, inputs: Float[Tensor, "n l"], rows: Sequence[int], times: Sequence[int]) -> Tensor:
        """Return mixtures (n, 3, l, K) after one more frame of each of some trajectories."""
        before = self._state(list(rows), times)
        predicted = self.memory.step(inputs, self._actions(rows, times, inputs), before)
        self.traces.append(_Trace(predicted.state.shown, list(rows), [len(self.traces)] * len(rows)))
        self.kept[:] = [predicted.state]
        return torch.stack(predicted.mixture, 1)

    def straight(self, dt: int) -> Steps:
        """Return the steps of a path that is known: M reads all its frames in one call."""
        paths = [list(range(0, length - 1, dt)) for length in self.lengths]
        most = max(len(path) for path in paths)
        rows = [b for b, path in enumerate(paths) for _ in path]
        us = [u for path in paths for u in range(len(path))]
        times = [t for path in paths for t in path]
        padded = [t for path in paths for t in path + [0] * (most - len(path))]  # what is behind a path's end is not looked at
        every = [b for b in range(len(paths)) for _ in range(most)]
        inputs = self.trajectories.at(every, padded)
        read = torch.cat((inputs, self._actions(every, padded, inputs)), -1).unflatten(0, (len(paths), most))
        shown = self.memory.layer(read)[0]
        # As `MixtureRNN.forward` computes them, and chosen afterwards: a product of another shape may round otherwise.
        mixtures = torch.stack([part[rows, us] for part in self.memory.head(shown)], 1)
        self.traces.append(_Trace(shown[rows, us], rows, us))
        frames = [min(t + dt, self.lengths[b] - 1) for b, t in zip(rows, times, strict=True)]
        found = self.steps()
        found.add(rows, us, times, Chosen(frames), self.losses(self.compared(mixtures, len(rows)), rows, frames), mixtures)
        found.evaluations += len(rows)
        return found

    def _state(self, rows: list[int], times: Sequence[int]) -> Recurrent:
        """Return M's state before a step of some trajectories, each once."""
        before = self.traces[-1].rows if self.traces else list(range(len(self.lengths)))
        place = {b: i for i, b in enumerate(before)}
        if len(set(rows)) < len(rows) or not set(rows) <= set(before) or (not self.traces and any(times)):
            raise TypeError(
                "`matching` should go along each trajectory step by step, as M's state does. Found one that predicts from "
                "several frames at once. Take Greedy(...) or Fixed(...)."
            )
        if not self.kept:
            return self.memory.at_rest(len(rows))
        if rows == before:
            return self.kept[0]
        index = torch.tensor([place[b] for b in rows], device=self.kept[0].shown.device)
        return Recurrent(*(part[index] for part in self.kept[0]))

    def _actions(self, rows: Sequence[int], times: Sequence[int], like: Tensor) -> Tensor:
        given = self.dynamics.given(rows, times, like.device)
        if given is None:
            raise TypeError("M should be given actions. Found none.")
        return given.flatten(1).to(like.dtype)


def _known_step(matching: Matching) -> int | None:
    """Return the step of a matching whose path is known before anything is predicted."""
    if isinstance(matching, Fixed) and matching.last == "clamp":
        return matching.dt
    return 1 if isinstance(matching, Greedy) and matching.horizon == 1 and not matching.exploration else None


def _added(
    memory: SkippingRNN, matched: Matched, remembering: _Remembering, rewards: Tensor | None, average: Average
) -> Skipped:
    """Add what jumps and rewards cost to the likelihood's loss."""
    rows = [b for trace in remembering.traces for b in trace.rows]
    steps = [u for trace in remembering.traces for u in trace.steps]
    shown = torch.cat([trace.shown for trace in remembering.traces])
    skips = matched.skips[rows, steps]
    if int(skips.max()) > memory.horizon:
        raise ValueError(
            f"Jumps should be at most M's horizon, {memory.horizon}. Found {int(skips.max())}. Give M the matching's horizon."
        )
    extra = cross_entropy(memory.jumps(shown), skips.to(shown.device) - 1, reduction="none")
    jumps, errors = _table(extra, rows, steps, matched), None
    predicted = memory.rewarded(shown)
    if predicted is not None and rewards is not None:
        passed = passed_over(rewards, matched.matched[rows, steps] - skips, skips, rows)
        squared = (predicted - passed.to(predicted)).square()
        errors, extra = _table(squared, rows, steps, matched), extra + squared
    if average == "steps":
        more = extra.mean()
    else:
        at = torch.tensor(rows, device=extra.device)
        sums = extra.new_zeros(len(matched.steps)).index_add(0, at, extra)
        more = (sums / matched.steps.to(extra)).mean()
    return Skipped(matched.loss + more, matched, jumps, errors)


def passed_over(
    rewards: Float[Tensor, "b t"], begun: Int[Tensor, " n"], skips: Int[Tensor, " n"], rows: Sequence[int]
) -> Float[Tensor, " n"]:
    """Return the sum of the rewards at frames begun .. begun + skip - 1 of trajectories ``rows[i]``.

    Raises:
        TypeError: rewards that are no numbers, frames that are no whole ones.
        ValueError: other shapes, frames or trajectories that there are not. What the rewards are is not looked at: behind the
            frames that count they may be anything.
    """
    check_numbers("rewards", rewards)
    check_shape("rewards", rewards, "b", "t")
    check_ids("begun", begun, "n", count=rewards.shape[1])
    check_ids("skips", skips, len(begun))
    check_ids("begun + skips", begun + skips, "...", count=rewards.shape[1] + 1)
    check_each("rows", rows, int, "trajectories")
    check_ids("rows", torch.as_tensor(rows), len(begun), count=len(rewards), way_out="One trajectory for each jump.")
    floating = rewards.is_floating_point()
    # In float64: a difference of shorter sums loses rewards that are small beside them.
    sums = rewards.cumsum(1, dtype=torch.float64 if floating else torch.int64)
    before = torch.cat((sums.new_zeros(len(rewards), 1), sums), 1)
    at, first, end = (torch.as_tensor(one, device=before.device) for one in (rows, begun, begun + skips))
    passed = before[at, end] - before[at, first]
    return passed.to(rewards.dtype) if floating else passed


def _table(values: Tensor, rows: list[int], steps: list[int], matched: Matched) -> Tensor:
    """Return values, one for each step, as (b, u)."""
    table = values.new_zeros(matched.skips.shape, device="cpu")
    table[rows, steps] = values.detach().cpu()
    return table


def _check_widths(memory: SkippingRNN, trajectories: Trajectories, actions: Actions) -> None:
    if trajectories.frame_shape != (memory.latent,):
        raise ValueError(
            f"`trajectories` should be of latents ({memory.latent},), as M was made for. Found frames of shape "
            f"{trajectories.frame_shape}. mechlearn.skips.encoded makes latents of frames."
        )
    check_floats("trajectories", trajectories.frames, "...", like=memory.head.linear.weight)
    width = actions.values[0, 0].numel() * (actions.window or 1)
    if width != memory.action:
        raise ValueError(
            f"`actions` should be {memory.action} numbers at a frame, window included, as M was made for. Found {width}."
        )


def _check_rewards(memory: SkippingRNN, trajectories: Trajectories, rewards: Tensor | None) -> None:
    if (memory.reward is None) != (rewards is None):
        found = "no rewards" if rewards is None else "rewards, and M without them"
        raise ValueError(
            f"Rewards should be both predicted and given. Found {found}. Make M with rewards=True and pass `rewards`."
        )
    if rewards is not None:
        check_numbers("rewards", rewards)
        check_shape("rewards", rewards, len(trajectories), "t")
        most = int(trajectories.lengths.max()) - 1
        if rewards.shape[1] < most or not bool(rewards[:, :most].isfinite().all()):
            raise ValueError(
                f"`rewards` should be {most} finite numbers or more for each. Found {tuple(rewards.shape)}, or NaN."
            )
