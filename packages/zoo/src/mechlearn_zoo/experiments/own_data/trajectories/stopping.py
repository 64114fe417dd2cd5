"""What validation stops of each candidate: its setting and time where the trajectories set apart are predicted best.

They are what `mechlearn fit skips` chooses settings on, at the ends of its trainings: nothing trains on them, and they are
drawn as those to come are. Here they choose the time as well, of fixed steps and of skips alike.
"""

import math

import numpy as np

from claimlab import EarlyStopping, Row, number
from mechlearn.tables.forecasts.forecasting import FIXED, Tried
from mechlearn.tables.reading_in import Numbers


class Stopped:
    """Each candidate where validation stops it, on trajectories to come.

    Args:
        coming: those.
        ahead: frames to predict.
    """

    def __init__(self, coming: list[Numbers], ahead: int) -> None:
        self.coming, self.ahead = coming, ahead
        self.found: dict[str, EarlyStopping] = {}

    def look(self, share: float, one: Tried) -> None:
        """Take in a candidate at one of its settings, after a share of its training; it is told when a look is due."""
        true = error(one, self.coming, self.ahead)
        best = self.found.setdefault(one.name, EarlyStopping(best="lowest"))
        best.look(share, float(np.mean(one.errors)), {"true": true, "setting": one.setting})

    def row(self, name: str) -> Row:
        """Return a candidate's columns; none of a world that stands still, which nothing trains."""
        return self.found[name].row if name in self.found else {}

    def _validation(self, kind: str) -> float:
        validation = self.found[kind].validation
        return math.inf if validation is None else validation

    def gain(self, name: str) -> float:
        """Return by how many per cent a candidate's error is below that of fixed steps, of the kind that validation prefers."""
        best = min(FIXED, key=self._validation)
        return 100 * (1 - number(self.row(name), "stopped_true") / number(self.row(best), "stopped_true"))


def error(one: Tried, trajectories: list[Numbers], ahead: int) -> float:
    """Return the root mean squared error `ahead` frames after the first, mean over trajectories, in standard deviations."""
    frames = np.stack(trajectories)
    starts, ends = frames[:, 0], frames[:, ahead]
    scale = frames.reshape(-1, frames.shape[-1]).std(0)
    said = one.predicted(starts, np.zeros_like(starts))
    return float(np.sqrt((((said - ends) / np.where(scale > 0, scale, 1)) ** 2).mean(1)).mean())
