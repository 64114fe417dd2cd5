"""The drop from random folds to a left-out site, split into base rate, inputs and relation, and these by column.

With losses l, P the rows of the other sites as random folds predict them, and Q those of the left-out site as it is predicted
unseen, the drop E_Q[l] - E_P[l] is the sum of three parts:

    base rate  E_P'[l] - E_P[l], P' being P with the classes' shares of Q, weights q(y) / p(y); 0 for numbers
    inputs     (E_S[R_P'] - E_P'[R_P']) + (E_Q[R_Q] - E_S[R_Q])
    relation   E_S[R_Q] - E_S[R_P']

where R(x) = E[l | x], and S is what both share, s(x) proportional to p'(x) q(x) / (p'(x) + q(x)). A classifier of P' and Q
with equal weights, pi(x), gives its weights: pi on rows of P', 1 - pi on rows of Q. Inputs are the X shifts and the relation is
the Y|X shift of Cai, Namkoong and Yadlowsky, "Diagnosing Model Performance Under Distribution Shift" (2023).
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from mechlearn.tables.reading_in import Table
from mechlearn.tables.transport.folds import Rows
from mechlearn.tables.transport.intervals import Interval, mean_over_sites
from mechlearn.tables.transport.labelled import Design
from mechlearn.tables.transport.random_effects import effects, prior_of

Numbers = NDArray[np.float64]

MOST, ROWS, COLUMNS = 20, 5000, 5
"""Sites that are split, rows of P that are read, and columns that are named."""

PARTS = ("base rate", "inputs", "relation")


class Column(NamedTuple):
    """What one column has to do with the drop.

    The inputs' part is the mean over sites of what P loses more where its rows are weighted to have Q's values of this column
    alone. The relation's is that of what Q loses less with a slope of this column of its own; 0 where no slope differs.
    """

    name: str
    inputs: float
    relation: float


@dataclass(frozen=True, eq=False)
class Drop:
    """The drop in log loss, or in squared error as a share of the target's variance.

    Attributes:
        sites: of each its parts; their sum is the site's drop.
        mean: of each part over sites.
        intervals: of these means; None below 4 sites.
        columns: those with the largest parts.
    """

    sites: Mapping[str, Mapping[str, float]]
    mean: Mapping[str, float]
    intervals: Mapping[str, Interval | None]
    columns: tuple[Column, ...]

    @property
    def sentence(self) -> str:
        """Return what the drop is made of."""
        total, (largest, most) = sum(self.mean.values()), max(self.mean.items(), key=lambda pair: pair[1])
        if most <= 0.005:
            return "Left-out sites are predicted about as well as random folds: there is no drop to split."
        parts = ", ".join(f"{name} {value:+.3f}" for name, value in self.mean.items())
        key = "relation" if largest == "relation" else "inputs"
        named = [one.name for one in sorted(self.columns, key=lambda one: -getattr(one, key)) if getattr(one, key) > 0.002][:3]
        of = f", above all of {', '.join(named)}" if named and largest != "base rate" else ""
        if total <= 0.005:
            return f"The loss does not rise from random folds to left-out sites: its parts make up for each other ({parts})."
        return f"The loss rises by {total:.3f} from random folds to left-out sites ({parts}): mostly {largest}{of}."

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        intervals = {name: None if one is None else one.as_dict() for name, one in self.intervals.items()}
        sites = {name: dict(parts) for name, parts in self.sites.items()}
        columns = [one._asdict() for one in self.columns]
        return {"sites": sites, "mean": dict(self.mean), "intervals": intervals, "columns": columns}


def drop(table: Table, sites: Sequence[int], said: Numbers, mixed: Numbers, generator: Generator) -> Drop | None:
    """Return the drop, or None where nothing was predicted.

    What is said had not seen the row's site, and what is mixed not the row. The generator draws the sites and rows that are
    read, where there are many.
    """
    design = Design.of(table)
    there, before = losses(table, said), losses(table, mixed)
    sites = [site for site in sites if np.isfinite(there[table.site == site]).all()]
    if len(sites) < 2 or not np.isfinite(before[np.isin(table.site, sites)]).all():
        return None
    picked = [sites[one] for one in np.sort(generator.permutation(len(sites))[:MOST])]
    found, shifts = dict[str, dict[str, float]](), np.zeros(table.x.shape[1])
    for site in picked:
        q, p = np.flatnonzero(table.site == site), np.flatnonzero(np.isin(table.site, sites) & (table.site != site))
        p = np.sort(generator.permutation(p)[:ROWS])
        weights = _base_rates(table, p, q)
        pi = share_of_q(design.x, p, q, weights)
        found[table.sites[site]] = dict(zip(PARTS, parts(before[p], there[q], weights, pi), strict=True))
        shifts += [_of_column(design.x[:, one], p, q, before[p]) / len(picked) for one in range(len(shifts))]
    relations = _relations(design, sites, said, there)
    order = np.argsort(-np.maximum(np.abs(shifts), np.abs(relations)))[:COLUMNS]
    columns = tuple(Column(table.names[one], float(shifts[one]), float(relations[one])) for one in order)
    by_part = {name: [one[name] for one in found.values()] for name in PARTS}
    means = {name: float(np.mean(values)) for name, values in by_part.items()}
    return Drop(found, means, {name: mean_over_sites(values) for name, values in by_part.items()}, columns)


def losses(table: Table, said: Numbers) -> Numbers:
    """Return (n,) the log loss of each row, or its squared error as a share of the target's variance."""
    if table.classes is None:
        return (table.y[:, 0] - said) ** 2 / table.y.var()
    return -np.log(np.clip(np.sum(said * table.y, 1), 1e-4, 1.0))


