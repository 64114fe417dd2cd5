"""`DistilledClassifier` and `DistilledRegressor`: columns known in training only help to learn from those known always.

The default is the vote over closed-form teachers (`mechlearn.distill.closed_form`), and the same vote without privileged
columns is always beside it: `report_`, `gain_`, and the sentence that `fit` prints when `verbose` is set. Networks are taught
where a name asks for it; without privileged columns they are the network alone.
"""

from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from mechlearn.arguments import check_not_negative, check_one_of, check_whole
from mechlearn.distill.closed_form import VotedTeachers
from mechlearn.tables.distilling.meta import warm_ldt
from mechlearn.tables.distilling.students import (
    TRAINING,
    Learnt,
    Lessons,
    Teach,
    alone,
    auxiliary,
    bottleneck,
    said,
    soft_targets,
)
from mechlearn.tables.fitting import Task, threads
from mechlearn.tables.reading_in import Numbers, Scaling, check_known, one_dimensional, site_names

Rows = tuple[Numbers, NDArray[Any]]
"""What scikit-learn's checks give back."""

VOTES: dict[str, tuple[Literal["linear", "kernel"], tuple[str, ...] | None]] = {
    "vote": ("linear", None),
    "kernel-vote": ("kernel", None),
    "chain": ("linear", ("C",)),
    "ridge-soft-targets": ("linear", ("S",)),
    "kernel-bottleneck": ("kernel", ("B",)),
}
"""By name: which closed-form teachers, and which of them may be voted for."""

NETWORKS: dict[str, Teach] = {"ldt": warm_ldt, "auxiliary": auxiliary, "bottleneck": bottleneck, "soft-targets": soft_targets}
"""By name: how a network is taught."""


SOMETIMES = ("coef_", "intercept_", "weights_", "history_", "chosen_", "_scaling", "_target")
"""What only some teachers leave: a fit with another one begins without it."""


