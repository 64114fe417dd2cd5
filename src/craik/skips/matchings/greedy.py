"""Which frame comes next, one step at a time: greedy or fixed."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from craik.skips.matchings.draws import Draw
from craik.skips.matchings.ranking import Ranker
from craik.skips.settings import FixedStep, Greedy


class Chosen(NamedTuple):
    """For each of n predictions the frame it is matched with, and whether that was drawn at random."""

    frames: list[int]
    explored: list[bool]


@runtime_checkable
class Choice(Protocol):
    """Matches the predictions of step u that were made at the given frames of the given trajectories."""

    def choose(self, predictions: Tensor, rows: Sequence[int], times: Sequence[int], u: int) -> Chosen:
        """Match n predictions."""
        ...

    def goes_on(self, b: int, time: int) -> bool:
        """Say whether trajectory b has a step after frame `time`."""
        ...


class GreedyChoice:
    """Thesis algorithm 1, lines 6 to 11.

    Args:
        settings: horizon and exploration.
        ranker: finds best matches.
        lengths: of the trajectories.
        draws: the random numbers of each step, where there is exploration.
    """

    def __init__(
        self, settings: Greedy, ranker: Ranker, lengths: Sequence[int], draws: Sequence[Sequence[Draw]] | None
    ) -> None:
        self._settings, self._ranker, self._lengths, self._draws = settings, ranker, lengths, draws

    def choose(self, predictions: Tensor, rows: Sequence[int], times: Sequence[int], u: int) -> Chosen:
        """Match n predictions with random frames of their windows, or with the best."""
        first = [time + 1 for time in times]
        end = [min(start + self._settings.horizon, self._lengths[b]) for b, start in zip(rows, first, strict=True)]
        explored = [self._explores(b, u) for b in rows]
        windows = list(zip(rows, first, end, strict=True))
        frames = [self._random(*window, u) if random else -1 for window, random in zip(windows, explored, strict=True)]
        ranked = [i for i, random in enumerate(explored) if not random]
        if ranked:
            some = predictions if len(ranked) == len(rows) else predictions[ranked]
            best = self._ranker.best(some, *([values[i] for i in ranked] for values in (rows, first, end)))
            for i, frame in zip(ranked, best, strict=True):
                frames[i] = frame
        return Chosen(frames, explored)

    def goes_on(self, b: int, time: int) -> bool:
        """Say whether a frame follows."""
        return time + 1 < self._lengths[b]

    def _explores(self, b: int, u: int) -> bool:
        return self._draws is not None and self._draws[b][u].explore < self._settings.exploration

    def _random(self, b: int, first: int, end: int, u: int) -> int:
        place = 0.0 if self._draws is None else self._draws[b][u].place
        return first + int(place * (end - first))


class FixedChoice:
    """A fixed number of frames ahead.

    Args:
        settings: the step, and what the last one does.
        lengths: of the trajectories.
    """

    def __init__(self, settings: FixedStep, lengths: Sequence[int]) -> None:
        self._settings, self._lengths = settings, lengths

    def choose(self, predictions: Tensor, rows: Sequence[int], times: Sequence[int], u: int) -> Chosen:
        """Match n predictions with the frames `dt` ahead, or the last."""
        frames = [min(time + self._settings.dt, self._lengths[b] - 1) for b, time in zip(rows, times, strict=True)]
        return Chosen(frames, [False] * len(frames))

    def goes_on(self, b: int, time: int) -> bool:
        """Say whether a whole step follows, or any where the last is clamped."""
        whole = self._settings.dt if self._settings.last == "drop" else 1
        return time + whole < self._lengths[b]