def parts(p: Numbers, q: Numbers, weights: Numbers, pi: tuple[Numbers, Numbers]) -> tuple[float, float, float]:
    """Return base rate, inputs and relation, from losses of P and Q, P's weights of base rates, and pi at both."""
    of_p, of_q = pi
    plain, rated = float(p.mean()), float(np.average(p, weights=weights))
    shared_p, shared_q = float(np.average(p, weights=weights * of_p)), float(np.average(q, weights=1 - of_q))
    return rated - plain, (shared_p - rated) + (float(q.mean()) - shared_q), shared_q - shared_p


def _base_rates(table: Table, p: Rows, q: Rows) -> Numbers:
    """Weights q(y) / p(y); 1 for numbers."""
    if table.classes is None:
        return np.ones(len(p))
    ratio = table.y[q].mean(0) / np.maximum(table.y[p].mean(0), 1 / len(p))
    return ratio[table.labels[p]]


def share_of_q(x: Numbers, p: Rows, q: Rows, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Return pi at the rows of P and of Q, each by a logistic regression that had not seen the row, from .01 to .99."""
    rows, label = np.concatenate([p, q]), np.repeat([0, 1], [len(p), len(q)])
    each = np.concatenate([weights / weights.sum(), np.full(len(q), 1 / len(q))]) * len(q)
    fold, pi = np.concatenate([np.arange(len(p)), np.arange(len(q))]) % 3, np.full(len(rows), 0.5)
    for one in range(3):
        seen = fold != one
        if len(q) >= 3 and each[seen & (label == 0)].sum() > 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model: Any = LogisticRegression(C=1.0, max_iter=200).fit(x[rows[seen]], label[seen], sample_weight=each[seen])
            pi[~seen] = model.predict_proba(x[rows[~seen]])[:, 1]
    pi = np.clip(pi, 0.01, 0.99)
    return pi[: len(p)], pi[len(p) :]


def _of_column(values: Numbers, p: Rows, q: Rows, lost: Numbers) -> float:
    """What P loses more with Q's shares of tenths of a column's values."""
    edges = np.unique(np.quantile(values[p], np.linspace(0.1, 0.9, 9)))
    of_p, of_q = np.digitize(values[p], edges), np.digitize(values[q], edges)
    counts, wanted = np.bincount(of_p, minlength=len(edges) + 1), np.bincount(of_q, minlength=len(edges) + 1)
    share = np.where(counts > 0, wanted / np.maximum(counts, 1), 0.0)
    weights = share[of_p]
    return float(np.average(lost, weights=weights) - lost.mean()) if weights.sum() > 0 else 0.0


def _relations(design: Design, sites: Sequence[int], said: Numbers, lost: Numbers) -> Numbers:
    """What sites lose less with each column's slope of their own, as the random effects of all their rows find it."""
    table, found = design.table, np.zeros(design.x.shape[1])
    if len(sites) < 3:
        return found
    rows = [np.flatnonzero(table.site == site) for site in sites]
    each = [design.rows("slopes", said, own) for own in rows]
    priors = [prior_of([one[output] for one in each], table.classes is not None) for output in range(len(each[0]))]
    for own, outputs in zip(rows, each, strict=True):
        b = [effects(one, prior) for one, prior in zip(outputs, priors, strict=True)]
        for column in np.flatnonzero(np.any([one != 0 for one in b], axis=0)[1:]):
            alone = [np.where(np.arange(len(one)) == column + 1, one, 0.0) for one in b]
            moved = np.full_like(said, np.nan)
            moved[own] = design.moved(outputs, alone)
            found[column] += float(np.mean(lost[own] - losses(table, moved)[own])) / len(sites)
    return found
