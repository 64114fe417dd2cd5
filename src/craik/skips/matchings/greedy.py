"""`Greedy`: each prediction is matched with the frame ahead that it fits best, or explores."""

from dataclasses import dataclass
from functools import partial

from craik.arguments import check_share, check_whole
from craik.skips.matched import LATER, Chosen, Steps
from craik.skips.matchings.draws import Draw
from craik.skips.matchings.following import Predicted, follow
from craik.skips.matchings.ranking import Ranker
from craik.skips.predicting import Predictor


@dataclass(frozen=True)
class Greedy:
    """Match each prediction with the frame of its window that it fits best (thesis algorithm 1, lines 6 to 11).

    The window of a prediction made at frame t is t + 1 .. min(t + horizon, T - 1); of equally good frames the first is taken.

    Args:
        horizon: H, how many frames ahead a match may lie.
        exploration: mu, the probability of taking a frame of the window at random instead, each with equal probability.

    Raises:
        TypeError: a horizon that is no whole number.
        ValueError: a horizon below 1, or a probability outside [0, 1].
    """

    horizon: int
    exploration: float = 0.0

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon, 1, why=LATER)
        check_share("exploration", self.exploration, why="it is a probability")

    def along(self, predictor: Predictor) -> Steps:
        """Follow every trajectory to its last frame."""
        ranker = Ranker(predictor.dynamics.loss, predictor.targets, self.horizon)
        return follow(predictor, partial(self._choose, ranker), explores=self.exploration > 0)

    def _choose(self, ranker: Ranker, predicted: Predicted) -> Chosen:
        """Match predictions with random frames of their windows, or with the best."""
        rows, first = predicted.rows, [time + 1 for time in predicted.times]
        end = [min(start + self.horizon, length) for start, length in zip(first, predicted.lengths, strict=True)]
        explored = [draw.explore < self.exploration for draw in predicted.draws or ()] or [False] * len(rows)
        frames = [-1] * len(rows)
        for i, draw in enumerate(predicted.draws or ()):
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
