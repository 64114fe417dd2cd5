"""The room: what a left-out site's own labelled rows would add, which is what any method for an unseen site could hope for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mechlearn.tables.reading_in import Table
from mechlearn.tables.scores import score
from mechlearn.tables.transport.evaluation import YARDSTICK, Failure, Outcome, Trials
from mechlearn.tables.transport.folds import Rows, of_rows
from mechlearn.tables.transport.intervals import Interval, mean_over_sites
from mechlearn.tables.transport.learners import Fit

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


def room(trials: Trials, outcome: Outcome, most: int = MOST, weights: Sequence[int] = WEIGHTS) -> Room | None:
    """Return the room, or None where it is known at no site; of many sites `most`, drawn at random, are asked.

    Each site's own rows are cross-fitted in folds: those outside the fold join the pool, as often (of the weights) as is best
    on average at the *other* sites (never, too), and what is trained so predicts the fold.
    """
    table = trials.table
    places = [(site, place) for place, fold in enumerate(outcome.folds) for site in fold]
    rows = {site: np.flatnonzero(table.site == site) for site, _ in places}
    unseen = outcome.predictions[YARDSTICK]
    asked = [one for one in places if score(table.labels[rows[one[0]]], unseen[rows[one[0]]]) is not None]
    if len(asked) > most:
        asked = [asked[one] for one in np.sort(trials.generator.permutation(len(asked))[:most])]
    folds = {site: of_rows(table, rows[site], OWN_FOLDS, trials.generator) for site, _ in asked}
    added = [(site, place, weight, fold) for site, place in asked for weight in weights for fold in folds[site]]
    said = {(site, weight): trials.empty() for site, _ in asked for weight in weights}
    fits = [_with_own(table, outcome, place, weight, (rows[site], fold)) for site, place, weight, fold in added]
    for (site, place, weight, fold), found in zip(added, trials.made(fits), strict=True):
        if isinstance(found, str):
            trials.failures.append(Failure(outcome.choices[place].best, f"with rows of site {table.sites[site]}", found))
        else:
            said[site, weight][fold] = found[0]
    gains: dict[str, list[float]] = {}
    for site, _ in asked:
        own = rows[site]
        every = [score(table.labels[own], one[own]) for one in (unseen, *(said[site, weight] for weight in weights))]
        scores = [one for one in every if one is not None]
        if len(scores) == len(every):
            gains[table.sites[site]] = [100 * (one - scores[0]) for one in scores]
    return _room(gains, (0, *weights)) if gains else None


def _with_own(table: Table, outcome: Outcome, place: int, weight: int, own: tuple[Rows, Rows]) -> Fit:
    """Return the yardstick's fit on the other sites' rows and, `weight` times, the site's own outside one of its folds."""
    rows, fold = own
    train = np.flatnonzero(~np.isin(table.site, outcome.folds[place]))
    often = max(1, min(weight, len(train) // len(rows)))  # beyond the pool's size it is the site alone
    choice = outcome.choices[place]
    return Fit(choice.settings[choice.best], np.concatenate([train, np.tile(np.setdiff1d(rows, fold), often)]), fold)


def _room(found: Mapping[str, list[float]], often: Sequence[int]) -> Room:
    """Take each site's gain at the weight that is best at the other sites; of one site, and of ties, the least weight.

    Where that is 0 the gain is 0 without any doubt, which is not what one knows of the room. The interval is of the best weight
    above 0 then, and holds 0.
    """
    gains, names = np.array(list(found.values())), list(found)
    others = (gains.sum(0) - gains) / max(1, len(names) - 1)
    picked, places = others.argmax(1), np.arange(len(names))
    span = mean_over_sites(gains[places, 1 + others[:, 1:].argmax(1)].tolist())
    if span is not None and not picked.all():
        span = replace(span, low=min(span.low, 0.0), high=max(span.high, 0.0))
    taken = gains[places, picked]
    weights = {name: often[pick] for name, pick in zip(names, picked, strict=True)}
    return Room(dict(zip(names, taken.tolist(), strict=True)), weights, float(taken.mean()), span)
