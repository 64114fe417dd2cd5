"""What is compared: a constant, tuned linear models, boosting, a forest, and estimators of a person's own."""
# scikit-learn and scipy have no stubs
# pyright: reportMissingTypeStubs=false

import warnings
from collections.abc import Callable, Mapping, Sequence
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

STRENGTHS, PENALTIES = (0.003, 0.03, 0.3, 3.0), (1.0, 10.0, 100.0, 1000.0)
"""Settings of the linear models: of logistic regression the inverse of the penalty, of ridge the penalty."""


class Learner(NamedTuple):
    """A candidate.

    Attributes:
        name: of it.
        settings: an estimator of scikit-learn's kind for each; the one to use is chosen by validation.
    """

    name: str
    settings: tuple[Any, ...]


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
    return (kind(max_leaf_nodes=15, early_stopping=off, random_state=seed),)


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


def simple_learners(names: Sequence[str], task: Task, seed: int) -> list[Learner]:
    """Return candidates of `SIMPLE` by name.

    Raises:
        ValueError: if a name is unknown, or there is none.
    """
    for name in names:
        check_one_of("simple", name, tuple(SIMPLE))
    if not names:
        raise ValueError(f"`simple` should name a candidate, as the best is the yardstick. Found none. Take of {list(SIMPLE)}.")
    return [Learner(name, make(task, seed)) for name, make in SIMPLE.items() if name in names]


def own_learners(candidates: Mapping[str, Any], task: Task, seed: int) -> list[Learner]:
    """Return a person's own candidates; a random state that they leave open is set.

    Raises:
        TypeError, ValueError: if one is no estimator, cannot predict what is asked, or has the name of another one.
    """
    needed = ("fit", "get_params", "predict_proba" if task == "classification" else "predict")
    found: list[Learner] = []
    for name, estimator in candidates.items():
        if name in SIMPLE:
            raise ValueError(f"`candidates` should have names of their own. Found {name!r}, a simple one. Name it otherwise.")
        lacks = [one for one in needed if isinstance(estimator, type) or not hasattr(estimator, one)]
        if lacks:
            raise TypeError(
                f"`candidates` should be estimators of scikit-learn's kind with {', '.join(needed)}. Found {name!r}, "
                f"{type(estimator).__name__}, without {lacks[0]}. Give one that has it, such as a made pipeline."
            )
        made: Any = clone(estimator)
        states = [key for key, value in made.get_params().items() if key.split("__")[-1] == "random_state" and value is None]
        found.append(Learner(name, (made.set_params(**dict.fromkeys(states, seed)),)))
    return found


def predicted(estimator: Any, table: Table, train: Rows, asked: Rows) -> NDArray[np.float64]:  # noqa: ANN401  # of any library
    """Fit on some rows, which may be repeated, and predict others: (n, K) probabilities, or (n,) numbers.

    Raises:
        Exception: whatever the estimator raises.
        ValueError: if it predicts what is no finite number.
    """
    labels = table.labels
    with warnings.catch_warnings():  # once a fold would bury the answer
        warnings.simplefilter("ignore")
        fresh: Any = clone(estimator)
        model = fresh.fit(table.x[train], labels[train])
        if table.classes is None:
            said = np.asarray(model.predict(table.x[asked]), dtype=np.float64).reshape(len(asked))
        else:
            said = np.zeros((len(asked), len(table.classes)))
            said[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(table.x[asked])
    if not np.isfinite(said).all():
        raise ValueError("it predicts NaN or infinity")
    return said
