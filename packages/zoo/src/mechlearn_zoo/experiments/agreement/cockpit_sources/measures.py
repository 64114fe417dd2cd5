"""What the claims of cockpit-sources measure: areas under ROC curves on fresh seeds, of numbers chosen on other seeds."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Rows, number
from mechlearn_zoo.experiments.agreement.cockpit_sources.data import KINDS
from mechlearn_zoo.experiments.agreement.cockpit_sources.numbers import BASELINES, WATCH, WINDOWS

Array = np.ndarray[Any, np.dtype[np.float64]]

RESAMPLES, QUIET = 2000, 0.95
"""Draws of seeds for an interval, and the share of null runs in which a threshold names no source."""

FORMS: dict[str, Callable[[Array], Array]] = {"high": np.positive, "low": np.negative, "odd": np.abs}
"""Which standardised numbers mean a bad source: high ones, low ones, or both."""


class Candidate(NamedTuple):
    """A number of each source that may find the bad one."""

    statistic: str
    window: str
    form: str

    def scores(self, runs: Rows) -> Array:
        """Return (runs, sources) scores."""
        found = [str(row[f"{self.statistic} {self.window}"]).split() for row in runs]
        return FORMS[self.form](np.array(found, dtype=np.float64))

    def wins(self, runs: Rows) -> Array:
        """Return (i, j) the share of run j's good sources that run i's bad one scores above. A tie is half."""
        scores, place = self.scores(runs), np.arange(len(runs))
        bad = scores[place, _bad(runs)][:, None, None]
        found = (bad > scores) + (bad == scores) / 2
        found[:, place, _bad(runs)] = 0
        return found.sum(2) / (scores.shape[1] - 1)


def auroc(kind: str, *names: str, one: bool = False) -> Measure:
    """Return a measure: the area for a kind of bad source, of the best of some statistics (the watch's without names).

    Args:
        kind: of bad source.
        names: of statistics.
        one: choose the best for all kinds together.
    """
    return _fresh(lambda areas: areas(kind, names or WATCH, one))


def margin(kind: str) -> Measure:
    """Return a measure: the watch's area less that of the best of the four baselines."""
    return _fresh(lambda areas: areas(kind, WATCH, False) - np.max([areas(kind, (one,), False) for one in BASELINES], axis=0))


def third(*names: str, one: bool = False) -> Measure:
    """Return a measure: the third largest of the five kinds' areas."""
    return _fresh(lambda areas: np.sort([areas(kind, names or WATCH, one) for kind in KINDS], axis=0)[-3])


def chosen(rows: Rows, kinds: Sequence[str], names: Sequence[str]) -> Candidate:
    """Return the number that finds some kinds best on the seeds that select."""
    runs = [_runs(rows, kind, selecting=True) for kind in kinds]
    tried = (Candidate(*one) for one in product(names, WINDOWS, FORMS))
    return max(tried, key=lambda one: float(np.mean([one.wins(own).mean() for own in runs])))


def threshold(rows: Rows, candidate: Candidate) -> float:
    """Return what no source exceeds in 95 % of the null runs that select."""
    return float(np.quantile(candidate.scores(_runs(rows, "none", selecting=True)).max(1), QUIET, method="higher"))


def quiet() -> Measure:
    """Return a measure: the share of fresh null runs in which the number for all kinds is above its threshold at no source."""

    def measure(rows: Rows) -> Measurement | None:
        if not _seeds(rows):
            return None
        best = chosen(rows, KINDS, WATCH)
        bound = threshold(rows, best)
        share = EachSeed(lambda runs: float(np.mean((best.scores(runs) <= bound).all(1))))
        return share(_runs(rows, "none", selecting=False))

    return measure


def sentences(kind: str, key: str, *, none: bool = False) -> EachSeed:
    """Return a measure: the share of runs in which the watch's sentences name some of what a key counts, or none of it."""
    return _mean_of(lambda row: float((number(row, key) == 0) == none), kind="run", run=kind)


def learned() -> EachSeed:
    """Return a measure: the held-out loss after training over that before, without a bad source, mean over architectures."""
    return _mean_of(lambda row: number(row, "after") / number(row, "before"), kind="run", run="none")


def worth(act: str, *kinds: str) -> EachSeed:
    """Return a measure: the good sources' held-out loss over that of averaging, mean over bad kinds and architectures."""

    def ratio(rows: Rows) -> float | None:
        found = rows.where(lambda row: row["run"] in (kinds or KINDS), kind="act")
        base = {(row["architecture"], row["run"]): number(row, "after") for row in found.where(act="averaging")}
        ratios = [number(row, "after") / base[row["architecture"], row["run"]] for row in found.where(act=act)]
        return sum(ratios) / len(ratios) if ratios else None

    return EachSeed(ratio)


def _mean_of(value: Callable[[Any], float], **wanted: str) -> EachSeed:
    def mean(rows: Rows) -> float | None:
        found = [value(row) for row in rows.where(**wanted)]
        return sum(found) / len(found) if found else None

    return EachSeed(mean)


def _fresh(combine: Callable[[Callable[[str, Sequence[str], bool], Array]], Array]) -> Measure:
    """Return a measure of areas on fresh seeds, with an interval from drawing these seeds again."""

    def measure(rows: Rows) -> Measurement | None:
        seeds = _seeds(rows)
        if not seeds:
            return None
        count = len(seeds)
        drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), RESAMPLES)
        draws = np.vstack([np.ones(count), drawn])

        def areas(kind: str, names: Sequence[str], one: bool) -> Array:
            runs = _runs(rows, kind, selecting=False)
            weights = draws[:, [seeds.index(number(row, "seed")) for row in runs]]
            wins = chosen(rows, KINDS if one else (kind,), names).wins(runs)
            return ((weights @ wins) * weights).sum(1) / weights.sum(1) ** 2

        value, *others = combine(areas)
        low, high = np.quantile(others, (0.025, 0.975))
        return Measurement(float(value), min(float(low), float(value)), max(float(high), float(value)), count)

    return measure


def _bad(runs: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(runs["bad"], dtype=np.int64)


def _runs(rows: Rows, kind: str, *, selecting: bool) -> Rows:
    """Return a kind's runs of the seeds that select, the multiples of 4, or of the fresh ones."""
    return rows.where(lambda row: (number(row, "seed") % 4 == 0) == selecting, kind="run", run=kind)


def _seeds(rows: Rows) -> list[float]:
    """Return the fresh seeds. There is none without one that selects."""
    seeds = sorted({*_runs(rows, KINDS[0], selecting=False)["seed"]})
    return seeds if len(_runs(rows, KINDS[0], selecting=True)) else []
