"""Soft alignments: the least loss over a window, or over all paths, replaced by its soft minimum.

softmin_tau(x) = -tau log sum_i exp(-x_i / tau) lies below the least by at most tau log n, tends to it as tau goes to 0, and has
a gradient to every x_i: the match is differentiated, too. Cuturi and Blondel, "Soft-DTW: a differentiable loss function for
time-series", ICML 2017, equation 1.
"""

from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import Choice, check_one_of, check_positive, check_whole
from mechlearn.skips.matched import LATER, Chosen, Steps
from mechlearn.skips.matchings.aligned import Aligned, check_total, pairs
from mechlearn.skips.matchings.following import Predicted, follow
from mechlearn.skips.matchings.greedy import Greedy
from mechlearn.skips.matchings.paths import Cost, Costs, Inputs, cheapest_path
from mechlearn.skips.predicting import Predictor

_FAR = 1e150
"""What a step costs that is not possible; in float64, finite so that no gradient is NaN."""


@dataclass(frozen=True)
class SoftGreedy(Choice):
    """`Greedy`, but that a step costs the soft minimum of the losses over its window.

    The path is Greedy's: the next prediction is made from the frame of least loss, or from a random one where the step
    explores, which then costs the loss of that frame alone.

    Args:
        horizon: H, how many frames ahead a match may lie.
        temperature: tau, in units of the loss.
        exploration: mu, the probability of taking a frame of the window at random.

    Raises:
        TypeError: a horizon that is no whole number, a temperature that is no number.
        ValueError: a horizon below 1, a temperature that is not positive, a probability outside [0, 1].
    """

    horizon: int
    temperature: float
    exploration: float = 0.0

    def __post_init__(self) -> None:
        Greedy(self.horizon, self.exploration)
        _check_temperature(self.temperature)

    def along(self, predictor: Predictor) -> Steps:
        """Follow every trajectory to its last frame."""
        hard = Greedy(self.horizon, self.exploration)
        choose = hard.chooser(predictor)
        return follow(predictor, choose, explores=self.exploration > 0, price=partial(self._price, predictor))

    def _price(self, predictor: Predictor, predicted: Predicted, chosen: Chosen) -> Float[Tensor, " n"]:
        """Return the soft minimum of the losses of each prediction over its window."""
        explored = chosen.explored or [False] * len(predicted.rows)
        bounds = zip(predicted.times, predicted.lengths, chosen.frames, explored, strict=True)
        windows = [
            range(frame, frame + 1) if random else range(time + 1, min(time + self.horizon, length - 1) + 1)
            for time, length, frame, random in bounds
        ]
        made, frames = pairs(windows)
        losses = predictor.losses(predicted.seen[made], [predicted.rows[i] for i in made], frames)
        finite = (losses.detach() != torch.inf).tolist()
        if not all(finite):  # again without these: in the gradient of an infinite loss even a factor of 0 makes NaN
            made, frames = ([one for one, kept in zip(some, finite, strict=True) if kept] for some in (made, frames))
            losses = predictor.losses(predicted.seen[made], [predicted.rows[i] for i in made], frames)
        places = [frame - windows[i].start for i, frame in zip(made, frames, strict=True)]
        table = losses.new_full((len(windows), self.horizon), torch.inf)
        at = torch.tensor(made, device=table.device), torch.tensor(places, device=table.device)
        return _soft_minimum(table.index_put(at, losses), self.temperature)


