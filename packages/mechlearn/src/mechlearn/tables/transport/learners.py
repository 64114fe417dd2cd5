"""What is compared: a constant, tuned linear models, tuned boosting, a forest, and estimators of a person's own."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mechlearn.arguments import check_one_of
from mechlearn.tables.fitting import Task
from mechlearn.tables.reading_in import Table
from mechlearn.tables.transport.folds import Rows
from mechlearn.tables.transport.methods import method

STRENGTHS, PENALTIES = (0.003, 0.03, 0.3, 3.0), (1.0, 10.0, 100.0, 1000.0)
"""Settings of the linear models: of logistic regression the inverse of the penalty, of ridge the penalty."""

LEAVES, TREES = (4, 15), (10, 30, 60, 120)
"""Settings of boosting: leaves of a tree, and trees; one fit has every number of trees."""


class Learner(NamedTuple):
    """A candidate: an estimator of scikit-learn's kind for each setting, of which validation chooses one.

    Stages are values of `max_iter`, ascending: one fit with the largest is judged at each of them. A named candidate is a
    person's own, which sees the columns of their data frame, if there is one.
    """

    name: str
    settings: tuple[Any, ...]
    stages: tuple[int, ...] = ()
    named: bool = False

    def setting(self, place: int, stage: int) -> Any:  # noqa: ANN401  # an estimator
        """Return an estimator with one of its stages."""
        made: Any = self.settings[place]
        if self.stages:
            made = clone(made)
            made.set_params(max_iter=self.stages[stage])
        return made


def _constant(task: Task, seed: int) -> tuple[Any, ...]:
    return (DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor(),)


def _linear(task: Task, seed: int) -> tuple[Any, ...]:
    if task == "classification":
        models = [LogisticRegression(C=strength, max_iter=1000) for strength in STRENGTHS]
    else:
        models = [Ridge(alpha=penalty) for penalty in PENALTIES]
    return tuple(make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), model) for model in models)


def _boosting(task: Task, seed: int) -> tuple[Any, ...]:
    kind = HistGradientBoostingClassifier if task == "classification" else HistGradientBoostingRegressor
    off: Any = False  # annotated as text in scikit-learn
    return tuple(kind(max_leaf_nodes=leaves, max_iter=TREES[-1], early_stopping=off, random_state=seed) for leaves in LEAVES)


def _forest(task: Task, seed: int) -> tuple[Any, ...]:
    kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
    return (make_pipeline(SimpleImputer(keep_empty_features=True), kind(min_samples_leaf=3, random_state=seed)),)


SIMPLE: dict[str, Callable[[Task, int], tuple[Any, ...]]] = {
    "constant": _constant,
    "linear": _linear,
    "boosting": _boosting,
    "forest": _forest,
}
"""Candidates that scikit-learn has, by name: from task and seed to their settings. The best of them is the yardstick."""

DEFAULT = ("constant", "linear", "boosting")
"""Those of `SIMPLE` that are compared if nothing is said: a forest takes six times what boosting does."""


def simple_learners(names: Sequence[str], task: Task, seed: int) -> list[Learner]:
    """Return candidates of `SIMPLE` by name."""
    for name in names:
        check_one_of("simple", name, tuple(SIMPLE))
    if not names:
        raise ValueError(f"`simple` should name a candidate, as the best is the yardstick. Found none. Take of {list(SIMPLE)}.")
    stages = {"boosting": TREES}
    return [Learner(name, make(task, seed), stages.get(name, ())) for name, make in SIMPLE.items() if name in names]


def own_learners(candidates: Mapping[str, Any], task: Task, seed: int) -> list[Learner]:
    """Return a person's own candidates, and those by name where none is given; a random state that they leave open is set."""
    needed = ("fit", "get_params", "predict_proba" if task == "classification" else "predict")
    found: list[Learner] = []
    for name, estimator in candidates.items():
        if name in SIMPLE:
            raise ValueError(f"`candidates` should have names of their own. Found {name!r}, a simple one. Name it otherwise.")
        if estimator is None:
            found.append(Learner(name, (method(name, task, seed),)))
            continue
        lacks = [one for one in needed if isinstance(estimator, type) or not hasattr(estimator, one)]
        if lacks:
            raise TypeError(
                f"`candidates` should be estimators of scikit-learn's kind with {', '.join(needed)}. Found {name!r}, "
                f"{type(estimator).__name__}, without {lacks[0]}. Give one that has it, such as a made pipeline."
            )
        made: Any = clone(estimator)
        states = [key for key, value in made.get_params().items() if key.split("__")[-1] == "random_state" and value is None]
        found.append(Learner(name, (made.set_params(**dict.fromkeys(states, seed)),), named=True))
    return found


class Fit(NamedTuple):
    """One fit, which needs nothing else that is drawn; rows to train on may be repeated.

    Stages are numbers of trees to predict with, none for the estimator as it is. A named one sees the columns of a data frame,
    if there is one.
    """

    estimator: Any
    train: Rows
    asked: Rows
    stages: tuple[int, ...] = ()
    named: bool = False


def predicted(table: Table, fit: Fit, frame: Any = None) -> NDArray[np.float64]:  # noqa: ANN401  # of pandas
    """Fit and predict: (S, n, K) probabilities or (S, n) numbers of S stages, one where none is named.

    What fits with `groups` is told the training rows' sites.
    """
    labels = table.labels
    seen, x = (table.x[rows] if frame is None or not fit.named else frame.iloc[rows] for rows in (fit.train, fit.asked))
    with warnings.catch_warnings():  # once a fold would bury the answer
        warnings.simplefilter("ignore")
        fresh: Any = clone(fit.estimator)
        sites = {"groups": table.site[fit.train]} if "groups" in inspect.signature(fresh.fit).parameters else {}
        model = fresh.fit(seen, labels[fit.train], **sites)
        if table.classes is None:
            each = _at_stages(model.staged_predict(x), fit.stages) if fit.stages else [model.predict(x)]
            said = np.stack([np.asarray(one, dtype=np.float64).reshape(len(x)) for one in each])
        else:
            each = _at_stages(model.staged_predict_proba(x), fit.stages) if fit.stages else [model.predict_proba(x)]
            said = np.zeros((len(each), len(x), len(table.classes)))
            said[:, :, np.asarray(model.classes_, dtype=np.int64)] = np.stack(each)
    if not np.isfinite(said).all():
        raise ValueError("it predicts NaN or infinity")
    return said


def _at_stages(every: Iterable[Any], stages: Sequence[int]) -> list[Any]:
    return [one for place, one in enumerate(every, 1) if place in stages]


def tried(table: Table, fit: Fit, frame: Any = None) -> NDArray[np.float64] | str:  # noqa: ANN401
    """Return what `predicted` does, or the sentence of the error."""
    try:
        return predicted(table, fit, frame)
    except Exception as problem:  # of anybody's code: the others go on
        sentence = str(problem).strip().splitlines() or [""]
        return f"{type(problem).__name__}: {sentence[0]}".removesuffix(": ")
