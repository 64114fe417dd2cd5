"""`AgreementClassifier` and `AgreementRegressor`: scikit-learn's `fit` and `predict`, with sites that must agree.

Metadata routing takes the sites through pipelines and searches; without it scikit-learn gives `groups` to the splitter only,
and `fit` would train on the pool without a word. So `fit` without groups warns, and says the two lines to write:

>>> import sklearn
>>> sklearn.set_config(enable_metadata_routing=True)
>>> model = AgreementClassifier().set_fit_request(groups=True)
>>> sklearn.set_config(enable_metadata_routing=False)  # as it was
"""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from numbers import Real
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,  # pyright: ignore[reportPrivateUsage]  # the one check there is of weights
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from mechlearn.tables.disagreement import audit
from mechlearn.tables.fitting import (
    Architecture,
    Configuration,
    Sites,
    Task,
    Trained,
    Training,
    check_configuration,
    fit,
    outputs,
    site_gradients,
    threads,
)
from mechlearn.tables.networks import architecture_of, dtype_of, said_by, seeded
from mechlearn.tables.reading_in import (
    HUGE,
    LEAST,
    SMALL,
    Numbers,
    Scaling,
    Table,
    check_finite,
    check_known,
    is_missing,
    one_dimensional,
    plain,
    pooled,
    site_names,
)

Rows = tuple[Numbers, NDArray[Any]]
"""What scikit-learn's checks give back."""

FEW = 1000
"""Rows below which `hidden="auto"` is a linear model."""

MANY, BATCH, SMALLEST = 5000, 2048, 16
"""Rows from which on `batch_size="auto"` draws batches; rows of these, and of each site at least."""

NO_GROUPS = """fit() was given no groups: this is one pool, and the mean of all rows decides. Pass the site of each row.
In cross_validate, GridSearchCV and pipelines write
    sklearn.set_config(enable_metadata_routing=True)
    estimator.set_fit_request(groups=True)
and give params={"groups": groups}; else the groups reach the splitter only."""

ENOUGH = 3
"""Groups from which on some can be held out, and more than one is left to agree."""


