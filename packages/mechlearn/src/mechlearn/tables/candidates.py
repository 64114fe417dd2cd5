"""What is compared on a table: each candidate trains on all sites but one and predicts that one, its settings chosen inside.

Six configurations each (boosting has one). Networks choose by the loss on held-out *training* sites and give the mean of the
chosen configuration's fold models; the linear model chooses its strength there and is fitted again.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor

from mechlearn.params import Params
from mechlearn.tables.disagreement import screened_columns
from mechlearn.tables.fitting import Configuration, Sites, Training, Way, fit, masked_mean, outputs
from mechlearn.tables.reading_in import Numbers, Scaling, Table
from mechlearn.tables.training_rules.conflicts import homogeneous, qualitative
from mechlearn.tables.training_rules.penalties import fishr, group_dro, irm, penalised, vrex

RATES, DECAYS, STRENGTHS = (0.01, 0.03, 0.003), (0.03, 0.3), (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
THRESHOLDS = (0.8, 1.0)
TRAINING = Training(hidden=32, steps=120, rows_per_site=64)
AVERAGING = tuple(Configuration(rate, decay) for rate in RATES for decay in DECAYS)
MASKED = tuple(Configuration(rate, 0.1, threshold) for rate in RATES for threshold in THRESHOLDS)
"""The networks' configurations: six for every way to train, the first ones first where there is time for fewer."""


def tested(level: float) -> tuple[Configuration, ...]:
    """Return averaging's configurations for a test at a level."""
    return tuple(one._replace(strength=level) for one in AVERAGING)


def weighed(*strengths: float) -> tuple[Configuration, ...]:
    """Return the configurations of a penalty: two strengths, as there are two thresholds."""
    return tuple(Configuration(rate, 0.1, strength=strength) for rate in RATES for strength in strengths)


