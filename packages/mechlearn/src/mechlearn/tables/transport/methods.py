"""Candidates by name that know the sites: mixed and site-informed linear models, and those of `mechlearn fit agreement`."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from mechlearn.tables.candidates import NETWORKS, TRAINING, Candidate, Fold, network, screening
from mechlearn.tables.fitting import Task
from mechlearn.tables.reading_in import Scaling, Table

Numbers = NDArray[np.float64]

MOST = 6
"""Settings of a network."""


class _OfSites(BaseEstimator):
    """What is told the site of each training row: `fit(X, y, groups)`; `predict` for numbers, `predict_proba` for classes."""

    def __init__(self, task: Any = "classification") -> None:  # noqa: ANN401  # as of scikit-learn's
        self.task = task

    def fit(self, x: Numbers, y: NDArray[Any], groups: NDArray[Any]) -> "_OfSites":
        """Train on rows, their labels and their sites."""
        self.classes_ = np.unique(y)
        self.scaling_ = Scaling.of_inputs(x)
        self._fit(self.scaling_.applied(x), y, np.unique(groups, return_inverse=True)[1])
        return self

    def _fit(self, x: Numbers, y: NDArray[Any], site: NDArray[np.int64]) -> None:
        raise NotImplementedError

    def _outputs(self, x: Numbers) -> Numbers:
        raise NotImplementedError

    def predict(self, x: Numbers) -> Numbers:
        """Return (n,) numbers."""
        return self._outputs(self.scaling_.applied(x))

    def predict_proba(self, x: Numbers) -> Numbers:
        """Return (n, K) probabilities."""
        shares = expit(self._outputs(self.scaling_.applied(x)).reshape(len(x), -1))
        return np.hstack([1 - shares, shares]) if len(self.classes_) == 2 else shares / shares.sum(1, keepdims=True)


class SiteLinear(_OfSites):
    """A ridge or logistic regression with a level for each training site; a new site has the mean of the rows' levels."""

    def _fit(self, x: Numbers, y: NDArray[Any], site: NDArray[np.int64]) -> None:
        levels = np.eye(site.max() + 1)[site]
        both = np.hstack([x, 10 * levels])  # levels are shrunk a hundred times less than slopes
        model: Any = Ridge(alpha=10.0) if self.task == "regression" else LogisticRegression(C=0.1, max_iter=1000)
        model.fit(both, y)
        weights = np.atleast_2d(model.coef_)
        self.coef_ = weights[:, : x.shape[1]]
        self.intercept_ = model.intercept_ + 10 * weights[:, x.shape[1] :] @ levels.mean(0)

    def _outputs(self, x: Numbers) -> Numbers:
        found = x @ self.coef_.T + self.intercept_
        return found[:, 0] if found.shape[1] == 1 else found


class MixedModel(_OfSites):
    """statsmodels' mixed linear model, or its binomial one by variational Bayes, with a random level for each site."""

    def _fit(self, x: Numbers, y: NDArray[Any], site: NDArray[np.int64]) -> None:
        fixed = _with_constant(x)
        self.kept_ = independent(fixed)
        if self.task == "regression":
            linear: Any = importlib.import_module("statsmodels.regression.mixed_linear_model")
            self.coef_ = np.asarray(linear.MixedLM(y, fixed[:, self.kept_], site).fit().fe_params)
            return
        levels = np.eye(site.max() + 1)[site]
        binomial: Any = importlib.import_module("statsmodels.genmod.bayes_mixed_glm")
        model = binomial.BinomialBayesMixedGLM(y, fixed[:, self.kept_], levels, np.zeros(levels.shape[1], dtype=int))
        self.coef_ = np.asarray(model.fit_vb().fe_mean)

    def _outputs(self, x: Numbers) -> Numbers:
        return _with_constant(x)[:, self.kept_] @ self.coef_


def _with_constant(x: Numbers) -> Numbers:
    return np.hstack([np.ones((len(x), 1)), x])


def independent(x: Numbers) -> NDArray[np.int64]:
    """Return (R,) columns of which none is a combination of others, as the levels of a category are with a constant."""
    found: Any = qr(x, mode="r", pivoting=True)
    triangle, order = found
    size = np.abs(np.diag(triangle))
    return np.sort(order[: len(size)][size > 1e-8 * size[0]]).astype(np.int64)


class Compared(BaseEstimator):
    """A candidate of `mechlearn fit agreement`, trained anew when it is asked, on the training rows only."""

    def __init__(self, name: Any = "AND-mask", task: Any = "classification", seed: Any = 0, settings: Any = MOST) -> None:  # noqa: ANN401
        self.name = name
        self.task = task
        self.seed = seed
        self.settings = settings

    def fit(self, x: Numbers, y: NDArray[Any], groups: NDArray[Any]) -> "Compared":
        """Keep the rows, site by site."""
        site = np.unique(groups, return_inverse=True)[1]
        order = np.argsort(site, kind="stable")
        self.classes_ = np.unique(y)
        codes = (y[:, None] == self.classes_).astype(np.float64) if self.task == "classification" else y[:, None]
        self.rows_ = x[order], codes[order], site[order]
        return self

    def predict_proba(self, x: Numbers) -> Numbers:
        """Return (n, K) probabilities."""
        before, codes, site = self.rows_
        count = int(site.max()) + 1
        unknown = np.repeat(codes[:1], len(x), 0)  # no label of what is asked is known, and none is read
        every = np.concatenate([site, np.full(len(x), count)])
        sites, names = tuple(map(str, range(count + 1))), tuple(f"x{column}" for column in range(x.shape[1]))
        classes = tuple(self.classes_.tolist()) if self.task == "classification" else None
        rows, labels = np.concatenate([before, x]), np.concatenate([codes, unknown])
        table = Table(rows, names, labels, classes, every, sites, np.ones(count + 1, dtype=bool), ())
        return METHODS[self.name](Fold(table, count, TRAINING, self.seed, self.settings))

    def predict(self, x: Numbers) -> Numbers:
        """Return (n,) numbers."""
        return self.predict_proba(x)[:, 0]


METHODS: dict[str, Candidate] = {"screening": screening, **{name: network(name) for name in NETWORKS}}
"""Networks and screening, by name: from a fold to predictions."""

LINEAR: dict[str, type[_OfSites]] = {"site-informed linear": SiteLinear, "mixed model": MixedModel}

NAMES = (*LINEAR, *METHODS)
"""Candidates by name beside the simple ones, none by default: each further one asked is another chance to be fooled."""


def method(name: str, task: Task, seed: int) -> Any:  # noqa: ANN401  # an estimator
    """Return a candidate of `NAMES`."""
    if name == "mixed model":
        try:
            importlib.import_module("statsmodels")  # an extra's
        except ImportError as error:
            raise ImportError(
                "The mixed model needs statsmodels. Found none. pip install statsmodels, or leave this candidate out."
            ) from error
    if name in LINEAR:
        return LINEAR[name](task)
    if name not in METHODS:
        raise ValueError(f"A candidate by name should be one of {', '.join(NAMES)}. Found {name!r}. Take one of these.")
    return Compared(name, task, seed)
