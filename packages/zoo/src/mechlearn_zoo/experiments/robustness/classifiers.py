"""Two digits, in three disjoint sets, and classifiers of four kinds at two complexities each."""

import warnings
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.ensemble import RandomForestClassifier  # pyright: ignore[reportMissingTypeStubs]
from sklearn.exceptions import ConvergenceWarning  # pyright: ignore[reportMissingTypeStubs]
from sklearn.linear_model import LogisticRegression  # pyright: ignore[reportMissingTypeStubs]
from sklearn.neural_network import MLPClassifier  # pyright: ignore[reportMissingTypeStubs]
from sklearn.svm import SVC, LinearSVC  # pyright: ignore[reportMissingTypeStubs]
from torch import Tensor

from mechlearn_zoo.methods.robustness.closed_forms import Classifier, as_target, as_torch
from mechlearn_zoo.methods.robustness.poisoning import Sample
from mechlearn_zoo.tasks.pictures.digits import TOTAL, digits

KINDS = ("logistic", "svm", "rbf", "mlp")
"""Logistic regression, a linear support vector machine, one with Gaussian kernels, a perceptron with one hidden layer."""

HIGH, LOW = "H", "L"
"""Complexities: weakly and strongly regularised."""

REGULARISATION: dict[str, dict[str, float]] = {
    "logistic": {HIGH: 100.0, LOW: 0.1},  # C
    "svm": {HIGH: 100.0, LOW: 0.01},  # C
    "rbf": {HIGH: 100.0, LOW: 1.0},  # C
    "mlp": {HIGH: 1e-4, LOW: 1.0},  # alpha
}
"""By kind and complexity, scikit-learn's settings: small C and large alpha regularise."""


class Parts(NamedTuple):
    """Disjoint sets of (n, 64) pixels in [0, 1], float64, and labels 0 and 1."""

    target: Sample
    surrogate: Sample
    test: Sample


def parts(seed: int, pair: str, train: int) -> Parts:
    """Return two digits, "8-9", in three sets at random: two to train on, the rest to attack."""
    first, second = (int(digit) for digit in pair.split("-"))
    images = digits(seed, train=TOTAL - 2, validation=1, test=1).train
    chosen = (images.y == first) | (images.y == second)
    x, y = images.x[chosen].flatten(1).double(), (images.y[chosen] == second).long()
    if 2 * train >= len(y):
        raise ValueError(f"train should be below {len(y) // 2} for the digits {pair}. Found {train}.")
    samples = (Sample(x[some], y[some]) for some in (slice(train), slice(train, 2 * train), slice(2 * train, None)))
    return Parts(*samples)


def fitted(kind: str, complexity: str, sample: Sample, seed: int) -> Classifier:
    """Return a trained classifier as a torch module."""
    setting = REGULARISATION[kind][complexity]
    estimators: dict[str, Any] = {
        "logistic": LogisticRegression(C=setting, max_iter=2000),
        "svm": LinearSVC(C=setting, loss="hinge", max_iter=20_000, random_state=seed % 2**32),
        "rbf": SVC(C=setting, gamma=cast("Any", 0.1)),
        "mlp": MLPClassifier((50,), alpha=setting, solver="lbfgs", max_iter=300, random_state=seed % 2**32),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the iterations are the budget
        return as_torch(estimators[kind].fit(*arrays(sample)))


def forest(sample: Sample, seed: int) -> Classifier:
    """Return a random forest, which labels and has no gradient."""
    return as_target(RandomForestClassifier(100, random_state=seed % 2**32).fit(*arrays(sample)))


def arrays(sample: Sample) -> tuple[np.ndarray[Any, np.dtype[Any]], np.ndarray[Any, np.dtype[Any]]]:
    """Return a sample as scikit-learn takes it."""
    return sample.x.numpy(), sample.y.numpy()


def accuracy(model: Classifier, sample: Sample) -> float:
    """Return the share of labels that a model gives."""
    values: Tensor = model(sample.x)
    labels = (values > 0).long() if values.dim() == 1 else values.argmax(1)
    return float((labels == sample.y).double().mean())
