"""A candidate's scores: by site, at the next site, and on random folds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechlearn.tables.reading_in import Table
from mechlearn.tables.scores import RANGES, balanced_accuracy, calibration_slope, error, score
from mechlearn.tables.transport.evaluation import Prediction
from mechlearn.tables.transport.intervals import Interval, mean_over_sites, next_site


@dataclass(frozen=True, eq=False)
class Scored:
    """A candidate's scores.

    Attributes:
        scores: AUC or R squared at each site that it had not seen; None where undefined or where it failed.
        errors: log loss or RMSE there; None where it failed.
        mean: of the scores that there are; NaN if there is none.
        error: mean of the errors.
        next_site: where the score at one new site will be.
        next_error: where the log loss or RMSE there will be.
        random: mean over the same sites' rows on random folds.
        gap: `random` less `mean`: what random folds promise too much.
        gap_interval: of the mean gap over sites.
        cross_validation: the score of all rows together on random folds, as one usually looks at it.
        balanced: balanced accuracy over the rows of left-out sites, cut at the classes' shares; None of numbers, and where all
            rows of a site have one prediction.
        slope: of calibration there, below 1 where the candidate is too sure; None where `balanced` has nothing to cut.
    """

    scores: Mapping[str, float | None]
    errors: Mapping[str, float | None]
    mean: float
    error: float
    next_site: Interval | None
    next_error: Interval | None
    random: float
    gap: float
    gap_interval: Interval | None
    cross_validation: float | None
    balanced: float | None = None
    slope: float | None = None

    @property
    def worst(self) -> tuple[tuple[str, float], ...]:
        """Return the three worst sites with their scores, the worst first."""
        known = [(name, value) for name, value in self.scores.items() if value is not None]
        return tuple(sorted(known, key=lambda one: one[1])[:3])

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        intervals = {name: getattr(self, name) for name in ("next_site", "next_error", "gap_interval")}
        plain = ("mean", "error", "random", "gap", "cross_validation", "balanced", "slope")
        numbers = {name: _finite(getattr(self, name)) for name in plain}
        return {
            **numbers,
            **{name: None if value is None else value.as_dict() for name, value in intervals.items()},
            "worst": [list(one) for one in self.worst],
            "scores": dict(self.scores),
            "errors": dict(self.errors),
        }


def scored(table: Table, sites: Sequence[int], said: Prediction, mixed: Prediction) -> Scored:
    """Return the scores at left-out sites; what is said had not seen the row's site, and what is mixed not the row."""
    rows = {table.sites[site]: np.flatnonzero(table.site == site) for site in sites}
    scores = {name: score(table.labels[own], said[own]) for name, own in rows.items()}
    errors = {name: _finite(error(table.labels[own], said[own])) for name, own in rows.items()}
    randomly = {name: score(table.labels[own], mixed[own]) for name, own in rows.items()}
    known = [value for value in scores.values() if value is not None]
    lost = [value for value in errors.values() if value is not None]
    apart = np.flatnonzero(np.isin(table.site, sites))
    varies = any(bool((said[own] != said[own[0]]).any()) for own in rows.values())  # else it says where a row is, no more
    pairs = [(value, scores[name]) for name, value in randomly.items()]
    gaps = [value - other for value, other in pairs if value is not None and other is not None]
    return Scored(
        scores,
        errors,
        _mean(known),
        _mean(lost),
        next_site(known, *RANGES[table.task]),
        next_site(lost, 0.0),
        _mean([value for value in randomly.values() if value is not None]),
        _mean(gaps),
        mean_over_sites(gaps),
        score(table.labels, mixed),
        balanced_accuracy(table.labels[apart], said[apart]) if varies else None,
        calibration_slope(table.labels[apart], said[apart]) if varies else None,
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