@dataclass(frozen=True, eq=False)
class Fold:
    """A table with one site held out, or several at once; numbers are standardised by the other rows.

    Args:
        table: all of it.
        out: the site held out, or those that are; -1 for none, where a model is fitted to keep.
        training: of the networks.
        seed: of the inner folds, the initial weights and the batches.
        settings: how many of its configurations each network may have.
    """

    table: Table
    out: int | tuple[int, ...]
    training: Training
    seed: int = 0
    settings: int = 6

    @cached_property
    def held_out(self) -> NDArray[np.bool_]:
        """(E,) True where a site is held out."""
        return np.isin(np.arange(len(self.table.sites)), self.out)

    @cached_property
    def trained_on(self) -> NDArray[np.bool_]:
        """(n,) True for the rows of the other sites."""
        return ~self.held_out[self.table.site]

    @cached_property
    def x(self) -> Numbers:
        """(n, J)."""
        return Scaling.of_inputs(self.table.x[self.trained_on]).applied(self.table.x)

    @cached_property
    def target_scaling(self) -> Scaling | None:
        """Of a regression's target."""
        return Scaling.of(self.table.y[self.trained_on]) if self.table.classes is None else None

    @cached_property
    def y(self) -> Numbers:
        """(n, K)."""
        return self.table.y if self.target_scaling is None else self.target_scaling.applied(self.table.y)

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """(F, E) True where an inner fold trains on a site; F = 3, fewer with fewer sites."""
        sites = np.flatnonzero(~self.held_out)
        own = np.ones((max(1, min(3, len(sites))), len(self.table.sites)), dtype=bool)
        own[:, self.held_out] = False
        if len(sites) > 1:
            shuffled = np.random.default_rng([self.seed, *(np.atleast_1d(self.out) + 1)]).permutation(sites)
            for fold, part in enumerate(np.array_split(shuffled, len(own))):
                own[fold, part] = False
        return own

    @cached_property
    def dropped(self) -> NDArray[np.bool_]:
        """(J,) True for the columns that screening leaves out, by the other sites' rows alone."""
        if (~self.held_out).sum() < 2:
            return np.zeros(self.x.shape[1], dtype=bool)
        return ~screened_columns(self.x, self.y, self.table, self.trained_on).keep.numpy()

    def shown(self, prediction: Numbers) -> Numbers:
        """Return predictions on the held-out rows as classes' probabilities, or in the target's unit."""
        scaling = self.target_scaling
        return prediction if scaling is None else prediction * scaling.spread + scaling.mean

    @cached_property
    def pooled(self) -> Numbers:
        """The pooled network's prediction."""
        return self.without(np.zeros(self.x.shape[1], dtype=bool))

    @cached_property
    def _without(self) -> dict[bytes, Numbers]:
        return {}

    def without(self, dropped: NDArray[np.bool_]) -> Numbers:
        """Return the prediction of the pooled network without some of the columns; trained once, however often it is asked."""
        key = dropped.tobytes()
        if key not in self._without:
            self._without[key] = self.network(NETWORKS["pooled network"], dropped if dropped.any() else None)
        return self._without[key]

    def network(self, recipe: "Recipe", dropped: NDArray[np.bool_] | None = None) -> Numbers:
        """Return what the chosen configuration's fold models predict of the held-out rows, averaged."""
        params, x = self.trained(recipe, dropped)
        z = outputs(params, x[torch.tensor(~self.trained_on)])
        mean = (z.softmax(-1) if self.table.classes is not None else z).mean(0)
        return self.shown(mean.double().numpy())

    def trained(self, recipe: "Recipe", dropped: NDArray[np.bool_] | None = None) -> tuple[Params, Tensor]:
        """Train a stack of configurations and inner folds; return the best one's fold models, and all rows as they saw them."""
        configurations = recipe.configurations[: self.settings]
        x = self.x if dropped is None else np.where(dropped, 0.0, self.x)
        sites = self.table.sites_of(x, self.y)
        # A held-out site must not stop anybody: for the loop the table ends where the training sites do.
        kept = np.flatnonzero(~self.held_out).tolist()
        some = torch.tensor(self.trained_on)
        inside = Sites(sites.x[some], sites.y[some], tuple(sites.sizes[e] for e in kept), sites.weights[some], sites.task)
        own = torch.tensor(np.repeat(self.inner[:, kept], len(configurations), 0))
        generator = torch.Generator().manual_seed(self.seed)
        found = fit(inside, list(configurations) * len(self.inner), own, self.training, generator, way=recipe.way)
        losses = found.losses.nan_to_num(torch.inf).view(len(self.inner), len(configurations)).mean(0)
        chosen = torch.arange(len(self.inner)) * len(configurations) + int(losses.argmin())
        return {name: values[chosen] for name, values in found.params.items()}, sites.x


def pooled_linear(fold: Fold) -> Numbers:
    """Logistic or ridge regression on all rows; the strength is chosen on held-out training sites."""
    return fold.shown(_said(linear_model(fold), fold, ~fold.trained_on))


def linear_model(fold: Fold) -> Any:  # noqa: ANN401  # scikit-learn's
    """Return the linear model, fitted on standardised rows."""
    kept, site = fold.trained_on, fold.table.site
    losses = np.zeros(len(STRENGTHS))
    for own in fold.inner:
        inside, outside = own[site] & kept, ~own[site] & kept
        if outside.any():
            losses += [_linear_loss(fold, strength, inside, outside) for strength in STRENGTHS]
    return _linear(fold, STRENGTHS[int(losses.argmin())] if losses.any() else 1.0, kept)


def _linear(fold: Fold, strength: float, rows: NDArray[np.bool_]) -> Any:  # noqa: ANN401  # scikit-learn's
    x = fold.x[rows]
    if fold.table.classes is None:
        return Ridge(alpha=strength * len(x)).fit(x, fold.y[rows, 0])
    return LogisticRegression(C=1 / (strength * len(x)), max_iter=200).fit(x, fold.y[rows].argmax(1))


def _linear_loss(fold: Fold, strength: float, inside: NDArray[np.bool_], outside: NDArray[np.bool_]) -> float:
    if fold.table.classes is not None and len(np.unique(fold.y[inside].argmax(1))) < 2:
        return 0.0
    prediction = _said(_linear(fold, strength, inside), fold, outside)
    if fold.table.classes is None:
        return float(np.mean((prediction[:, 0] - fold.y[outside, 0]) ** 2))
    return float(np.mean(-np.log(np.maximum((prediction * fold.y[outside]).sum(1), 1e-6))))


