"""Scores that people know, of predictions at one site: AUC and log loss, or R squared and RMSE."""

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
    return float(np.mean([auc(labels == one, prediction[:, one]) for one in asked]))


def error(labels: NDArray[Any], prediction: NDArray[np.float64]) -> float:
    """Return the log loss of (n, K) probabilities, or the root mean squared error of (n,) numbers; NaN where one is missing."""
    if prediction.ndim == 1:
        return float(np.sqrt(np.mean((labels - prediction) ** 2)))
    said: NDArray[np.float64] = np.clip(prediction[np.arange(len(labels)), labels], 1e-15, 1.0)
    return float(-np.mean(np.log(said)))


def balanced_accuracy(labels: NDArray[Any], prediction: NDArray[np.float64]) -> float | None:
    """Return the mean over classes of the share that is recognised, where probabilities are cut at the classes' shares.

    None of numbers, of one class, and where a prediction is missing.
    """
    present, counts = np.unique(labels, return_counts=True)
    if prediction.ndim == 1 or len(present) < 2 or not np.isfinite(prediction).all():
        return None
    right = present[(prediction[:, present] / counts).argmax(1)] == labels
    return float(np.mean([right[labels == one].mean() for one in present]))


def calibration_slope(labels: NDArray[Any], prediction: NDArray[np.float64]) -> float | None:
    """Return `slope_of` numbers, of the second of two classes, or of more classes of the one chosen being right."""
    if not np.isfinite(prediction).all():
        return None
    if prediction.ndim == 1:
        return slope_of(prediction, labels, False)
    chosen = np.ones(len(labels), dtype=np.int64) if prediction.shape[1] == 2 else prediction.argmax(1)
    return slope_of(prediction[np.arange(len(labels)), chosen], (labels == chosen).astype(np.float64), True)


def slope_of(said: NDArray[np.float64], found: NDArray[Any], classes: bool) -> float | None:
    """Return the slope of the outcome on what was said: 1 where it can be believed, below 1 where the model is too sure.

    Of probabilities it is logistic on their logits (Cox 1958), by Newton's method on standardised ones, so that a model that
    says nearly the same of all rows settles, too. None where there is none: what was said is the same in all rows, what
    happened is, or what was said parts the one from the other without an error, so that any slope is too small.
    """
    if not classes:
        centred = said - said.mean()
        return float(centred @ found / (centred @ centred)) if (centred @ centred) > 0 else None
    if len(np.unique(found)) < 2:
        return None
    inside = np.clip(said, 1e-6, 1 - 1e-6)
    logits = np.log(inside / (1 - inside))
    spread = float(logits.std())
    yes, no = logits[found > 0.5], logits[found <= 0.5]
    if spread <= 1e-12 or yes.min() >= no.max() or yes.max() <= no.min():
        return None
    x = np.column_stack([np.ones(len(said)), (logits - logits.mean()) / spread])
    weights = np.zeros(2)
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        curvature = x.T @ (x * (p * (1 - p))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, x.T @ (found - p))
        weights = weights + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            return float(weights[1]) / spread
    return None


def auc(positive: NDArray[np.bool_], said: NDArray[np.float64]) -> float:
    """Return how often a positive row has the larger number than one that is not; a half where they are equal."""
    count = int(positive.sum())
    above = float(rankdata(said)[positive].sum()) - count * (count + 1) / 2
    return above / (count * (len(positive) - count))
