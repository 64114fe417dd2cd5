"""`Aligned`: all predictions of a trajectory are matched at once, by dynamic programming."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from mechlearn.arguments import Choice, check_one_of, check_whole
from mechlearn.losses import SquaredError
from mechlearn.skips.contexts import Actions
from mechlearn.skips.matched import LATER, Chosen, Steps
from mechlearn.skips.matchings.exact import fits
from mechlearn.skips.matchings.paths import Cost, Costs, Inputs, cheapest_path
from mechlearn.skips.predicting import Predictor
from mechlearn.skips.sampling import Sampled, generators_of, stream
from mechlearn.skips.simulators.options import Options


@dataclass(frozen=True)
class Aligned(Choice):
    """Align all predictions of a trajectory at once, by dynamic programming, instead of one after the other.

    The thesis suggests it (section 2.2, "Instead of using a greedy matching algorithm", and section 2.5) and does not define
    it. Here an alignment is a path of frames 0 = t_0 < t_1 < ... < t_U = T - 1 with t_u - t_{u-1} <= horizon, and of all
    paths the one of least cost is taken. The step to t_u costs L(z_u, x_{t_u}), where the prediction z_u is

    - with ``inputs="frames"``: f(x_{t_{u-1}}), the prediction from the true frame before (teacher forcing throughout);
    - with ``inputs="predictions"``: f applied u times to x_0 (no teacher forcing). At most T - 1 predictions are made,
      and those after the U-th have no part in the loss. `Actions` are refused: they belong to frames, and the frame that a
      prediction stands for is not known when the next one is made.

    Args:
        horizon: H, how many frames a step may skip ahead.
        inputs: what a prediction is made from.
        cost: of a path: the "mean" of its steps' losses, as algorithm 1 reports a trajectory's loss, or their "sum", which
            prefers few steps. Of equally good paths the one with the fewest steps is taken, then the one whose frames are
            earliest, compared from the end.

    Raises:
        TypeError: a horizon that is no whole number.
        ValueError: a horizon below 1, or another word.
    """

    horizon: int
    inputs: Inputs = "frames"
    cost: Cost = "mean"

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon, 1, why=LATER)
        check_one_of("inputs", self.inputs, get_args(Inputs))
        check_one_of("cost", self.cost, get_args(Cost))

    def along(self, predictor: Predictor) -> Steps:
        """Predict along every trajectory, then align; predictions that the alignment leaves out have no part in the loss.

        Raises:
            ValueError: teacher forcing below 1, or actions where it is not known which frame they belong to.
            FloatingPointError: a loss that is NaN, or no path of finite loss.
        """
        found = predictor.steps()
        predictions = self.predictions(predictor)
        found.evaluations = sum(predictor.lengths) - len(predictor.lengths)
        for b, made in enumerate(predictions):
            seen = predictor.compared(made, predictor.lengths[b] - 1)
            costs = self.costs(predictor, b, seen)
            path = cheapest_path(costs, self.horizon, self.inputs, self.cost)
            times, frames = path[:-1], path[1:]
            used = times if self.inputs == "frames" else list(range(len(frames)))
            check_total(float(costs[used, frames].sum()), b)
            losses = predictor.losses(seen[used], [b] * len(frames), frames)
            found.add([b] * len(frames), list(range(len(frames))), times, Chosen(frames), losses, made[used])
        return found

    def predictions(self, predictor: Predictor) -> list[Tensor]:
        """Return for each trajectory as many predictions as it has transitions, made from what `inputs` says."""
        self._check(predictor)
        return _from_frames(predictor) if self.inputs == "frames" else _from_predictions(predictor)

    def windows(self, length: int) -> list[range]:
        """Return for each prediction of a trajectory the frames that it may be matched with."""
        # From frame u a step reaches u + 1 .. u + H; the prediction of step u lies between u + 1 and (u + 1) H.
        extra = 0 if self.inputs == "frames" else self.horizon - 1
        return [range(u + 1, min(u * (1 + extra) + self.horizon, length - 1) + 1) for u in range(length - 1)]

    def _check(self, predictor: Predictor) -> None:
        if predictor.teacher_forcing != 1:
            raise ValueError(
                "An optimal alignment needs all predictions before it knows a match, so that inputs cannot be mixed (thesis, "
                f"section 2.2). Found teacher_forcing={predictor.teacher_forcing!r} with inputs={self.inputs!r}. Leave it out; "
                "`inputs` says what predictions are made from."
            )
        if predictor.dynamics.state is not None:
            raise ValueError(
                "A memory goes from match to match, and an optimal alignment knows no match before all predictions are made. "
                "Found dynamics with a `state`. Match step by step, with Greedy(...) or Fixed(...)."
            )
        if isinstance(predictor.dynamics.context, Options):
            raise ValueError(
                "No prediction passes the end of an option, and an optimal alignment looks at whole trajectories. Found "
                "`Options`. Match step by step, with Greedy(...) or OrEnd(...)."
            )
        if self.inputs == "predictions" and isinstance(predictor.dynamics.context, Actions):
            raise ValueError(
                "Actions belong to frames, and which frames predictions stand for is known only after an optimal alignment. "
                "Found `Actions` with inputs='predictions'. Pass inputs='frames', or a static context."
            )

    @torch.no_grad()
    def costs(self, predictor: Predictor, b: int, seen: Tensor) -> Costs:
        """Return the loss of each prediction, as they were made, against each frame that it may reach; else infinity.

        Raises:
            FloatingPointError: a loss that is NaN.
        """
        length, seen = len(seen) + 1, seen.detach()
        costs = np.full((length - 1, length), np.inf)
        if fits(predictor.targets, self.horizon) and isinstance(predictor.dynamics.loss, SquaredError):
            made, frames = pairs(self.windows(length))
            costs[made, frames] = predictor.losses(seen[made], [b] * len(frames), frames).double().cpu()
        else:
            for u, (z, frames) in enumerate(zip(seen, self.windows(length), strict=True)):
                losses = predictor.losses(z.expand(len(frames), *z.shape), [b] * len(frames), list(frames))
                costs[u, frames.start : frames.stop] = losses.double().cpu()
        if np.isnan(costs).any():
            raise FloatingPointError(
                f"Every loss should be finite. Found NaN in trajectory {b} of the batch. Lower the learning rate or clip "
                "gradients."
            )
        return costs


def pairs(windows: Sequence[range]) -> tuple[list[int], list[int]]:
    """Return every prediction with every frame of its window."""
    made = [u for u, frames in enumerate(windows) for _ in frames]
    return made, [frame for frames in windows for frame in frames]


def _from_frames(predictor: Predictor) -> list[Tensor]:
    """Return for each trajectory the prediction made from each of its frames but the last."""
    rows = [b for b, length in enumerate(predictor.lengths) for _ in range(length - 1)]
    times = [t for length in predictor.lengths for t in range(length - 1)]
    predictions = predictor.predict(predictor.trajectories.at(rows, times), rows, times)
    return list(predictions.split([length - 1 for length in predictor.lengths]))


def _from_predictions(predictor: Predictor) -> list[Tensor]:
    """Return for each trajectory as many predictions, each made from the one before, as it has transitions."""
    rows = list(range(len(predictor.lengths)))
    made: list[list[Tensor]] = [[] for _ in rows]
    inputs = predictor.trajectories.first()
    sampled = isinstance(predictor.dynamics.feedback, Sampled)
    streams = [stream(each) for each in generators_of(predictor.generator, len(rows))] if sampled else None
    for u in range(max(predictor.lengths) - 1):
        prediction = predictor.predict(inputs, rows, [u] * len(rows))
        for b, one in zip(rows, prediction, strict=True):
            made[b].append(one)
        going = [i for i, b in enumerate(rows) if u + 2 < predictor.lengths[b]]
        rows = [rows[i] for i in going]
        if rows:
            inputs = predictor.fed(prediction[going], streams and [streams[b] for b in rows])
    return [torch.stack(each) for each in made]


def check_total(total: float, b: int) -> None:
    """Reject losses so large that no path is better than another; a frame that costs infinity is merely avoided."""
    if not math.isfinite(total):
        raise FloatingPointError(
            f"The loss of the best alignment should be finite. Found {total} in trajectory {b} of the batch. Lower the "
            "learning rate or clip gradients."
        )
