"""The room: what a left-out site's own labelled rows would add, which is what any method for an unseen site could hope for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechlearn.tables.transport.evaluation import YARDSTICK, Outcome, Prediction, Trials
from mechlearn.tables.transport.folds import Rows, of_rows
from mechlearn.tables.transport.intervals import Interval, mean_over_sites
from mechlearn.tables.transport.scores import score

WORTH = 1.0
"""Points (hundredths of AUC or R squared) from which on a gain is worth it."""

WEIGHTS, OWN_FOLDS, MOST = (1, 3, 10), 3, 20
"""How often the site's own rows count, folds of these, and sites that are asked (drawn at random where there are more)."""


@dataclass(frozen=True, eq=False)
class Room:
    """How much better the best simple candidate is with the site's own rows in its pool.

    Attributes:
        gains: of each site, in points of AUC or R squared.
        weights: of each site how often its own rows counted; 0 where the others were best off without theirs.
        mean: of the gains.
        interval: of the mean over sites; None below 4 sites.
    """

    gains: Mapping[str, float]
    weights: Mapping[str, int]
    mean: float
    interval: Interval | None

    @property
    def word(self) -> str:
        """Return "none", "some" or "cannot tell"."""
        if self.interval is None:
            return "cannot tell"
        if self.interval.high < WORTH:
            return "none"
        return "some" if self.interval.low > 0 else "cannot tell"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        interval = None if self.interval is None else self.interval.as_dict()
        content = {"word": self.word, "mean": self.mean, "interval": interval, "worth": WORTH}
        return content | {"gains": dict(self.gains), "weights": dict(self.weights)}


def room(trials: Trials, outcome: Outcome) -> Room | None:
    """Return the room, or None where it is known at no site.

    Each site's own rows are cross-fitted in folds: those outside the fold join the pool, as often as is best on average at the
    *other* sites (never, too), and what is trained so predicts the fold.

    Args:
        trials: the table and its candidates.
        outcome: of folds of whole sites, with the yardstick's choice for each.
    """
    table = trials.table
    places = [(site, place) for place, fold in enumerate(outcome.folds) for site in fold]
    rows = {site: np.flatnonzero(table.site == site) for site, _ in places}
    asked = [
        one for one in places if score(table.labels[rows[one[0]]], outcome.predictions[YARDSTICK][rows[one[0]]]) is not None
    ]
    if len(asked) > MOST:
        asked = [asked[one] for one in np.sort(trials.generator.permutation(len(asked))[:MOST])]
    found: dict[str, list[float]] = {}
    for site, place in asked:
        train = np.flatnonzero(~np.isin(table.site, outcome.folds[place]))
        gains = _gains(trials, outcome, outcome.yardstick[place], train, rows[site])
        if np.isfinite(gains).all():
            found[table.sites[site]] = gains
        trials.told()
    return None if not found else _room(found)


def _gains(trials: Trials, outcome: Outcome, best: tuple[str, Any], train: Rows, own: Rows) -> list[float]:
    """Points that the site's own rows add, by weight; the first is 0, for none."""
    labels = trials.table.labels[own]
    folds = of_rows(trials.table, own, OWN_FOLDS, trials.generator)
    without = score(labels, outcome.predictions[YARDSTICK][own])
    found = [0.0]
    for weight in WEIGHTS:
        said: Prediction = trials.empty()
        often = max(1, min(weight, len(train) // len(own)))  # beyond the pool's size it is the site alone
        for fold in folds:
            pool = np.concatenate([train, np.tile(np.setdiff1d(own, fold), often)])
            said[fold] = trials.tried(best[0], best[1], pool, fold, f"with rows of site {_name(trials, own)}")
        there = score(labels, said[own])
        found.append(np.nan if there is None or without is None else 100 * (there - without))
    return found


def _name(trials: Trials, own: Rows) -> str:
    return trials.table.sites[int(trials.table.site[own[0]])]


def _room(found: Mapping[str, list[float]]) -> Room:
    """Take each site's gain at the weight that is best at the other sites; of one site, and of ties, the least weight."""
    gains, names = np.array(list(found.values())), list(found)
    others = (gains.sum(0) - gains) / max(1, len(names) - 1)
    picked = others.argmax(1)
    taken = {name: float(gains[place, picked[place]]) for place, name in enumerate(names)}
    weights = {name: (0, *WEIGHTS)[picked[place]] for place, name in enumerate(names)}
    return Room(taken, weights, float(np.mean([*taken.values()])), mean_over_sites([*taken.values()]))
