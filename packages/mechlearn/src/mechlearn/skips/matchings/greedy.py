"""`Greedy`: each prediction is matched with the frame ahead that it fits best, or explores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import torch
from torch import Tensor

from mechlearn.arguments import Choice, check_one_of, check_share, check_whole
from mechlearn.losses import Loss, SquaredError, rankable
from mechlearn.skips.matched import LATER, Chosen, Steps
from mechlearn.skips.matchings.draws import Draw
from mechlearn.skips.matchings.exact import ExactRanker, fits
from mechlearn.skips.matchings.following import Predicted, follow
from mechlearn.skips.matchings.ranking import Ranker
from mechlearn.skips.predicting import Predictor

Ties = Literal["first", "last"]
"""Which of equally good frames is taken."""


@dataclass(frozen=True)
class Greedy(Choice):
    """Match each prediction with the frame of its window that it fits best (thesis algorithm 1, lines 6 to 11).

    The window of a prediction made at frame t is t + nearest .. min(t + horizon, T - 1), or the last frame alone where fewer
    than `nearest` are left.

    Args:
        horizon: H, how many frames ahead a match may lie.
        exploration: mu, the probability of taking a frame of the window at random instead, each with equal probability.
        scale: H numbers, by which the loss of the frame 1, 2, ... H ahead is divided before losses are compared; the loss that
            is returned is not. `mechlearn.skips.displacement` of the training data makes skips relative to distance (ours).
            None: the thesis. With a scale the loss is evaluated on every frame of a window.
        ties: whether the "first" or the "last" of equally good frames is taken: in a world at rest all are, and the first makes
            skips of 1 there.
        nearest: how many frames ahead a match lies at least; the published code's lower bound. The thesis has 1.

    Raises:
        TypeError: a horizon or bound that is no whole number, or a scale that is no list of numbers.
        ValueError: a horizon or bound below 1, a bound above the horizon, a probability outside [0, 1], another word, or a
            scale that is not `horizon` positive numbers.

    Example:
        >>> import torch
        >>> from mechlearn.losses import SquaredError
        >>> from mechlearn.skips import Dynamics, Greedy, match
        >>> from mechlearn.trajectories import Trajectories
        >>> climb = Trajectories(torch.arange(7.0).view(1, 7, 1), torch.tensor([7]))  # one trajectory: 0, 1, ... 6
        >>> by_two = Dynamics(lambda frames: frames + 2, SquaredError())
        >>> match(by_two, climb, Greedy(horizon=3)).skips.tolist()
        [[2, 2, 2]]
    """

    horizon: int
    exploration: float = 0.0
    scale: Sequence[float | int] | Tensor | None = None
    ties: Ties = "first"
    nearest: int = 1

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon, 1, why=LATER)
        check_share("exploration", self.exploration, why="it is a probability")
        check_one_of("ties", self.ties, get_args(Ties))
        check_whole("nearest", self.nearest, 1, why=LATER)
        if self.nearest > self.horizon:
            raise ValueError(f"`nearest` should be at most the horizon, {self.horizon}. Found {self.nearest}.")
        if self.scale is not None:
            object.__setattr__(self, "scale", _numbers(self.scale, self.horizon))

    def along(self, predictor: Predictor) -> Steps:
        """Follow every trajectory to its last frame."""
        ranker = self._ranker(predictor)
        together = isinstance(ranker, ExactRanker) and _same_anywhere(predictor.dynamics.loss) and ranker.at_once
        return follow(predictor, partial(self._choose, ranker), explores=self.exploration > 0, together=together)

    def chooser(self, predictor: Predictor) -> Callable[[Predicted], Chosen]:
        """Return what says which frame each prediction of a step is matched with."""
        return partial(self._choose, self._ranker(predictor))

    def _ranker(self, predictor: Predictor) -> Ranker | ExactRanker:
        loss, targets, width = predictor.dynamics.loss, predictor.targets, self.horizon - self.nearest + 1
        small, last = fits(targets, width), self.ties == "last"
        if self.scale is None and not (small and (_same_anywhere(loss) or rankable(loss) is None)):
            return Ranker(loss, targets, width, batched=small or None, last=last)
        # Where a window is cut at its start, one frame is left, and what that is divided by does not matter.
        scale = None if self.scale is None else [float(one) for one in self.scale[self.nearest - 1 :]]
        return ExactRanker(loss, targets, width, scale, last=last)

    def _choose(self, ranker: Ranker | ExactRanker, predicted: Predicted) -> Chosen:
        """Match predictions with random frames of their windows, or with the best."""
        rows, pairs = predicted.rows, list(zip(predicted.times, predicted.lengths, strict=True))
        first = [min(time + self.nearest, length - 1) for time, length in pairs]
        end = [min(time + 1 + self.horizon, length) for time, length in pairs]
        if predicted.draws is None:
            return Chosen(ranker.best(predicted.seen, rows, first, end))
        explored = [draw.explore < self.exploration for draw in predicted.draws]
        frames = [-1] * len(rows)
        for i, draw in enumerate(predicted.draws):
            if explored[i]:
                frames[i] = _random(draw, first[i], end[i])
        ranked = [i for i, random in enumerate(explored) if not random]
        if ranked:
            some = predicted.seen if len(ranked) == len(rows) else predicted.seen[ranked]
            best = ranker.best(some, *([values[i] for i in ranked] for values in (rows, first, end)))
            for i, frame in zip(ranked, best, strict=True):
                frames[i] = frame
        return Chosen(frames, explored)


def _random(draw: Draw, first: int, end: int) -> int:
    """Return a frame of a window, each with equal probability (thesis algorithm 1, line 10)."""
    return first + int(draw.place * (end - first))


def _same_anywhere(loss: Loss) -> bool:
    """Say whether a frame's loss is the same in every bit wherever it stands in a batch: of exponentials it is not."""
    return type(loss) is SquaredError


def _numbers(scale: object, horizon: int) -> tuple[float, ...]:
    """Return a scale as numbers, so that two matchings of the same are equal."""
    try:
        found = torch.as_tensor(scale, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"`scale` should be a list of {horizon} numbers. Found {scale!r} of type {type(scale).__name__}. "
            "mechlearn.skips.displacement(trajectories, horizon) gives one."
        ) from error
    if found.shape != (horizon,) or not (found.isfinite() & (found > 0)).all():
        raise ValueError(
            f"`scale` should hold {horizon} positive numbers, one for each frame of the horizon. Found "
            f"{found.tolist() if found.dim() < 2 else tuple(found.shape)}. skips.displacement(trajectories, {horizon}) "
            "gives them."
        )
    return tuple(found.tolist())
