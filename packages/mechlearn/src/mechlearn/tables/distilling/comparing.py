"""Do columns known in training only help, on rows held out? What is compared, fold by fold.

Closed forms choose their strengths by cross-validation, networks have six configurations each, chosen and stopped early on
inner folds; nothing of a held-out row is seen, not its scale either.
"""
# scikit-learn and scipy have no stubs
# pyright: reportMissingTypeStubs=false

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from mechlearn.distill.closed_form import STRENGTHS, VotedTeachers
from mechlearn.tables.comparing import LATE, too_slow
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
from mechlearn.tables.fitting import Task, Training
from mechlearn.tables.reading_in import Numbers, Scaling, Table
from mechlearn.tables.saving.parts import NOWHERE, Parts


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
    """

    table: Table
    known: Sequence[Numbers]
    seed: int = 0
    training: Training = TRAINING
    whose: NDArray[Any] | None = None

    def rows(self, rows: NDArray[np.int64]) -> "Given":
        """Return what is given to learn from, of some rows."""
        inputs, scalings = Scaling.of_inputs(self.table.x[rows]), [Scaling.of(step[rows]) for step in self.known]
        steps = [scaling.applied(step[rows]) for scaling, step in zip(scalings, self.known, strict=True)]
        whose = None if self.whose is None else self.whose[rows]
        if whose is not None and len(np.unique(whose)) < FOLDS:  # too few to choose by
            whose = None
        table = self.table
        return Given(inputs, inputs.applied(table.x[rows]), table.y[rows], steps, table.task, self.seed, self.training, whose)


class Given(NamedTuple):
    """Rows to learn from.

    Attributes:
        inputs: how x was standardised.
        x: (n, J) standardised.
        y: (n, K) one column of 0 and 1 a class, or numbers.
        steps: (n, Q) standardised privileged columns of each step in time.
        task: what y is.
        seed: of everything random.
        training: of the networks.
        whose: (n,) whose each row is; None where rows are independent, or of too few to choose by.
    """

    inputs: Scaling
    x: Numbers
    y: Numbers
    steps: Sequence[Numbers]
    task: Task
    seed: int
    training: Training
    whose: NDArray[Any] | None = None

    @property
    def codes(self) -> Numbers:
        """(n, K), or (n, 1) of two classes."""
        return self.y[:, 1:] if self.task == "classification" and self.y.shape[1] == 2 else self.y


class Fitted(NamedTuple):
    """A candidate, fitted.

    Attributes:
        arrays: `mean` and `spread` of x, layers as in `mechlearn.tables.saving.models.Model`, `target mean`, `target spread`.
        scores: "probabilities" or "numbers", likewise.
        votes: of the closed-form recipes, where there was a vote.
    """

    arrays: Mapping[str, Numbers]
    scores: str
    votes: Mapping[str, float]

    def says(self, x: Numbers) -> Numbers:
        """Return (n, K) of rows in their own units."""
        a = self.arrays
        rows = Scaling(a["mean"], a["spread"]).applied(x)
        z = said(a, rows, "classification" if self.scores == "probabilities" else "regression").mean(0)
        return z if self.scores == "probabilities" else z * a["target spread"] + a["target mean"]


Fit = Callable[[Given], Fitted]


def _linear(given: Given, weight: Numbers, bias: Numbers, votes: Mapping[str, float]) -> Fitted:
    """A linear model of codes, (K, J) and (K,)."""
    if given.task == "classification" and len(weight) == 1:  # the second class's code; the first has what is left of 1
        weight, bias = np.concatenate([-weight, weight]), np.concatenate([1 - bias, bias])
    ones = np.ones(len(weight))
    layers = {"0.weight": weight[None], "0.bias": bias[None], "target mean": 0 * ones, "target spread": ones}
    return Fitted({"mean": given.inputs.mean, "spread": given.inputs.spread, **layers}, "numbers", votes)


def ridge(given: Given) -> Fitted:
    """Ridge, its strength by generalised cross-validation; by five folds of groups where rows are not independent."""
    by: dict[str, Any] = {}
    if given.whose is not None:
        cut = GroupKFold(min(5, len(np.unique(given.whose))), shuffle=True, random_state=given.seed)
        by = {"cv": list(cut.split(given.x, groups=given.whose)), "scoring": "neg_mean_squared_error"}
    model: Any = RidgeCV(STRENGTHS, **by).fit(given.x, given.codes)
    return _linear(given, np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), {})


def _vote(given: Given, taught: bool, only: Sequence[str] | None = None) -> Fitted:
    known = np.stack(list(given.steps), 1) if taught else None
    model = VotedTeachers(only=only, random_state=given.seed).fit(given.x, given.codes, known, given.whose)
    return _linear(given, model.coef_, model.intercept_, model.votes_)


def _network(given: Given, teach: Teach) -> Fitted:
    numbers = given.task == "regression"
    target = Scaling.of(given.y) if numbers else None
    y = given.y if target is None else target.applied(given.y)
    known = np.concatenate(list(given.steps), 1)
    learnt = teach(Lessons(given.x, y, known, given.task, given.training, given.seed, whose=given.whose))
    scale = {} if target is None else {"target mean": target.mean, "target spread": target.spread}
    arrays = {"mean": given.inputs.mean, "spread": given.inputs.spread, **learnt.layers, **scale}
    return Fitted(arrays, "numbers" if numbers else "probabilities", {})


IN_TIME = "LUPTS, with strengths"

CANDIDATES: dict[str, Fit] = {
    "ridge": ridge,
    "vote without privileged columns": partial(_vote, taught=False),
    "vote": partial(_vote, taught=True),
    IN_TIME: partial(_vote, taught=True, only=("C",)),
    "network": partial(_network, teach=alone),
    "auxiliary head": partial(_network, teach=auxiliary),
    "generalised distillation": partial(_network, teach=soft_targets),
    "bottleneck": partial(_network, teach=bottleneck),
    "LDT": partial(_network, teach=warm_ldt),
}
"""By the name that reports use. LUPTS (Karlsson et al. 2022) only where privileged columns are steps in time."""

REFERENCES = {
    "vote": "vote without privileged columns",
    IN_TIME: "ridge",
    "auxiliary head": "network",
    "generalised distillation": "network",
    "bottleneck": "network",
    "LDT": "network",
}
"""What each is held against: the same without privileged columns."""

ALWAYS = ("ridge", "vote without privileged columns", "vote", IN_TIME)
"""Closed forms: what always finishes."""


NETWORKS = 5
"""Candidates that are trained by gradients."""


class Found(NamedTuple):
    """What came out.

    Attributes:
        scores: of each candidate in each fold; points of balanced accuracy, or per cent of RMSE below ridge's.
        seconds: of computing, of each candidate, all folds.
        notes: on what was left out.
        predictions: of each candidate, (n, K) on the table's rows, each by what had not been trained on its fold.
    """

    scores: Mapping[str, list[float]]
    seconds: Mapping[str, float]
    notes: list[str]
    predictions: Mapping[str, Numbers]


def compare_taught(
    asked: Asked,
    folds: int = 10,
    budget: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    parts: Parts = NOWHERE,
) -> Found:
    """Compare all candidates on rows held out.

    Args:
        asked: the table.
        folds: of rows; as many as there are values of `whose`, or as the largest class has rows, if these are fewer.
        budget: seconds of computing, split evenly over the networks (closed forms take milliseconds); one that would need
            more is left out, and the notes say so.
        progress: told how many of how many fits are done.
        parts: results that are there already, and where to put others.
    """
    names = [name for name in CANDIDATES if name != IN_TIME or len(asked.known) > 1]
    errors: dict[str, list[float]] = {name: [] for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    predictions = {name: np.full(asked.table.y.shape, np.nan) for name in names}
    slow, done = list[str](), 0
    splits = splits_of(asked, folds)
    for place, (train, test) in enumerate(splits):
        for name in names:
            done += 1
            if name in slow:
                continue
            found = parts.made(f"{name} {place}", partial(_timed, asked, name, train, test))
            predictions[name][test] = found["prediction"]
            errors[name].append(_error(found["prediction"], asked.table, test))
            times[name].append(float(found["seconds"]))
            if budget is not None and name not in ALWAYS and too_slow(times[name], len(splits), budget / NETWORKS):
                slow.append(name)
            if progress is not None:
                progress(done, len(splits) * len(names))
    kept = {name: values for name, values in errors.items() if name not in slow}
    if asked.table.classes is None:
        first = np.array(kept["ridge"])
        kept = {name: (100 * (1 - np.array(values) / first)).tolist() for name, values in kept.items()}
    notes = [f"{name} {LATE}." for name in slow]
    return Found(kept, {name: sum(times[name]) for name in kept}, notes, {name: predictions[name] for name in kept})


def fitted(asked: Asked, name: str) -> Fitted:
    """Fit a candidate to all rows, to keep."""
    return CANDIDATES[name](asked.rows(np.arange(len(asked.table.x))))


def splits_of(asked: Asked, folds: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the rows to train on and those held out, fold by fold; rows of one of `asked.whose` are never on both sides."""
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


def _timed(asked: Asked, name: str, train: NDArray[np.int64], test: NDArray[np.int64]) -> dict[str, Any]:
    start = time.thread_time()  # not the wall's: what else the machine does must not decide who is left out
    prediction = CANDIDATES[name](asked.rows(train)).says(asked.table.x[test])
    return {"prediction": prediction, "seconds": np.array(time.thread_time() - start)}


def _error(prediction: Numbers, table: Table, test: NDArray[np.int64]) -> float:
    if table.classes is None:
        return float(np.sqrt(np.mean((prediction[:, 0] - table.labels[test]) ** 2)))
    with warnings.catch_warnings():  # a fold may lack a class: those that are there count
        warnings.simplefilter("ignore", UserWarning)
        return 100 * float(balanced_accuracy_score(table.labels[test], prediction.argmax(1)))