class _Distilled(BaseEstimator):
    """What classifier and regressor share."""

    _task: Task

    def __init__(  # scikit-learn: a constructor takes anything, fit refuses it
        self,
        *,
        teacher: Any = "vote",  # noqa: ANN401
        handicap: Any = 1.0,  # noqa: ANN401
        steps: Any = 240,  # noqa: ANN401
        random_state: Any = None,  # noqa: ANN401
        device: Any = "cpu",  # noqa: ANN401
        n_jobs: Any = None,  # noqa: ANN401
        verbose: Any = 0,  # noqa: ANN401
    ) -> None:
        self.teacher = teacher
        self.handicap = handicap
        self.steps = steps
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, x: Numbers, y: Numbers, privileged: Any, groups: Any) -> None:  # noqa: ANN401
        """Fit on classes as columns of 0 and 1, or numbers, (n, K)."""
        for name in SOMETIMES:
            self.__dict__.pop(name, None)
        check_one_of("teacher", self.teacher, (*VOTES, *NETWORKS))
        check_not_negative("handicap", self.handicap)
        check_whole("steps", self.steps, 1)
        _check_device(self.device)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        known = None if privileged is None else _privileged(privileged, x)
        whose = None if groups is None else _groups(groups, len(x))
        with threads(self.n_jobs):
            self._vote(x, y, known, whose, seed)
            if self.teacher in NETWORKS:
                self._teach(x, y, known, whose, seed)
        self.teacher_, self._constant = str(self.teacher), np.where((x == x[0]).all(0), x[0], np.nan)
        if self.verbose:
            print(self.sentence())

    def _vote(self, x: Numbers, y: Numbers, known: Numbers | None, whose: NDArray[Any] | None, seed: int) -> None:
        # Without privileged columns every teacher is the vote without them: an untaught student.
        kind, only = VOTES.get(self.teacher, ("linear", None))
        codes = y[:, 1:] if self._task == "classification" and y.shape[1] == 2 else y
        settings: dict[str, Any] = {"teachers": kind, "handicap": float(self.handicap), "random_state": seed}
        taught = self.teacher in VOTES and known is not None
        self.untaught_ = VotedTeachers(**settings).fit(x, codes, groups=whose)
        self.taught_ = VotedTeachers(**settings, only=only).fit(x, codes, known, whose) if taught else self.untaught_
        self.votes_, self.report_, self.gain_ = self.taught_.votes_, dict(self.taught_.report_), self.taught_.gain_
        if taught and only is not None:  # the untaught vote is in no recipe alone; the two have the same folds
            self.gain_ = self.taught_.gain_over(self.untaught_)
        self.report_["without privileged"] = self.untaught_.report_["vote"]
        if kind == "linear" and self.teacher in VOTES:
            self.coef_, self.intercept_ = self.taught_.coef_, self.taught_.intercept_

    def _teach(self, x: Numbers, y: Numbers, known: Numbers | None, whose: NDArray[Any] | None, seed: int) -> None:
        self._scaling, self._target = Scaling.of_inputs(x), Scaling.of(y) if self._task == "regression" else None
        wanted = y if self._target is None else self._target.applied(y)
        none = known is None
        steps = np.zeros((len(x), 0)) if known is None else known.reshape(len(x), -1)
        training = replace(TRAINING, steps=self.steps)
        rows = self._scaling.applied(x), wanted, Scaling.of(steps).applied(steps)
        lessons = Lessons(*rows, self._task, training, seed, self.device, whose)
        found: Learnt = alone(lessons) if none else NETWORKS[self.teacher](lessons)
        self.weights_, self.history_, self.chosen_ = dict(found.layers), found.history, found.chosen
        self.report_[self.teacher if not none else "network"] = _explained(found.outside, wanted)

    def sentence(self) -> str:
        """Return what privileged columns were worth, by cross-validation within the training rows."""
        check_is_fitted(self)
        teacher = _fitted_teacher(self)
        votes = ", ".join(f"{name} {share:.2f}" for name, share in sorted(self.votes_.items(), key=lambda item: -item[1]))
        network = next((name for name in (teacher, "network") if teacher in NETWORKS and name in self.report_), None)
        ours, without = self.report_[network or "vote"], self.report_["without privileged"]
        if network is not None:
            return (
                f"{network}: R2 {ours:.3f} on rows that stopped its training only; the vote without privileged columns "
                f"{without:.3f} (cross-validated)."
            )
        return f"{teacher}: R2 {ours:.3f}, without privileged columns {without:.3f} (cross-validated); votes {votes}."

    def _outputs(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """(n, K) numbers or shares of classes; of two classes a vote gives the second's only."""
        check_is_fitted(self)
        x = cast(Numbers, validate_data(self, X, reset=False, dtype=np.float64))
        if _fitted_teacher(self) not in NETWORKS:
            return self.taught_.predict(self._as_in_training(x))
        z = said(self.weights_, self._scaling.applied(x), self._task).mean(0)
        return z if self._target is None else z * self._target.spread + self._target.mean

    def _as_in_training(self, x: Numbers) -> Numbers:
        """Return inputs in which what was constant in training is so: to kernels another value would be far from all."""
        constant = self.__dict__.get("_constant")  # none was kept in files of earlier versions
        if constant is None or self.taught_.teachers != "kernel":
            return x
        return np.where(np.isnan(constant), x, constant)


def _fitted_teacher(model: Any) -> str:  # noqa: ANN401  # a classifier or regressor, or what scikit-learn clones of it
    """Return the teacher that was fitted, whatever `set_params` has named since; before a fit the one that is named."""
    return getattr(model, "teacher_", model.teacher)


def _check_device(device: Any) -> None:  # noqa: ANN401  # anything
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        raise ValueError(
            f'`device` should be one that torch finds here. Found {device!r}. Use "cpu", or "cuda" on a machine with such a '
            "GPU and a torch built for it."
        ) from error


def _explained(outside: Numbers, wanted: Numbers) -> float:
    errors, total = ((outside - wanted) ** 2).sum(), ((wanted - wanted.mean(0)) ** 2).sum()
    if total == 0:  # as scikit-learn's r2_score has it
        return float(errors == 0)
    return 1 - float(errors / total)


def _groups(groups: Any, rows: int) -> NDArray[Any]:  # noqa: ANN401
    if hasattr(groups, "__len__") and len(groups) != rows:
        raise ValueError(
            f"`groups` should hold one label for each of the {rows} rows. Found {len(groups)}. Take them from the table of X."
        )
    return site_names(one_dimensional("groups", groups, rows))


def _privileged(privileged: Any, x: Numbers) -> Numbers:  # noqa: ANN401
    if np.ndim(privileged) == 1:  # a single column
        privileged = np.asarray(privileged)[:, None]
    steps = cast(Numbers, check_array(privileged, dtype="float64", allow_nd=True, input_name="privileged"))
    check_consistent_length(x, steps)
    if steps.ndim > 3:
        raise ValueError(
            f"`privileged` should have the shape (n, Q), or (n, T, Q) of T steps in time. Found {steps.shape}. Flatten the "
            "last axes, for example with reshape(n, -1)."
        )
    return steps


class DistilledRegressor(RegressorMixin, _Distilled):
    """Predict numbers from X; privileged columns are seen in training only.

    Args:
        teacher: "vote" (linear, milliseconds), "kernel-vote" (n^3: some hundred rows), or one of their recipes alone: "chain",
            "ridge-soft-targets", "kernel-bottleneck". Of networks, seconds: "auxiliary" (a head for the privileged columns),
            "soft-targets" (generalised distillation), "bottleneck" (through them), "ldt" (learning to distill trajectories).
        handicap: what a privileged candidate of a vote must be better by, in units of noise over rows.
        steps: of a network at most; of LDT half the student's own.
        random_state: of folds, resamplings and initial weights.
        device: where networks are trained; prediction is numpy's.
        n_jobs: threads; None as torch has it, -1 for all cores.
        verbose: above 0: print `sentence()` after fitting.

    Attributes:
        votes_: weight of each recipe.
        report_: cross-validated share of variance explained, of each recipe, the vote, and the vote without privileged columns;
            of a network on the rows that stopped its training, which flatters it.
        gain_: the vote's gain over the vote without them, and twice its standard error over rows, or over groups of them; of
            one recipe alone, its own; 0 of networks, whose rows are others.
        teacher_: what was fitted; `set_params` changes it by another `fit` only.
        taught_, untaught_: the two votes; one and the same where a network is taught.
        coef_, intercept_: of a vote over linear teachers.
        weights_, history_, chosen_: of a network: its fold models, mean loss on the folds left out, its setting in words.
    """

    _task = "regression"

    def fit(self, X: Any, y: Any, privileged: Any = None, groups: Any = None) -> "DistilledRegressor":  # noqa: ANN401, N803
        """Train; `privileged` has the shape (n, Q), (n,) for one column, or (n, T, Q) of T steps in time.

        `groups` (n,) says whose each row is where one has several: rows of one never choose a setting for, or stop the
        training of, what saw others of it. Rows without a label are one group.

        Raises:
            TypeError, ValueError: a table or settings that cannot be.
        """
        check_known(y)
        x, y = cast(Rows, validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=10))
        self._fit(x, column_or_1d(y, dtype=np.float64)[:, None], privileged, groups)
        return self

    def predict(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n,) numbers, from X alone."""
        return self._outputs(X)[:, 0]


def _is_network(model: Any) -> bool:  # noqa: ANN401  # a classifier, or what scikit-learn clones of it
    teacher = _fitted_teacher(model)
    if teacher not in NETWORKS:
        raise AttributeError(
            f"{teacher!r} is a vote by squared error, which has scores and no probabilities; take decision_function, "
            "scikit-learn's CalibratedClassifierCV, or a teacher that is a network."
        )
    return True


class DistilledClassifier(ClassifierMixin, _Distilled):
    """As `DistilledRegressor`, for classes: votes by squared error on a column of 0 and 1 a class, networks by cross-entropy.

    Networks have `predict_proba`; votes have scores only, as `sklearn.linear_model.RidgeClassifier` has.

    Attributes:
        classes_: labels.
    """

    _task = "classification"

    def fit(self, X: Any, y: Any, privileged: Any = None, groups: Any = None) -> "DistilledClassifier":  # noqa: ANN401, N803
        """Train; `privileged` and `groups` are those of `DistilledRegressor.fit`.

        Raises:
            TypeError, ValueError: a table or settings that cannot be.
        """
        check_known(y)
        x, y = cast(Rows, validate_data(self, X, y, dtype=np.float64, ensure_min_samples=10))
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"A classifier needs more than one class. Found one class, {self.classes_[0]!r}.")
        self._fit(x, np.eye(len(self.classes_))[index], privileged, groups)
        return self

    def decision_function(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n, K) scores, or for two classes (n,): above 0 for the second."""
        scores = self._outputs(X)
        return scores[:, -1] - 0.5 if len(self.classes_) == 2 else scores

    @available_if(_is_network)
    def predict_proba(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n, K) probabilities of the classes, the mean of the fold models'; of networks only.

        Raises:
            AttributeError: the teacher is a vote.
        """
        return self._outputs(X)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401, N803
        """Return (n,) labels, from X alone."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)
        return self.classes_[index]
