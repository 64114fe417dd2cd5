"""Means and spreads of training rows."""

from dataclasses import dataclass

import numpy as np

from mechlearn.tables.reading_in.cells import Numbers


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and spreads of training rows; a missing number becomes the mean."""

    mean: Numbers
    spread: Numbers

    @classmethod
    def of(cls, x: Numbers, weights: Numbers | None = None, constant: float = 1.0) -> "Scaling":
        """Return those of some rows, weighted; of a constant column the spread is what is said."""
        w = np.where(np.isnan(x), 0.0, 1.0 if weights is None else weights[:, None])
        total = np.maximum(w.sum(0), 1e-300)
        mean = (w * np.nan_to_num(x)).sum(0) / total
        spread = np.sqrt((w * np.nan_to_num(x - mean) ** 2).sum(0) / total)
        return cls(mean, np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-30), spread, constant))

    @classmethod
    def of_inputs(cls, x: Numbers, weights: Numbers | None = None) -> "Scaling":
        """Return those of a model's inputs; a column that is constant here becomes 0 wherever they are applied.

        Nothing can be learnt of such a column, and a network's weights on it are what chance began with: that must not speak
        where another site, or another year, has another value.
        """
        return cls.of(x, weights, np.inf)

    def applied(self, x: Numbers) -> Numbers:
        """Return standardised rows."""
        return np.nan_to_num((x - self.mean) / self.spread, nan=0.0)
