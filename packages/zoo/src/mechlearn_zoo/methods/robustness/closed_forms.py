"""Fitted scikit-learn classifiers as torch functions, so that their inputs have gradients.

The closed forms are scikit-learn's own, in float64, whatever the type of their inputs: linear decision functions
(LogisticRegression, LinearSVC, RidgeClassifier, SGDClassifier, Perceptron, LinearDiscriminantAnalysis), kernel machines of two
classes (SVC, NuSVC), MLPClassifier, and pipelines whose earlier steps shift and scale. Whatever else predicts, a forest or a
table of neighbours, has no gradient: `as_target` takes it.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # torch's own habit

_Kernel = Callable[[Tensor, Tensor], Tensor]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x, "logistic": torch.sigmoid, "tanh": torch.tanh, "relu": F.relu,
}  # fmt: skip


class Classifier(nn.Module):
    """A classifier with scikit-learn's labels.

    Attributes:
        classes: the estimator's labels; a class index is a place among them.
    """

    def __init__(self, classes: Any) -> None:  # noqa: ANN401  # numpy's, of any type
        super().__init__()
        self.classes = np.asarray(classes)

    def encode(self, labels: Sequence[Any] | np.ndarray[Any, np.dtype[Any]]) -> Int[Tensor, " n"]:
        """Return labels as class indices.

        Raises:
            ValueError: a label that the estimator has not seen.
        """
        given = np.asarray(labels)
        unknown = sorted({str(label) for label in given[~np.isin(given, self.classes)].tolist()})
        if unknown:
            raise ValueError(
                f"Labels should be among the model's classes {self.classes.tolist()}. Found {unknown}. Leave them out."
            )
        own = next(chain(self.parameters(), self.buffers()), None)  # a Target has none
        return torch.as_tensor(np.searchsorted(self.classes, given), device=None if own is None else own.device)


class Linear(Classifier):
    """Decision values x W + b: (n, classes), or (n,) of two classes."""

    def __init__(self, classes: Any, weight: Tensor, bias: Tensor) -> None:  # noqa: ANN401
        super().__init__(classes)
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n *k"]:
        """Return decision values."""
        weight = cast("Tensor", self.weight)
        found = x.to(weight.dtype) @ weight.T + cast("Tensor", self.bias)
        return found[:, 0] if found.shape[1] == 1 else found


class Kernel(Classifier):
    """Decision values of a kernel machine of two classes: sum_i alpha_i k(s_i, x) + b, (n,)."""

    def __init__(self, classes: Any, support: Tensor, alpha: Tensor, bias: Tensor, kernel: _Kernel) -> None:  # noqa: ANN401
        super().__init__(classes)
        self.register_buffer("support", support)
        self.register_buffer("alpha", alpha)
        self.register_buffer("bias", bias)
        self.kernel = kernel

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """Return decision values."""
        support, alpha, bias = (cast("Tensor", part) for part in (self.support, self.alpha, self.bias))
        return self.kernel(x.to(support.dtype), support) @ alpha + bias


class Perceptron(Classifier):
    """Decision values of a multilayer perceptron, before the last softmax or sigmoid: (n, classes), or (n,) of two classes."""

    def __init__(self, classes: Any, weights: Sequence[Tensor], biases: Sequence[Tensor], activation: str) -> None:  # noqa: ANN401
        super().__init__(classes)
        self.layers = nn.ParameterList([nn.Parameter(weight, requires_grad=False) for weight in weights])
        self.biases = nn.ParameterList([nn.Parameter(bias, requires_grad=False) for bias in biases])
        self.activation = _ACTIVATIONS[activation]

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n *k"]:
        """Return decision values."""
        last, x = len(self.layers) - 1, x.to(self.layers[0].dtype)
        for index, (weight, bias) in enumerate(zip(self.layers, self.biases, strict=True)):
            x = x @ weight + bias
            x = x if index == last else self.activation(x)
        return x[:, 0] if x.shape[1] == 1 else x


class Scaled(Classifier):
    """A classifier behind (x - shift) * scale."""

    def __init__(self, inner: Classifier, shift: Tensor, scale: Tensor) -> None:
        super().__init__(inner.classes)
        self.inner = inner
        self.register_buffer("shift", shift)
        self.register_buffer("scale", scale)

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n *k"]:
        """Return decision values."""
        shift = cast("Tensor", self.shift)
        return self.inner((x.to(shift.dtype) - shift) * cast("Tensor", self.scale))


class Target(Classifier):
    """A model that only labels; its outputs have no gradient."""

    def __init__(self, estimator: Any) -> None:  # noqa: ANN401
        super().__init__(estimator.classes_)
        self.estimator = estimator

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return 1 for the label that the estimator gives and 0 for the others."""
        labels = self.encode(self.estimator.predict(x.detach().cpu().numpy()))
        return F.one_hot(labels, len(self.classes)).to(x)


