"""`DistilledClassifier` and `DistilledRegressor`: columns known in training only help to learn from those known always.

The default is the vote over closed-form teachers (`craik.distill.closed_form`), and the same vote without privileged columns is
always beside it: `report_`, `gain_`, and the sentence that `fit` prints when `verbose` is set.
"""
# scikit-learn and scipy have no stubs
# pyright: reportMissingTypeStubs=false

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from craik.arguments import check_not_negative, check_one_of
from craik.distill.closed_form import VotedTeachers
from craik.estimators.tables import Numbers

Rows = tuple[Numbers, NDArray[Any]]
"""What scikit-learn's checks give back."""

RECIPES: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "vote": ("linear", None),
    "kernel vote": ("kernel", None),
    "chain": ("linear", ("C",)),
    "soft targets": ("linear", ("S",)),
    "bottleneck": ("kernel", ("B",)),
}
"""By method: which teachers, and which of them may be voted for."""


class _Distilled(BaseEstimator):
    """What classifier and regressor share."""

    def __init__(  # scikit-learn: a constructor takes anything, fit refuses it
        self,
        *,
        method: Any = "vote",  # noqa: ANN401
        handicap: Any = 1.0,  # noqa: ANN401
        random_state: Any = None,  # noqa: ANN401
        verbose: Any = 0,  # noqa: ANN401
    ) -> None:
        self.method = method
        self.handicap = handicap
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, x: Numbers, y: Numbers, privileged: Any) -> None:  # noqa: ANN401
        check_one_of("method", self.method, tuple(RECIPES))
        check_not_negative("handicap", self.handicap)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        known = None if privileged is None else _privileged(privileged, x)
        teachers, only = RECIPES[self.method]
        # Without privileged columns every method is the vote without them: an untaught student.
        settings: dict[str, Any] = {"teachers": teachers, "handicap": float(self.handicap), "random_state": seed}
        self.taught_ = VotedTeachers(**settings, only=None if known is None else only).fit(x, y, known)
        self.untaught_ = self.taught_ if known is None else VotedTeachers(**settings).fit(x, y)
        self.votes_, self.report_, self.gain_ = self.taught_.votes_, dict(self.taught_.report_), self.taught_.gain_
        self.report_["without privileged"] = self.untaught_.report_["vote"]
        if teachers == "linear":
            self.coef_, self.intercept_ = self.taught_.coef_, self.taught_.intercept_
        if self.verbose:
            print(self.sentence())

    def sentence(self) -> str:
        """Return what privileged columns were worth, by cross-validation within the training rows."""
        check_is_fitted(self)
        votes = ", ".join(f"{name} {share:.2f}" for name, share in sorted(self.votes_.items(), key=lambda item: -item[1]))
        with_them, without = self.report_["vote"], self.report_["without privileged"]
        return f"{self.method}: R2 {with_them:.3f}, without privileged columns {without:.3f} (cross-validated); votes {votes}."

    def _outputs(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        check_is_fitted(self)
        return self.taught_.predict(cast(Numbers, validate_data(self, X, reset=False, dtype=np.float64)))


def _privileged(privileged: Any, x: Numbers) -> Numbers:  # noqa: ANN401
    steps = cast(Numbers, check_array(privileged, dtype="float64", allow_nd=True, input_name="privileged"))
    check_consistent_length(x, steps)
    return steps


class DistilledRegressor(RegressorMixin, _Distilled):
    """Predict numbers from X; privileged columns are seen in training only.

    Args:
        method: "vote" (linear, milliseconds), "kernel vote" (n^3: some hundred rows), or one recipe alone: "chain", "soft
            targets", "bottleneck".
        handicap: what a privileged candidate must be better by, in units of noise over rows.
        random_state: of folds and resamplings.
        verbose: above 0: print `sentence()` after fitting.

    Attributes:
        votes_: weight of each recipe.
        report_: cross-validated share of variance explained, of each recipe, the vote, and the vote without privileged columns.
        gain_: the vote's gain over the vote without them, and twice its standard error over rows.
        taught_, untaught_: the two votes.
        coef_, intercept_: where the teachers are linear.
    """

    def fit(self, X: Any, y: Any, privileged: Any = None) -> "DistilledRegressor":  # noqa: ANN401, N803
        """Train; `privileged` has the shape (n, Q), or (n, T, Q) of T steps in time.

        Raises:
            TypeError, ValueError: a table or settings that cannot be.
        """
        x, y = cast(
            tuple[Numbers, NDArray[Any]], validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=10)
        )
        self._fit(x, column_or_1d(y, dtype=np.float64)[:, None], privileged)
        return self

    def predict(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n,) numbers, from X alone."""
        return self._outputs(X)[:, 0]


class DistilledClassifier(ClassifierMixin, _Distilled):
    """As `DistilledRegressor`, for classes: squared error on a column of 0 and 1 a class, the greatest wins.

    Attributes:
        classes_: labels.
    """

    def fit(self, X: Any, y: Any, privileged: Any = None) -> "DistilledClassifier":  # noqa: ANN401, N803
        """Train; `privileged` has the shape (n, Q), or (n, T, Q) of T steps in time.

        Raises:
            TypeError, ValueError: a table or settings that cannot be.
        """
        x, y = cast(Rows, validate_data(self, X, y, dtype=np.float64, ensure_min_samples=10))
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"A classifier needs more than one class. Found one class, {self.classes_[0]!r}.")
        codes = np.eye(len(self.classes_))[index]
        self._fit(x, codes[:, 1:] if len(self.classes_) == 2 else codes, privileged)
        return self

    def decision_function(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n, K) scores, or for two classes (n,): above 0 for the second."""
        scores = self._outputs(X)
        return scores[:, 0] - 0.5 if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401, N803
        """Return (n,) labels, from X alone."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)
        return self.classes_[index]
