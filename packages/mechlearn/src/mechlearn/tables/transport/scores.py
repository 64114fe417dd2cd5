"""Scores that people know, of predictions at one site: AUC and log loss, or R squared and RMSE."""
# scikit-learn and scipy have no stubs
# pyright: reportMissingTypeStubs=false

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from mechlearn.tables.fitting import Task

NAMES: dict[Task, tuple[str, str]] = {"classification": ("AUC", "log loss"), "regression": ("R squared", "RMSE")}
"""Of each task the score that verdicts are drawn on, higher is better, and the one beside it, lower is better."""

RANGES: dict[Task, tuple[float, float]] = {"classification": (0.0, 1.0), "regression": (-np.inf, 1.0)}
"""What the first can be; the second is above 0."""


def score(labels: NDArray[Any], prediction: NDArray[np.float64]) -> float | None:
    """Return the AUC of (n, K) probabilities or the R squared of (n,) numbers.

    None where there is one class or value only, which leaves it undefined, or where a prediction is missing. The AUC of
    several classes is the mean over the classes at hand, each against all others.
    """
    if not np.isfinite(prediction).all():
        return None
    if prediction.ndim == 1:
        spread = float(np.sum((labels - labels.mean()) ** 2))
        return 1 - float(np.sum((labels - prediction) ** 2)) / spread if spread > 1e-12 * float(np.sum(labels**2)) else None
    present = np.unique(labels)
    if len(present) < 2:
        return None
    asked = [1] if prediction.shape[1] == 2 else present.tolist()
    return float(np.mean([_auc(labels == one, prediction[:, one]) for one in asked]))


def error(labels: NDArray[Any], prediction: NDArray[np.float64]) -> float:
    """Return the log loss of (n, K) probabilities, or the root mean squared error of (n,) numbers; NaN where one is missing."""
    if prediction.ndim == 1:
        return float(np.sqrt(np.mean((labels - prediction) ** 2)))
    said: NDArray[np.float64] = np.clip(prediction[np.arange(len(labels)), labels], 1e-15, 1.0)
    return float(-np.mean(np.log(said)))


def _auc(positive: NDArray[np.bool_], said: NDArray[np.float64]) -> float:
    count = int(positive.sum())
    above = float(rankdata(said)[positive].sum()) - count * (count + 1) / 2
    return above / (count * (len(positive) - count))
