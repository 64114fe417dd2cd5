"""Do columns known in training only help, on rows held out? What is compared, fold by fold.

Closed forms choose their strengths by cross-validation, networks have six configurations each, chosen and stopped early on
inner folds; nothing of a held-out row is seen, not its scale either. Classes weigh what they are, and the verdict is drawn on
AUC or R squared, so that no threshold has a say.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from mechlearn.distill.closed_form import STRENGTHS, VotedTeachers
from mechlearn.tables.candidates import STRENGTHS as PENALTIES
from mechlearn.tables.candidates import boosted, probabilities
from mechlearn.tables.comparing import SETTINGS, Limits, by_folds, settings_within, short_note, timed
from mechlearn.tables.distilling.meta import warm_ldt
from mechlearn.tables.distilling.students import (
    FOLDS,
    TRAINING,
    Lessons,
    Teach,
    alone,
    auxiliary,
    bottleneck,
    said,
    soft_targets,
)
from mechlearn.tables.fitting import Training
from mechlearn.tables.reading_in import Numbers, Scaling, Table
from mechlearn.tables.saving.parts import NOWHERE, Parts
from mechlearn.tables.scores import score

PILOT = 16
"""Training steps by which time is estimated: two rounds of LDT."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A table with columns known in training only.

    Args:
        table: inputs and target.
        known: (n, Q) of each step in time; NaN where a number is missing.
        seed: of everything random.
        training: of the networks.
        whose: (n,) whose each row of the table is; rows of one lie in one fold, of what is held out and of what chooses
            settings and stops training. None where rows are independent.
        settings: how many of its configurations each network may have.
    """

    table: Table
    known: Sequence[Numbers]
    seed: int = 0
    training: Training = TRAINING
    whose: NDArray[Any] | None = None
    settings: int = SETTINGS[0]

    def rows(self, rows: NDArray[np.int64]) -> "Given":
        """Return what is given to learn from, of some rows."""
        inputs, scalings = Scaling.of_inputs(self.table.x[rows]), [Scaling.of(step[rows]) for step in self.known]
        steps = [scaling.applied(step[rows]) for scaling, step in zip(scalings, self.known, strict=True)]
        whose = None if self.whose is None else self.whose[rows]
        if whose is not None and len(np.unique(whose)) < FOLDS:  # too few to choose by
            whose = None
        known, y = np.concatenate(steps, 1), self.table.y[rows]
        target = Scaling.of(y) if self.table.classes is None else None
        wanted = y if target is None else target.applied(y)
        x, task = inputs.applied(self.table.x[rows]), self.table.task
        lessons = Lessons(x, wanted, known, task, self.training, self.seed, whose=whose, settings=self.settings)
        return Given(inputs, y, steps, target, lessons)


class Given(NamedTuple):
    """Rows to learn from.

    Privileged columns are (n, Q) of each step in time, standardised as networks and folds take the lessons; y (n, K), one
    column of 0 and 1 a class or numbers, is in its own units. A target's scaling is of numbers only.
    """

    inputs: Scaling
    y: Numbers
    steps: Sequence[Numbers]
    target: Scaling | None
    lessons: Lessons

    @property
    def x(self) -> Numbers:
        """(n, J) standardised."""
        return self.lessons.x

    @property
    def codes(self) -> Numbers:
        """(n, K), or (n, 1) of two classes."""
        return self.y[:, 1:] if self.target is None and self.y.shape[1] == 2 else self.y


class Fitted(NamedTuple):
    """A candidate, fitted.

    Attributes:
        arrays: `mean` and `spread` of x, layers as in `mechlearn.tables.saving.models.Model`, `target mean`, `target spread`.
        scores: "probabilities" or "numbers", likewise.
        votes: of the closed-form recipes, where there was a vote.
        estimator: of scikit-learn, in the place of layers.
        width: K.
    """

    arrays: Mapping[str, Numbers]
    scores: str
    votes: Mapping[str, float]
    estimator: Any = None
    width: int = 0

    def says(self, x: Numbers) -> Numbers:
        """Return (n, K) of rows in their own units."""
        a = self.arrays
        rows = Scaling(a["mean"], a["spread"]).applied(x)
        classes = self.scores == "probabilities"
        if self.estimator is not None:
            z = probabilities(self.estimator, rows, self.width if classes else None)
        else:
            z = said(a, rows, "classification" if classes else "regression").mean(0)
        return z if classes else z * a["target spread"] + a["target mean"]


Fit = Callable[[Given], Fitted]


def _fitted(given: Given, layers: Mapping[str, Numbers], estimator: Any = None) -> Fitted:  # noqa: ANN401  # scikit-learn's
    """What was trained by log loss, or on standardised numbers."""
    arrays, width = {"mean": given.inputs.mean, "spread": given.inputs.spread, **layers}, given.y.shape[1]
    if given.target is None:
        return Fitted(arrays, "probabilities", {}, estimator, width)
    arrays |= {"target mean": given.target.mean, "target spread": given.target.spread}
    return Fitted(arrays, "numbers", {}, estimator, width)


def _linear(given: Given, weight: Numbers, bias: Numbers, votes: Mapping[str, float]) -> Fitted:
    """A linear model of codes, (K, J) and (K,)."""
    if given.target is None and len(weight) == 1:  # the second class's code; the first has what is left of 1
        weight, bias = np.concatenate([-weight, weight]), np.concatenate([1 - bias, bias])
    ones = np.ones(len(weight))
    layers = {"0.weight": weight[None], "0.bias": bias[None], "target mean": 0 * ones, "target spread": ones}
    return Fitted({"mean": given.inputs.mean, "spread": given.inputs.spread, **layers}, "numbers", votes)


def ridge(given: Given) -> Fitted:
    """Ridge, its strength by generalised cross-validation; by five folds of groups where rows are not independent."""
    by: dict[str, Any] = {}
    whose, seed = given.lessons.whose, given.lessons.seed
    if whose is not None:
        cut = GroupKFold(min(5, len(np.unique(whose))), shuffle=True, random_state=seed)
        by = {"cv": list(cut.split(given.x, groups=whose)), "scoring": "neg_mean_squared_error"}
    model: Any = RidgeCV(STRENGTHS, **by).fit(given.x, given.codes)
    return _linear(given, np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), {})


def logistic(given: Given) -> Fitted:
    """Logistic regression, its strength by the log loss on three folds of rows, or of groups."""
    labels, folds, width = given.y.argmax(1), given.lessons.folds, given.y.shape[1]
    losses = np.zeros(len(PENALTIES))
    for fold in range(FOLDS):
        inside = folds != fold
        if len(np.unique(labels[inside])) > 1:
            for place, strength in enumerate(PENALTIES):
                model = _logistic(given.x[inside], labels[inside], strength)
                right = probabilities(model, given.x[~inside], width)[np.arange((~inside).sum()), labels[~inside]]
                losses[place] -= np.log(np.maximum(right, 1e-6)).sum()
    model = _logistic(given.x, labels, PENALTIES[int(losses.argmin())])
    weight, bias, seen = model.coef_, model.intercept_, model.classes_
    if len(weight) == 1:  # of two classes scikit-learn keeps the second's logit
        weight, bias = np.concatenate([0 * weight, weight]), np.concatenate([0 * bias, bias])
    layers = {"0.weight": np.zeros((1, width, weight.shape[1])), "0.bias": np.full((1, width), UNSEEN)}
    layers["0.weight"][0, seen], layers["0.bias"][0, seen] = weight, bias
    return _fitted(given, layers)


def _logistic(x: Numbers, labels: NDArray[np.int64], strength: float) -> Any:  # noqa: ANN401  # scikit-learn's
    return LogisticRegression(C=1 / (strength * len(x)), max_iter=200).fit(x, labels)


def boosting(given: Given) -> Fitted:
    """Histogram gradient boosting, as `mechlearn fit agreement` has it."""
    return _fitted(given, {}, boosted(given.x, given.lessons.y, given.lessons.seed, given.target is None))


def _vote(given: Given, taught: bool, only: Sequence[str] | None = None) -> Fitted:
    known = np.stack(list(given.steps), 1) if taught else None
    model = VotedTeachers(only=only, random_state=given.lessons.seed).fit(given.x, given.codes, known, given.lessons.whose)
    return _linear(given, model.coef_, model.intercept_, model.votes_)


def _network(given: Given, teach: Teach) -> Fitted:
    return _fitted(given, teach(given.lessons).layers)


UNSEEN = -1e3
"""Logit of a class that training has not seen."""

IN_TIME = "LUPTS, with strengths"

CANDIDATES: dict[str, Fit] = {
    "ridge": ridge,
    "logistic": logistic,
    "boosting": boosting,
    "vote without privileged columns": partial(_vote, taught=False),
    "vote": partial(_vote, taught=True),
    IN_TIME: partial(_vote, taught=True, only=("C",)),
    "network": partial(_network, teach=alone),
    "auxiliary head": partial(_network, teach=auxiliary),
    "generalised distillation": partial(_network, teach=soft_targets),
    "bottleneck": partial(_network, teach=bottleneck),
    "LDT": partial(_network, teach=warm_ldt),
}
"""By the name that reports use. Logistic regression only of classes; LUPTS (Karlsson et al. 2022) only of steps in time."""

UNTAUGHT = ("ridge", "logistic", "boosting", "vote without privileged columns", "network")
"""What needs no privileged columns: the best of them is the yardstick of every verdict."""


class Found(NamedTuple):
    """What came out.

    Attributes:
        scores: of each candidate in each fold where it is defined, in points of AUC or R squared.
        errors: mean squared errors in the same folds; of classes Brier scores, as closed forms give codes and no logarithms.
        seconds: of computing, of each candidate, all folds.
        notes: on what was left out.
        predictions: of each candidate, (n, K) on the table's rows, each by what had not been trained on its fold.
        overlap: rows held out for each row trained on (`mechlearn.tables.verdict.t_interval`).
        settings: that each network had.
    """

    scores: Mapping[str, list[float]]
    errors: Mapping[str, list[float]]
    seconds: Mapping[str, float]
    notes: list[str]
    predictions: Mapping[str, Numbers]
    overlap: float
    settings: int


def compare_taught(
    asked: Asked,
    folds: int = 10,
    budget: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    parts: Parts = NOWHERE,
) -> Found:
    """Compare all candidates on rows held out, in the folds that `splits_of` makes; budget and parts as in `compare_table`."""
    names = [name for name in CANDIDATES if name != IN_TIME or len(asked.known) > 1]
    names = [name for name in names if name != "logistic" or asked.table.classes is not None]
    splits = splits_of(asked, folds)
    if budget is not None:
        made = parts.made("settings", lambda: {"settings": np.array(_settings(asked, splits, budget))})
        asked = replace(asked, settings=int(made["settings"]))
    fits = ((test, {name: partial(_prediction, asked, train, test, name) for name in names}) for train, test in splits)
    predictions, seconds, made = by_folds(names, fits, len(splits), asked.table.y.shape, Limits(budget, progress, parts))
    notes = short_note(asked.settings, made, len(splits), "folds")
    # AUC needs two classes.
    judged = [test for _, test in splits[:made] if asked.table.classes is None or len(np.unique(asked.table.labels[test])) > 1]
    scores = {name: [_points(asked.table, said[test], test) for test in judged] for name, said in predictions.items()}
    errors = {name: [_error(asked.table, said[test], test) for test in judged] for name, said in predictions.items()}
    if not judged:
        raise ValueError(
            "Some fold should hold more than one class. Found one in each: environment and target say the same. Leave "
            "--environment out, or name another column."
        )
    return Found(scores, errors, seconds, notes, predictions, 1 / (len(splits) - 1), asked.settings)


def _points(table: Table, said: Numbers, test: NDArray[np.int64]) -> float:
    """AUC in points; R squared as well, against the variance of all rows, as that of a few in a fold is chance."""
    if table.classes is None:
        return 100 * (1 - float(np.mean((said[:, 0] - table.labels[test]) ** 2)) / float(np.var(table.labels)))
    found = score(table.labels[test], said)
    return float("nan") if found is None else 100 * found


def _error(table: Table, said: Numbers, test: NDArray[np.int64]) -> float:
    return float(np.mean(np.sum((said - table.y[test]) ** 2, 1)))


def _settings(asked: Asked, splits: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], budget: float) -> int:
    """Settings that there is time for, by a few steps of LDT, the dearest; what is kept costs as much as a fold."""
    few = min(PILOT, asked.training.steps)
    pilot = replace(asked, training=replace(asked.training, steps=few))
    taken = [float(timed(partial(_prediction, pilot, *splits[0], "LDT"))["seconds"]) for _ in range(2)]
    # All others together take about as long.
    return settings_within(2 * taken[1] * asked.training.steps / few * (len(splits) + 1), budget)


def fitted(asked: Asked, name: str) -> Fitted:
    """Fit a candidate to all rows, to keep."""
    return CANDIDATES[name](asked.rows(np.arange(len(asked.table.x))))


def splits_of(asked: Asked, folds: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the rows to train on and those held out, fold by fold; rows of one of `asked.whose` are never on both sides.

    There are as many folds as there are values of `whose`, or as the largest class has rows, if these are fewer.
    """
    numbers = asked.table.classes is None
    folds = folds if numbers else _for_classes(asked.table, folds)
    if asked.whose is None:
        kind: Any = KFold if numbers else StratifiedKFold
    else:
        kind, folds = GroupKFold if numbers else StratifiedGroupKFold, min(folds, len(np.unique(asked.whose)))
    cut = kind(folds, shuffle=True, random_state=asked.seed)
    return list(cut.split(asked.table.x, asked.table.labels, asked.whose))


def _for_classes(table: Table, folds: int) -> int:
    """As many folds as the largest class has rows, if these are fewer: more cannot be stratified."""
    most = int(table.y.sum(0).max())
    if most < 2:
        raise ValueError(
            "Folds hold out rows of a class and train on others of it, so some class should have two rows or more. Found one "
            f"row of each of {table.y.shape[1]} classes. Ask for regression, or make larger classes of them."
        )
    return min(folds, most)


def _prediction(asked: Asked, train: NDArray[np.int64], test: NDArray[np.int64], name: str) -> Numbers:
    return CANDIDATES[name](asked.rows(train)).says(asked.table.x[test])
