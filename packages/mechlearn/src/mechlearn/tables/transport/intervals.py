"""Intervals over sites: of the score at one new site, and of a mean over sites."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LEVEL = 0.9
"""Of all intervals here."""

FEWEST, CONFORMAL_FROM = 4, 9
"""Sites below which there is no interval, and from which on one needs no assumption but that sites are exchangeable."""

ALIKE = "assumes sites alike"
"""What is said of an interval that holds for scores from one normal distribution only."""


@dataclass(frozen=True)
class Interval:
    """A 90 % interval.

    Attributes:
        low: its lower end.
        high: its upper end.
        method: "conformal", or "Student t" with what it assumes.
    """

    low: float
    high: float
    method: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"low": self.low, "high": self.high, "level": LEVEL, "method": self.method}


def next_site(scores: Sequence[float], least: float = -np.inf, most: float = np.inf) -> Interval | None:
    """Return where the score at one new site will be, not the mean of many; None below 4 sites.

    From 9 sites on it is full conformal prediction: all values that are no farther from the mean of old and new scores than
    all but 10 % are. It covers 90 % of new sites if these are drawn as the old ones were. With 4 to 8 sites it is Student's t
    prediction interval, which assumes that all sites' scores come from one normal distribution.

    Args:
        scores: one a site.
        least: the least that a score can be.
        most: the most.

    >>> found = next_site([0.5, 0.6, 0.7, 0.8], 0.0, 1.0)
    >>> f"[{found.low:.2f}, {found.high:.2f}] {found.method}"
    '[0.31, 0.99] Student t, assumes sites alike'
    """
    found = np.asarray(scores, dtype=np.float64)
    if len(found) < FEWEST:
        return None
    if len(found) < CONFORMAL_FROM:
        low, high = student(found, 1 + 1 / len(found))
        method = f"Student t, {ALIKE}"
    else:
        (low, high), method = _conformal(found), "conformal"
    return Interval(max(low, least), min(high, most), method)


def mean_over_sites(values: Sequence[float]) -> Interval | None:
    """Return where the mean over many sites is, by Student's t; None below 4 sites."""
    found = np.asarray(values, dtype=np.float64)
    return None if len(found) < FEWEST else Interval(*student(found, 1 / len(found)), "Student t")


def student(values: NDArray[np.float64], factor: float) -> tuple[float, float]:
    """Return Student's interval around the mean of values, whose variance is `factor` times that of one value."""
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) * np.sqrt(factor))
    return float(values.mean()) - reach, float(values.mean()) + reach


def _conformal(scores: Any) -> tuple[float, float]:  # noqa: ANN401  # an array
    """The values v that at least (n + 1) // 10 scores are as far from the mean of the n + 1 as v is.

    Score i is, for v between itself and its mirror image; all of these stretches contain the mean of the n.
    """
    count = len(scores)
    mirrored = (2 * scores.sum() - (count + 1) * scores) / (count - 1)
    rank = (count + 1) // 10 - 1
    low, high = np.sort(np.minimum(scores, mirrored)), np.sort(np.maximum(scores, mirrored))
    return float(low[rank]), float(high[count - 1 - rank])
