"""`Watched`: a forecaster that is shown while it trains, so that it can be stopped early."""

from collections.abc import Callable
from typing import Any

from torch import nn

from mechlearn.skips import Matched
from mechlearn.tables.forecasts.forecaster import SkipForecaster

LOOKS = 20
"""A training is looked at as often, the last time at its end. At a look `mean_skip_` is that of the steps since the one before,
as it is that of the last twentieth when a training is over."""


class Watched(SkipForecaster):
    """As `SkipForecaster`, and trained as if nobody looked.

    >>> shares = []
    >>> model = Watched(steps=40).watched_by(lambda share, model: shares.append(share))
    >>> _ = model.fit([[[0.0], [1.0], [2.0], [3.0]]])
    >>> len(shares), shares[0], shares[-1]
    (20, 0.05, 1.0)
    """

    _watch: Callable[[float, SkipForecaster], None] | None = None
    _looked = _skips = _taken = 0

    def watched_by(self, watch: Callable[[float, SkipForecaster], None]) -> "Watched":
        """Have it told the share of its next training that is over, and itself as it is then: it may be asked to predict."""
        self._watch = watch
        return self

    def fit(self, X: Any, y: Any = None) -> "Watched":  # noqa: ANN401, N803
        """Train, as `SkipForecaster` does; nobody watches a training after that."""
        self._looked = self._skips = self._taken = 0
        super().fit(X, y)
        self._watch = None
        return self

    def _passed(self, step: int, network: nn.Sequential, matched: Matched) -> None:
        self._skips, self._taken = self._skips + int(matched.skips.sum()), self._taken + int(matched.steps.sum())
        due = LOOKS * (step + 1) // self.steps
        if self._watch is not None and due > self._looked:
            self._keep(network)
            self.mean_skip_ = self._skips / self._taken
            self._watch((step + 1) / self.steps, self)
            self._looked, self._skips, self._taken = due, 0, 0
