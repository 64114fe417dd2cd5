"""What a comparison says: helps, as good, harms or cannot tell. The unit is the held-out site.

A method is compared with the best simple candidate, the one with the highest mean on the same sites. It *helps* where the lower
end of the interval over sites is above 0, it gains at least a point, and its error is lower in the mean as well (log loss, RMSE
or Brier score). It is *as good* where the interval lies within two points, and *harms* where the upper end is below 0; else one
*cannot tell*. Below six sites there is no interval, and one cannot tell unless there are three at least and all agree by more
than two points: two agree by chance half of the time. A point is a hundredth, of AUC or of R squared.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from mechlearn.tables.transport.intervals import LEVEL, student

FEWEST, MARGIN, MORE = 6, 2.0, 1.0
"""Sites for an interval; points within which two are as good; points that a method should gain."""

REACH = 3
"""How many times the sites at hand may be asked for: a guess at more is worth nothing."""

AGREEING = 3
"""Sites below which nothing is told."""


@dataclass(frozen=True)
class Verdict:
    """What held-out sites say of one method.

    Attributes:
        word: "helps", "as good", "harms" or "cannot tell".
        method: whose verdict it is.
        against: what it is compared with.
        gain: mean difference over the sites, in points.
        low: end of the 90 % interval, or None below six sites.
        high: the other end.
        p: of a test that turns the differences' signs, two-sided.
        differences: of each site.
        untold: why nothing can be told, whatever the differences are; "" elsewhere.
    """

    word: str
    method: str
    against: str
    gain: float
    low: float | None
    high: float | None
    p: float
    differences: tuple[float, ...]
    untold: str = ""

    @property
    def sites(self) -> int:
        """How many were held out."""
        return len(self.differences)

    @property
    def sentence(self) -> str:
        """The verdict in words; in points."""
        over = f"{sum(difference > 0 for difference in self.differences)} of {self.sites} sites"
        if self.word == "helps":
            return (
                f"Helps: on sites it had not seen, {self.method} was {self.gain:.1f} points better than {self.against}"
                f"{self._interval()}, at {over}.{self._worse()}"
            )
        if self.word == "as good":
            return f"As good: {self.method} differs from {self.against} by {self.gain:+.1f} points{self._interval()}."
        if self.word == "harms":
            by = f"{-self.gain:.1f} points worse than {self.against}{self._interval()}"
            return f"Harms: {self.method} was {by}, better at {over}."
        return f"Cannot tell: {self.untold or self._open(over)}"

    def _interval(self) -> str:
        known = self.low is not None and self.high is not None
        return f" ({100 * LEVEL:.0f} % interval {self.low:+.1f} to {self.high:+.1f})" if known else ""

    def _open(self, over: str) -> str:
        what = f"{self.method} less {self.against}, better at {over}"
        if self.low is None or self.high is None:
            return f"{self.gain:+.1f} points, and no interval below {FEWEST} sites ({what}). {self._more()}"
        if self.low > 0:
            return f"{self.gain:+.1f} points{self._interval()} ({what}), but its error is no lower."
        return f"between {self.low:+.1f} and {self.high:+.1f} points ({what}). {self._more()}"

    def _worse(self) -> str:
        lost = [difference for difference in self.differences if difference < 0]
        if not lost:
            return ""
        mean = " in the mean" if len(lost) > 1 else ""
        return f" It was worse at {len(lost)} of {self.sites} sites, by {-float(np.mean(lost)):.1f} points{mean}."

    def _more(self) -> str:
        if self.sites < AGREEING:
            return f"Fewer than {AGREEING} sites settle nothing, as two agree by chance half of the time."
        needed = max(sites_needed(float(np.std(self.differences, ddof=1))), FEWEST)
        missing = needed - self.sites
        if missing <= 0:
            return "More sites like these would settle it."
        if missing > REACH * self.sites:
            return "Sites like these cannot settle it."
        return f"About {missing} more {'site' if missing == 1 else 'sites'} would settle {MARGIN:g} points."


def judge(
    scores: Mapping[str, Sequence[float]],
    method: str,
    simple: Sequence[str],
    overlap: float = 0.0,
    errors: Mapping[str, Sequence[float]] | None = None,
) -> Verdict:
    """Return the verdict on a method, against the best simple one.

    There is a score for each held-out site, in points, more is better, and an error, less is better; without errors scores
    alone decide. The overlap is that of `t_interval`.
    """
    best = max((name for name in simple if name != method), key=lambda name: float(np.mean(scores[name])))
    differences = np.asarray(scores[method], dtype=np.float64) - np.asarray(scores[best], dtype=np.float64)
    gain, interval = float(differences.mean()), t_interval(differences, overlap)
    word = _word(differences, interval)
    if word == "helps" and gain < MORE:
        word = "as good"
    if word == "helps" and errors is not None:
        word = word if np.mean(errors[method]) < np.mean(errors[best]) else "cannot tell"
    low, high = interval or (None, None)
    return Verdict(word, method, best, gain, low, high, sign_flip(differences), tuple(differences.tolist()))


def _word(differences: NDArray[np.float64], interval: tuple[float, float] | None) -> str:
    if interval is None and len(differences) < AGREEING:
        return "cannot tell"
    if not differences.any():  # such as screening that leaves nothing out
        return "as good"
    # Without an interval all sites should agree by more than the margin.
    low, high = interval or (differences.min() - MARGIN, differences.max() + MARGIN)
    if low > 0:
        return "helps"
    if low >= -MARGIN and high <= MARGIN:
        return "as good"
    return "harms" if high < 0 else "cannot tell"


def t_interval(differences: Sequence[float] | NDArray[np.float64], overlap: float = 0.0) -> tuple[float, float] | None:
    """Return Student's 90 % interval of the mean over sites; None below six.

    Args:
        differences: one a site, or a fold of rows.
        overlap: rows held out for each row trained on, where folds of rows share what they train on: 1/9 of ten folds. The
            variance of the mean grows by it (Nadeau and Bengio 2003, Inference for the generalization error, section 3).
    """
    values = np.asarray(differences, dtype=np.float64)
    return None if len(values) < FEWEST else student(values, 1 / len(values) + overlap)


def sign_flip(differences: Sequence[float] | NDArray[np.float64], draws: int = 10_000) -> float:
    """Return the share of sign patterns under which the mean is as far from 0 as it is; all patterns up to twelve sites."""
    values = np.asarray(differences, dtype=np.float64)
    if len(values) <= 12:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(values))))
    else:
        drawn = np.random.default_rng(0).choice((-1.0, 1.0), size=(draws, len(values)))
        signs = np.concatenate([np.ones((1, len(values))), drawn])
    return float((np.abs(signs @ values) >= abs(values.sum()) * (1 - 1e-12)).mean())


def sites_needed(deviation: float) -> int:
    """Return how many sites make the interval's half width two points or less."""
    for count in range(2, 1000):
        if stats.t.ppf((1 + LEVEL) / 2, count - 1) * deviation / np.sqrt(count) <= MARGIN:
            return count
    return 1000
