"""What k labelled rows of the new site are worth: the pooled model moved by them, scored on the site's other rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import expit, logit

from mechlearn.tables.reading_in import SMALL, Scaling, Table
from mechlearn.tables.scores import error, score
from mechlearn.tables.transport.evaluation import YARDSTICK, Choice, Outcome, Prediction
from mechlearn.tables.transport.folds import Rows
from mechlearn.tables.transport.intervals import Interval, mean_over_sites
from mechlearn.tables.transport.random_effects import WAYS, Prior, SiteRows, Way, effects, prior_of

SIZES = (5, 10, 20, 50)
"""Labelled rows."""

DRAWS, TRIED, SITES, LEFT = 4, 2, 60, 10
"""Draws of labelled rows at a left-out site, and at a training site; sites at most that are read; rows left to judge on."""

CHOSEN, NONE = "chosen", "none"
"""The way that is best at training sites, which may be none."""


class Point(NamedTuple):
    """What so many labelled rows are worth.

    The gain is in points of AUC or R squared, mean over the sites that have enough rows and over draws, with its interval over
    sites, None below 4. The relief is how much lower log loss or RMSE is, as a share.
    """

    rows: int
    gain: float
    interval: Interval | None
    relief: float
    sites: int


@dataclass(frozen=True, eq=False)
class Curve:
    """What labelled rows of the new site are worth to the best simple candidate.

    Attributes:
        points: for "chosen" and each way to move the model its points, ascending in rows.
        picked: how often each way was best at training sites, over folds and numbers of rows.
    """

    points: Mapping[str, tuple[Point, ...]]
    picked: Mapping[str, int]

    def at(self, rows: int) -> Point | None:
        """Return the chosen way's point at the largest number of rows up to this one; None if there is none."""
        return next((one for one in reversed(self.points[CHOSEN]) if one.rows <= rows), None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {
            name: [{**one._asdict(), "interval": None if one.interval is None else one.interval.as_dict()} for one in points]
            for name, points in self.points.items()
        }
        return {"points": plain, "picked": dict(self.picked)}


class Design(NamedTuple):
    """Rows as the random effects see them: a table's inputs (n, J), standardised, 0 where one is missing."""

    table: Table
    x: Prediction

    @classmethod
    def of(cls, table: Table) -> "Design":
        """Return a table's design."""
        return cls(table, np.nan_to_num(Scaling.of_inputs(table.x).applied(table.x)))

    def rows(self, way: Way, said: Prediction, rows: Rows) -> list[SiteRows]:
        """Return some rows once an output."""
        table = self.table
        if table.classes is None:
            outputs, labels = said[rows][:, None], table.y[rows]
        else:
            outputs, labels = logit(np.clip(said[rows], 1e-4, 1 - 1e-4)), table.y[rows]
        columns = [1] if outputs.shape[1] == 2 else range(outputs.shape[1])
        return [SiteRows(self._design(way, outputs[:, one], rows), outputs[:, one], labels[:, one]) for one in columns]

    def _design(self, way: Way, output: Prediction, rows: Rows) -> Prediction:
        ones = np.ones((len(rows), 1))
        if way == "level":
            return ones
        return np.hstack([ones, output[:, None] if way == "recalibration" else self.x[rows]])

    def moved(self, asked: Sequence[SiteRows], found: Sequence[Prediction]) -> Prediction:
        """Return predictions with effects."""
        outputs = np.stack([one.offset + one.z @ b for one, b in zip(asked, found, strict=True)], 1)
        if self.table.classes is None:
            return outputs[:, 0]
        shares = expit(outputs)
        return np.hstack([1 - shares, shares]) if shares.shape[1] == 1 else shares / shares.sum(1, keepdims=True)


def labelled_rows(table: Table, outcome: Outcome, generator: Generator) -> Curve | None:
    """Return the curve, or None where no site has rows enough.

    Variances between sites, and the way that is best for each number of rows, come from the sites outside the fold's block:
    there the best simple candidate's validated predictions are those of a model that had not seen the site.
    """
    design = Design.of(table)
    places = [(site, place) for place, fold in enumerate(outcome.folds) for site in fold]
    places = [places[one] for one in np.sort(generator.permutation(len(places))[:SITES])]
    priors: dict[int, dict[Way, list[Prior]]] = {}
    best: dict[int, dict[int, str]] = {}
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for site, place in places:
        choice = outcome.choices[place]
        if id(choice) not in priors:
            sites = _training_sites(table, choice, generator)
            priors[id(choice)] = _priors(design, choice, sites)
            best[id(choice)] = _best(design, choice, sites, priors[id(choice)], generator)
        own = np.flatnonzero(table.site == site)
        gains = _gains(design, outcome.predictions[YARDSTICK], own, priors[id(choice)], (generator, DRAWS))
        for size in {size for _, size in gains}:
            gains[CHOSEN, size] = gains.get((best[id(choice)].get(size, NONE), size), (0.0, 0.0))
        for key, pair in gains.items():
            found.setdefault(key, []).append(pair)
    if not found:
        return None
    names = [name for name in (CHOSEN, *WAYS) if any(key[0] == name for key in found)]
    points = {name: tuple(_point(size, found[name, size]) for size in SIZES if (name, size) in found) for name in names}
    picked = [way for ways in best.values() for way in ways.values()]
    return Curve(points, {name: picked.count(name) for name in (NONE, *WAYS) if name in picked})


def _point(size: int, pairs: Sequence[tuple[float, float]]) -> Point:
    gains = [gain for gain, _ in pairs]
    relief = float(np.mean([relief for _, relief in pairs]))
    return Point(size, float(np.mean(gains)), mean_over_sites(gains), relief, len(gains))


def _training_sites(table: Table, choice: Choice, generator: Generator) -> list[Rows]:
    """Rows of the sites that validation predicted; of many, some drawn at random."""
    known = np.isfinite(choice.said.reshape(len(choice.said), -1)).all(1)
    sites = [site for site in np.unique(table.site[known]) if table.sites[site] != SMALL]
    picked = np.sort(generator.permutation(len(sites))[:SITES])
    return [np.flatnonzero(table.site == sites[one]) for one in picked]


def _priors(design: Design, choice: Choice, sites: Sequence[Rows]) -> dict[Way, list[Prior]]:
    """How sites differ, for each way and output; none where there are too few of them to tell."""
    if len(sites) < 3:
        return {}
    classes = design.table.classes is not None
    found: dict[Way, list[Prior]] = {}
    for way in WAYS:
        each = [design.rows(way, choice.said, rows) for rows in sites]
        found[way] = [prior_of([one[output] for one in each], classes) for output in range(len(each[0]))]
    return found


def _best(
    design: Design, choice: Choice, sites: Sequence[Rows], priors: Mapping[Way, Sequence[Prior]], generator: Generator
) -> dict[int, str]:
    """For each number of labelled rows the way that lowers the error most at training sites, by more than a standard error."""
    found: dict[tuple[str, int], list[float]] = {}
    for rows in sites:
        for key, (_, relief) in _gains(design, choice.said, rows, priors, (generator, TRIED)).items():
            found.setdefault(key, []).append(relief)
    best: dict[int, str] = {}
    for size in SIZES:
        known = {way: one for way in WAYS if len(one := found.get((way, size), [])) > 2}
        sure = {way: np.mean(one) for way, one in known.items() if np.mean(one) > np.std(one, ddof=1) / np.sqrt(len(one))}
        best[size] = max(sure, key=lambda way: sure[way]) if sure else NONE
    return best


def _gains(
    design: Design, said: Prediction, own: Rows, priors: Mapping[Way, Sequence[Prior]], drawn: tuple[Generator, int]
) -> dict[tuple[str, int], tuple[float, float]]:
    """For each way and number of labelled rows of a site the points gained on its others, and how much lower the error is."""
    labels, found = design.table.labels, dict[tuple[str, int], list[tuple[float, float]]]()
    generator, draws = drawn
    for _ in range(draws):
        mixed = generator.permutation(own)
        for size in SIZES:
            known, asked = mixed[:size], mixed[size:]
            before = score(labels[asked], said[asked]) if len(asked) >= LEFT else None
            if before is None:
                continue
            lost = error(labels[asked], said[asked])
            for way, prior in priors.items():
                there = design.rows(way, said, known)
                b = [effects(one, each) for one, each in zip(there, prior, strict=True)]
                now = design.moved(design.rows(way, said, asked), b)
                after, less = score(labels[asked], now), error(labels[asked], now)
                if after is not None:
                    found.setdefault((way, size), []).append((100 * (after - before), 1 - less / lost if lost > 0 else 0.0))
    means = {key: np.mean(pairs, axis=0) for key, pairs in found.items()}
    return {key: (float(one[0]), float(one[1])) for key, one in means.items()}