def as_torch(estimator: object) -> Classifier:
    """Return a fitted scikit-learn classifier as a module in float64 whose outputs have gradients in x.

    Its outputs are the estimator's decision function (of an MLPClassifier, the values before its last softmax or sigmoid).

    Args:
        estimator: fitted; one of those that the module's docstring lists, or a pipeline that ends in one.

    Raises:
        TypeError: an estimator that is not differentiable, or that has no closed form here.
        ValueError: one that is not fitted, a kernel machine of more than two classes, or a linear one that votes among pairs.

    Example:
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
        >>> model = as_torch(LogisticRegression().fit(x, y))
        >>> bool(model(torch.tensor([[3.0]], dtype=torch.float64)) > 0), model.encode(["yes"])
        (True, tensor([1]))
    """
    one = cast("Any", estimator)
    if hasattr(one, "steps"):
        return _pipeline(one)
    _check_fitted(one)
    kind = type(one).__name__
    if {"SVC", "NuSVC"} & {base.__name__ for base in type(one).__mro__}:  # linear ones have a coef_, too: of pairs of classes
        return _kernel_machine(one)
    if hasattr(one, "coefs_") and hasattr(one, "intercepts_"):
        biases = [_tensor(bias) for bias in one.intercepts_]
        return Perceptron(one.classes_, [_tensor(weight) for weight in one.coefs_], biases, one.activation)
    if hasattr(one, "coef_") and hasattr(one, "decision_function"):
        weight = _tensor(np.atleast_2d(one.coef_))
        if len(weight) not in (1, len(one.classes_)):
            raise ValueError(
                f"`estimator` should have a row of coef_ for each class, or one of two classes. Found {len(weight)} of "
                f"{len(one.classes_)} classes, as a vote among pairs has them. Use it as a target only, through as_target."
            )
        return Linear(one.classes_, weight, _tensor(np.broadcast_to(np.atleast_1d(one.intercept_), (len(weight),))))
    raise TypeError(
        "`estimator` should be a classifier that is differentiable in x and has a closed form here: a linear one, SVC, NuSVC, "
        f"MLPClassifier, or a pipeline of scalers before it. Found {kind}. Use it as a target only, through as_target."
    )


def as_target(estimator: object) -> Target:
    """Return any fitted scikit-learn classifier as a module that labels: a target of transferred attacks, never a surrogate.

    Its outputs are 1 for the label it gives and 0 elsewhere, so that errors count and losses mean nothing.

    Raises:
        TypeError: no classifier.
        ValueError: one that is not fitted.
    """
    one = cast("Any", estimator)
    if not hasattr(one, "predict"):
        raise TypeError(f"`estimator` should be a scikit-learn classifier. Found {type(one).__name__}. Fit one and pass it.")
    _check_fitted(one)
    return Target(one)


def _check_fitted(one: Any) -> None:  # noqa: ANN401
    if not hasattr(one, "fit"):
        raise TypeError(
            f"`estimator` should be a scikit-learn classifier. Found {type(one).__name__}. A torch module needs no conversion."
        )
    if not hasattr(one, "classes_"):
        raise ValueError(
            f"`estimator` should be a fitted classifier. Found {type(one).__name__} without classes_. Call fit(x, y) first, "
            "and take no regressor."
        )


def _kernel_machine(one: Any) -> Kernel:  # noqa: ANN401
    if len(one.classes_) != 2:
        raise ValueError(
            f"A kernel machine should tell two classes: scikit-learn votes among pairs of more, which has no gradient. Found "
            f"{len(one.classes_)}. Fit one a class with OneVsRestClassifier, or take it as a target only."
        )
    gamma, degree, shift = float(one._gamma), int(one.degree), float(one.coef0)  # the number behind "scale"
    kernels: dict[str, _Kernel] = {
        "linear": lambda x, s: x @ s.T,
        "rbf": lambda x, s: torch.exp(-gamma * _squares(x, s)),
        "poly": lambda x, s: (gamma * (x @ s.T) + shift) ** degree,
        "sigmoid": lambda x, s: torch.tanh(gamma * (x @ s.T) + shift),
    }
    if one.kernel not in kernels:
        raise TypeError(
            f"An SVC should have one of the kernels {sorted(kernels)}. Found {one.kernel!r}. Use it as a target only, through "
            "as_target."
        )
    return Kernel(
        one.classes_, _tensor(one.support_vectors_), _tensor(one.dual_coef_[0]), _tensor(one.intercept_), kernels[one.kernel]
    )


def _squares(x: Tensor, s: Tensor) -> Tensor:
    """Squared distances (n, m); by products, whose gradient stays finite where a point is a support vector."""
    return (x.square().sum(1)[:, None] - 2 * x @ s.T + s.square().sum(1)).clamp(min=0)


def _pipeline(pipeline: Any) -> Classifier:  # noqa: ANN401
    found = as_torch(pipeline.steps[-1][1])
    for name, step in reversed(pipeline.steps[:-1]):
        if step is None or step == "passthrough":
            continue
        found = Scaled(found, *_shift_and_scale(name, step))
    return found


def _shift_and_scale(name: str, step: Any) -> tuple[Tensor, Tensor]:  # noqa: ANN401
    """Return a scaler as (x - shift) * scale."""
    kind, width = type(step).__name__, getattr(step, "n_features_in_", 1)
    if kind == "StandardScaler":
        shift = step.mean_ if step.with_mean else np.zeros(width)
        scale = step.scale_ if step.with_std else np.ones(width)
        return _tensor(shift), 1 / _tensor(scale)
    if kind == "MinMaxScaler" and not step.clip:
        return _tensor(-step.min_ / step.scale_), _tensor(step.scale_)
    if kind in ("MaxAbsScaler", "RobustScaler"):
        centre = getattr(step, "center_", None)
        scale = getattr(step, "scale_", None)
        return _tensor(np.zeros(width) if centre is None else centre), 1 / _tensor(np.ones(width) if scale is None else scale)
    raise TypeError(
        f"The steps of a pipeline before its classifier should shift and scale (StandardScaler, MinMaxScaler, MaxAbsScaler, "
        f"RobustScaler). Found {name!r}, a {kind}. Apply it to x beforehand, or use the pipeline as a target only."
    )


def _tensor(array: Any) -> Tensor:  # noqa: ANN401
    return torch.as_tensor(np.array(array, dtype=np.float64))