@dataclass(frozen=True)
class SoftAligned(Choice):
    """`Aligned`, but that a trajectory costs the soft minimum over all its paths: a soft-DTW with skips of 1 to H.

    With D_k(t') the soft minimum over all paths of k steps from frame 0 to frame t' of the sum of their steps' losses,
    D_k(t') = softmin over t in t' - H .. t' - 1 of D_{k-1}(t) + the loss of the k-th step, a trajectory costs the soft minimum
    over k of D_k(T - 1) / k for ``cost="mean"`` and of D_k(T - 1) for ``cost="sum"``. The second is divided by
    the number of steps of the path of least sum, so that it tends to what `Aligned` returns, as the first does. Every step of a
    trajectory is given that cost; steps, skips and matches are those of the path of least cost.

    Args:
        horizon: H, how many frames a step may skip ahead.
        temperature: tau, in units of the loss.
        inputs: what a prediction is made from, see `Aligned`.
        cost: of a path.

    Raises:
        TypeError: a horizon that is no whole number, a temperature that is no number.
        ValueError: a horizon below 1, a temperature that is not positive, or another word.
    """

    horizon: int
    temperature: float
    inputs: Inputs = "frames"
    cost: Cost = "mean"

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon, 1, why=LATER)
        _check_temperature(self.temperature)
        check_one_of("inputs", self.inputs, get_args(Inputs))
        check_one_of("cost", self.cost, get_args(Cost))

    def along(self, predictor: Predictor) -> Steps:
        """Predict along every trajectory, then align; every prediction has a part in the loss.

        Raises:
            ValueError: teacher forcing below 1, or actions where it is not known which frame they belong to.
            FloatingPointError: a loss that is NaN, or no path of finite loss.
        """
        hard = Aligned(self.horizon, self.inputs, self.cost)
        found = predictor.steps()
        predictions = hard.predictions(predictor)
        found.evaluations = sum(predictor.lengths) - len(predictor.lengths)
        for b, made in enumerate(predictions):
            seen = predictor.compared(made, predictor.lengths[b] - 1)
            costs = hard.costs(predictor, b, seen)
            path = cheapest_path(costs, self.horizon, self.inputs, self.cost)
            times, frames = path[:-1], path[1:]
            used = times if self.inputs == "frames" else list(range(len(frames)))
            check_total(float(costs[used, frames].sum()), b)
            total = self._total(predictor, costs, b, seen)
            each = (total if self.cost == "mean" else total / len(frames)).to(seen.dtype)
            found.add([b] * len(frames), list(range(len(frames))), times, Chosen(frames), each.expand(len(frames)), made[used])
        return found

    def _total(self, predictor: Predictor, costs: Costs, b: int, seen: Tensor) -> Float[Tensor, ""]:
        # Without what costs infinity: in the gradient of an infinite loss even a factor of 0 makes NaN.
        rows, frames = (places.tolist() for places in np.nonzero(np.isfinite(costs)))
        losses = predictor.losses(seen[rows], [b] * len(rows), frames).double()
        table = losses.new_full(costs.shape, _FAR)
        at = torch.tensor(rows, device=table.device), torch.tensor(frames, device=table.device)
        return self._soft_paths(table.index_put(at, losses))

    def _soft_paths(self, costs: Float[Tensor, "made frames"]) -> Float[Tensor, ""]:
        """Return the soft minimum over all paths; costs as in `cheapest_path`."""
        made, length = costs.shape
        width = min(self.horizon, made)
        to, skips = torch.arange(length, device=costs.device)[:, None], torch.arange(1, width + 1, device=costs.device)
        back = to - skips  # the frames that a step to each may come from
        arriving = costs[back.clamp(0, made - 1), to] if self.inputs == "frames" else None
        before = torch.cat([costs.new_zeros(1), costs.new_full((made,), _FAR)])
        totals: list[Tensor] = []
        for k in range(made):
            starts = torch.where(back < 0, _FAR, before[back.clamp(min=0)])
            before = _soft_minimum(starts + (costs[k, :, None] if arriving is None else arriving), self.temperature)
            totals.append(before[-1] / (k + 1 if self.cost == "mean" else 1))
        return _soft_minimum(torch.stack(totals)[None], self.temperature)[0]


def _soft_minimum(values: Float[Tensor, "n options"], temperature: float) -> Float[Tensor, " n"]:
    return -temperature * torch.logsumexp(-values / temperature, dim=1)


def _check_temperature(temperature: object) -> None:
    check_positive("temperature", temperature, way_out="The hard alignment is Greedy(...) or Aligned(...).")