def _said(model: Any, fold: Fold, rows: NDArray[np.bool_]) -> Numbers:  # noqa: ANN401
    return probabilities(model, fold.x[rows], None if fold.table.classes is None else fold.y.shape[1])


def probabilities(model: Any, x: Numbers, classes: int | None) -> Numbers:  # noqa: ANN401  # an estimator of scikit-learn's
    """Return (n, K) of all classes, 0 for one that the model has not seen; or (n, 1) numbers."""
    if classes is None:
        return np.asarray(model.predict(x))[:, None]
    found = np.zeros((len(x), classes))
    found[:, model.classes_] = model.predict_proba(x)
    return found


def pooled_boosting(fold: Fold) -> Numbers:
    """Histogram gradient boosting on all rows."""
    kept = fold.trained_on
    model = boosted(fold.x[kept], fold.y[kept], fold.seed, fold.table.classes is not None)
    return fold.shown(_said(model, fold, ~kept))


def boosted(x: Numbers, y: Numbers, seed: int, classes: bool) -> Any:  # noqa: ANN401  # scikit-learn's
    """Return boosted trees, fitted on standardised rows: 60 trees of at most 15 leaves, scikit-learn's rate."""
    settings: dict[str, Any] = {"max_iter": 60, "max_leaf_nodes": 15, "early_stopping": False, "random_state": seed}
    if not classes:
        return HistGradientBoostingRegressor(**settings).fit(x, y[:, 0])
    return HistGradientBoostingClassifier(**settings).fit(x, y.argmax(1))


def screening(fold: Fold) -> Numbers:
    """The pooled network without the columns that the training sites disagree about (`mechlearn.penalties.screen`)."""
    return fold.without(fold.dropped)


Candidate = Callable[[Fold], Numbers]
"""From a fold to predictions of its held-out rows: (n, K) probabilities, or (n, 1) numbers."""


class Recipe(NamedTuple):
    """How a network is trained: what is searched, and what its members follow."""

    configurations: tuple[Configuration, ...]
    way: Way = masked_mean


NETWORKS: dict[str, Recipe] = {
    "pooled network": Recipe(AVERAGING),
    "AND-mask": Recipe(MASKED),
    "conflict rule": Recipe(tested(0.2), qualitative),
    "Cochran's Q": Recipe(tested(0.05), homogeneous),
    "IRM": Recipe(weighed(0.1, 1.0), penalised(irm)),
    "V-REx": Recipe(weighed(10.0, 1000.0), penalised(vrex)),
    "Fishr": Recipe(weighed(100.0, 1000.0), penalised(fishr)),
    "group DRO": Recipe(weighed(0.01, 0.1), group_dro),
}
"""One hidden layer of 32 units each, stopped early on held-out training sites: the mean of the sites' gradients; their
AND-mask, thresholds .8 and 1; Gail and Simon's rule, which averages unless sites are established to pull in opposite
directions, and Cochran's, unless they are established to differ; penalties; the worst site's loss."""


def network(name: str) -> Candidate:
    """Return one of `NETWORKS` as a candidate."""
    return functools.partial(Fold.network, recipe=NETWORKS[name])


CANDIDATES: dict[str, Candidate] = {
    "pooled linear": pooled_linear,
    "pooled boosting": pooled_boosting,
    "pooled network": lambda fold: fold.pooled,
    "screening": screening,
    "AND-mask": network("AND-mask"),
    "Cochran's Q": network("Cochran's Q"),
}
"""By the name that reports use, simple ones first."""

PEERS: dict[str, Candidate] = {name: network(name) for name in NETWORKS if name not in CANDIDATES}
"""What `compare` takes by name beside these: each further method asked is another chance to be fooled."""

SIMPLE = ("pooled linear", "pooled boosting", "screening")
"""What needs no agreement, and is preferred where it does as well."""