class _Agreeing(BaseEstimator):
    """What classifier and regressor share."""

    _task: Task

    def __init__(  # scikit-learn: a constructor takes anything, fit refuses it
        self,
        *,
        hidden: Any = "auto",  # noqa: ANN401
        network: Any = None,  # noqa: ANN401
        threshold: Any = (0.8, 1.0),  # noqa: ANN401
        learning_rate: Any = 0.03,  # noqa: ANN401
        weight_decay: Any = 0.1,  # noqa: ANN401
        steps: Any = 120,  # noqa: ANN401
        early_stopping: Any = True,  # noqa: ANN401
        batch_size: Any = "auto",  # noqa: ANN401
        audit_features: Any = True,  # noqa: ANN401
        random_state: Any = None,  # noqa: ANN401
        device: Any = "cpu",  # noqa: ANN401
        n_jobs: Any = None,  # noqa: ANN401
        verbose: Any = 0,  # noqa: ANN401
    ) -> None:
        self.hidden = hidden
        self.network = network
        self.threshold = threshold
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.steps = steps
        self.early_stopping = early_stopping
        self.batch_size = batch_size
        self.audit_features = audit_features
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, x: Numbers, codes: Numbers, groups: Any, sample_weight: Any) -> None:  # noqa: ANN401
        for name in ("coef_", "intercept_"):  # of an earlier fit, which perhaps was of a linear model
            self.__dict__.pop(name, None)
        self._check_size(x)
        random = check_random_state(self.random_state)
        generator = torch.Generator().manual_seed(int(random.randint(2**31 - 1)))
        weights = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        used = np.flatnonzero(weights > 0)  # a row of no weight is no row, nor does it keep a site from being pooled
        site, self.sites_ = self._sites(groups, len(x), used)
        by_site = np.argsort(site, kind="stable")
        order = used[by_site]
        table = self._table(x[order], codes[order], site[by_site])
        self._scaling = Scaling.of_inputs(table.x, weights[order])
        y = table.y
        self._target = Scaling.of(y, weights[order]) if self._task == "regression" else None
        if self._target is not None:
            y = self._target.applied(y)
        doubles = [torch.tensor(values, device=self.device) for values in (self._scaling.applied(table.x), y, weights[order])]
        sites = Sites(doubles[0], doubles[1], table.sizes, doubles[2], self._task)
        own = self.network is not None
        with threads(self.n_jobs), seeded(generator, self.device) if own else nullcontext():
            architecture = architecture_of(self.network, sites.x, sites.y.shape[1]) if own else None
            if architecture is not None:
                dtype = dtype_of(architecture.module)
                sites = replace(sites, x=sites.x.to(dtype), y=sites.y.to(dtype), weights=sites.weights.to(dtype))
            trained, members = self._train(sites, generator, architecture)
            self._keep(trained, members, sites, table, architecture)

    def _sites(
        self,
        groups: Any,  # noqa: ANN401
        rows: int,
        used: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Return the number of the site of each row that is used, and the sites' names."""
        if groups is None:
            warnings.warn(NO_GROUPS, UserWarning, stacklevel=4)
            return np.zeros(len(used), dtype=np.int64), ("(all)",)
        labels = one_dimensional("groups", groups, rows)[used]
        named = site_names(labels)
        names, small = pooled(named)
        found, site = np.unique(names.astype(str), return_inverse=True)
        pools = [_of_one_pool(len(np.unique(named.astype(str))))] if len(found) == 1 else small
        for note in (*_of_missing(labels), *pools):
            warnings.warn(note, UserWarning, stacklevel=4)
        return site.astype(np.int64), tuple(found.tolist())

    def _names(self, x: Numbers) -> tuple[str, ...]:
        return tuple(getattr(self, "feature_names_in_", [f"x{j}" for j in range(x.shape[1])]))

    def _check_size(self, x: Numbers) -> None:
        for j in np.flatnonzero((np.abs(x) > HUGE).any(0)):
            check_finite(self._names(x)[j], x[:, j])

    def _table(self, x: Numbers, codes: Numbers, site: NDArray[np.int64]) -> Table:
        names = self._names(x)
        classes = None if self._task == "regression" else tuple(range(codes.shape[1]))
        every = np.ones(len(self.sites_), dtype=bool)
        return Table(x, names, codes, classes, site, self.sites_, every, ())

    def _train(
        self, sites: Sites, generator: torch.Generator, architecture: Architecture | None
    ) -> tuple[Trained, NDArray[np.int64]]:
        """Return the stack and the members to average: the fold models of the best threshold."""
        thresholds, count = self._thresholds(), len(sites.sizes)
        if count == 1:
            thresholds = [0.0]
        folds = min(3, count) if count >= ENOUGH and self.early_stopping else 0
        if self.early_stopping and 1 < count < ENOUGH:
            warnings.warn(_of_two(self.sites_), UserWarning, stacklevel=4)
        own = torch.ones(max(1, folds), count, dtype=torch.bool, device=self.device)
        for fold, part in enumerate(torch.randperm(count, generator=generator).tensor_split(max(1, folds)) if folds else ()):
            own[fold, part.to(self.device)] = False
        if not folds:
            thresholds = [max(thresholds)]
        configurations = [Configuration(self.learning_rate, self.weight_decay, threshold) for threshold in thresholds]
        for configuration in configurations:
            check_configuration(configuration)
        hidden = self.hidden if self.hidden != "auto" else (0 if len(sites.x) < FEW else 32)
        few = None if len(sites.x) < MANY else max(SMALLEST, BATCH // count)
        batch = few if self.batch_size == "auto" else self.batch_size
        training = Training(hidden, self.steps, batch, patience=6 if folds else None, network=architecture)
        trained = fit(
            sites,
            configurations * len(own),
            own.repeat_interleave(len(configurations), 0),
            training,
            generator,
            self._told if self.verbose else None,
        )
        losses = trained.losses.view(len(own), -1).mean(0)
        best = int(losses.argmin())
        self.threshold_ = thresholds[best]
        self._held = (~own).cpu().numpy() if folds else np.zeros((1, count), dtype=bool)
        return trained, np.arange(len(own)) * len(configurations) + best

    def _thresholds(self) -> list[Any]:
        found: list[Any] = [self.threshold] if isinstance(self.threshold, Real) else list(self.threshold)
        if not found:
            raise ValueError(
                "`threshold` should be a share from 0 to 1, or several to choose from. Found none. Give one, such as 0.8."
            )
        return found

    def _told(self, step: int, loss: float) -> None:
        print(f"step {step} of {self.steps}: loss at held-out sites {loss:.4f}")

    def _keep(
        self, trained: Trained, members: NDArray[np.int64], sites: Sites, table: Table, architecture: Architecture | None
    ) -> None:
        chosen = {name: values[torch.tensor(members, device=values.device)] for name, values in trained.params.items()}
        self.weights_ = {name: values.cpu().numpy() for name, values in chosen.items()}
        self.history_ = trained.history[:, members].mean(1).cpu().numpy()
        self.n_iter_ = int(trained.steps[members].max())
        gradients, says = site_gradients, outputs
        if architecture is not None:
            gradients, says = architecture.site_gradients, architecture.outputs
        self.networks_ = [] if architecture is None else architecture.trained(chosen)
        self.agreement_ = _agreement(gradients(chosen, sites), None if self.networks_ else table.names)
        self.score_by_group_ = self._scores(says(chosen, sites.x).double().cpu().numpy(), table)
        asked = self.audit_features and len(table.sites) > 1
        found = audit(table, permutations=50) if asked else None
        self.disagreeing_features_ = [] if found is None else [one for one in found.features if one.flagged or one.screened]
        linear = not self.networks_ and "2.weight" not in self.weights_
        if linear:  # a mean of linear models is one linear model, here in the units of X and y
            weight, bias = self.weights_["0.weight"].mean(0), self.weights_["0.bias"].mean(0)
            spread = 1.0 if self._target is None else self._target.spread[:, None]
            self.coef_ = spread * weight / self._scaling.spread
            offset = bias if self._target is None else bias * self._target.spread + self._target.mean
            self.intercept_ = offset - self.coef_ @ self._scaling.mean

    def _scores(self, z: Numbers, table: Table) -> dict[str, float]:
        """Of each site by the fold models that had not seen it; none of a site that all of them saw, or of the small ones."""
        scores: dict[str, float] = {}
        for e, name in enumerate(table.sites):
            if name == SMALL or not self._held[:, e].any():
                continue
            rows = table.site == e
            prediction = z[self._held[:, e]][:, rows].mean(0)
            if self._task == "classification":
                scores[name] = float(accuracy_score(table.y[rows].argmax(1), prediction.argmax(1)))
            elif rows.sum() > 1:
                assert self._target is not None
                scores[name] = float(r2_score(self._target.applied(table.y[rows])[:, 0], prediction[:, 0]))
        return scores

    def _outputs(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """(n, K) the members' mean, in numpy, or in torch where the network is the user's."""
        check_is_fitted(self)
        x = cast(Numbers, validate_data(self, X, reset=False, dtype=np.float64))
        self._check_size(x)
        x = self._scaling.applied(x)
        if self.networks_:
            return said_by(self.networks_, x)
        w = self.weights_
        total = np.zeros((len(x), w["0.bias"].shape[1] if "2.bias" not in w else w["2.bias"].shape[1]))
        for m in range(len(w["0.bias"])):
            z = x @ w["0.weight"][m].T + w["0.bias"][m]
            total += z if "2.weight" not in w else np.maximum(z, 0) @ w["2.weight"][m].T + w["2.bias"][m]
        return total / len(w["0.bias"])


def _of_missing(labels: NDArray[Any]) -> list[str]:
    count, way_out = int(is_missing(labels).sum()), "Fill the labels, or leave these rows out."
    return [f"{count} of {len(labels)} rows name no group: they are taken as one more, '(missing)'. {way_out}"] if count else []


def _of_one_pool(groups: int) -> str:
    found = "one" if groups == 1 else f"{groups}, all below {LEAST} rows and pooled as one"
    return (
        f"Groups are compared, so there should be two or more of {LEAST} rows. Found {found}: this is one pool, and the mean "
        "of all rows decides. Pass labels that tell rows apart."
    )


def _of_two(names: Sequence[str]) -> str:
    return (
        f"Early stopping holds groups out, so there should be {ENOUGH} or more. Found {', '.join(names)}: none is held out, "
        "all steps are made, the largest threshold is taken, and score_by_group_ is empty. Pass more groups, or "
        "early_stopping=False."
    )


def _agreement(gradients: dict[str, torch.Tensor], names: Sequence[str] | None) -> dict[str, Any]:
    """Share of sites' signs that agree, |sum of signs| / E, at the end: by parameter, and by input feature where named."""
    shares = {name: gradient.sign().mean(0).abs().mean(0).cpu().numpy() for name, gradient in gradients.items()}
    if names is None:
        return {"parameters": shares}
    return {"features": dict(zip(names, shares["0.weight"].mean(0).tolist(), strict=True)), "parameters": shares}


class AgreementClassifier(ClassifierMixin, _Agreeing):
    """A linear model or a small network that learns what the sites agree on (the AND-mask, thesis section 3.2.3).

    Rules of sites need all sites at once, so there is no `partial_fit`.

    Args:
        hidden: units of one hidden layer; 0 for a linear model; "auto": linear below 1,000 rows, else 32.
        network: a class or a function that makes a torch module of yours from the numbers of inputs and outputs; `hidden` has
            no say then. It maps standardised rows to a logit a class, or to one number, each row by itself (no BatchNorm), and
            is trained in its own dtype. torch's global generator, from which it draws, begins by `random_state` meanwhile.
        threshold: of the AND-mask; of several, the one with the least loss at held-out sites.
        learning_rate: of Adam.
        weight_decay: decoupled.
        steps: at most.
        early_stopping: on held-out sites, three folds of them, whose models are averaged. From three sites on; with two `fit`
            warns.
        batch_size: rows of each site in a step, every site in each; None for all. "auto": all below 5,000 rows, else about
            2,048 of all sites together.
        audit_features: fill `disagreeing_features_` (`mechlearn.tables.disagreement`).
        random_state: of folds, initial weights and batches.
        device: where to train; prediction is numpy's, or torch's on the CPU.
        n_jobs: threads; None as torch has it, -1 for all cores.
        verbose: above 0: progress.

    Attributes:
        classes_: labels.
        sites_: labels of the sites, small ones pooled.
        threshold_: the one chosen.
        score_by_group_: accuracy at each site of the models that had not been trained on it; empty where none was held out
            (fewer than three sites, or no early stopping), and without the pool of small sites. The held-out sites chose the
            step and the threshold, so that it flatters a little.
        agreement_: {"features": {name: share}, "parameters": {name: array}} of signs that agree; of a network of yours by
            parameter only.
        networks_: fold models, torch modules in evaluation mode, of a network of yours; else none.
        disagreeing_features_: the flagged `Feature`s.
        history_: mean loss at held-out sites, look by look.
        coef_, intercept_: of a linear model, in the units of X; (K, J) and (K,).
    """

    _task = "classification"

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> "AgreementClassifier":  # noqa: ANN401, N803
        """Train on rows, their classes and their sites.

        Raises:
            TypeError, ValueError: a table, settings or groups that cannot be.
        """
        check_known(y)
        x, y = cast(Rows, validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2))
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"A classifier needs more than one class. Found one class, {plain(self.classes_[0])!r}.")
        self._fit(x, np.eye(len(self.classes_))[index], groups, sample_weight)
        return self

    def decision_function(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n, K) logits, or for two classes (n,) of the second over the first."""
        z = self._outputs(X)
        return z[:, 1] - z[:, 0] if len(self.classes_) == 2 else z

    def predict_proba(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n, K) probabilities."""
        return softmax(self._outputs(X), axis=1)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401, N803
        """Return (n,) labels."""
        index = self._outputs(X).argmax(1)
        return self.classes_[index]


class AgreementRegressor(RegressorMixin, _Agreeing):
    """As `AgreementClassifier`, for numbers: squared error; `score_by_group_` is R2."""

    _task = "regression"

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> "AgreementRegressor":  # noqa: ANN401, N803
        """Train on rows, their numbers and their sites.

        Raises:
            TypeError, ValueError: a table, settings or groups that cannot be.
        """
        check_known(y)
        x, y = cast(Rows, validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2))
        target = column_or_1d(y, dtype=np.float64)
        check_finite("y", target)
        self._fit(x, target[:, None], groups, sample_weight)
        return self

    def predict(self, X: Any) -> Numbers:  # noqa: ANN401, N803
        """Return (n,) numbers."""
        z = self._outputs(X)
        assert self._target is not None
        return z[:, 0] * self._target.spread[0] + self._target.mean[0]
