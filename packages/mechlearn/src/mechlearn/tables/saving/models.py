"""A model to keep, and what it says of a table.

It is standardisation, then one or more linear models or networks whose outputs are averaged, or an estimator of scikit-learn's.
Of trajectories it is one network, which is stepped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from mechlearn.tables.candidates import NETWORKS, Fold, boosted, linear_model, probabilities
from mechlearn.tables.reading_in import Encoding, Numbers, Scaling, Table, as_numbers

FAR = 20.0
"""Training spreads from the training mean beyond which a number is perhaps in another unit, or a code."""


@dataclass(frozen=True, eq=False)
class Model:
    """What predicts.

    Args:
        encoding: from columns to numbers.
        classes: labels, or None for numbers.
        arrays: mean and spread of the inputs; `0.weight` (M, U, J), `0.bias`, and with hidden layers `2.weight`, `2.bias` and
            so on; mean and spread of a target.
        scores: "probabilities" where outputs are logits to be averaged as probabilities, else "numbers".
        facts: what the card says beside: verdict, method, data digest.
        estimator: of scikit-learn, in the place of weights.
        shares: of the classes in training; None of numbers.
        unused: columns of the table that have no say; they are not of the encoding, and no table needs them.
    """

    encoding: Encoding
    classes: tuple[Any, ...] | None
    arrays: Mapping[str, NDArray[np.float64]]
    scores: str
    facts: Mapping[str, Any]
    estimator: Any = None
    shares: tuple[float, ...] | None = None
    unused: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """What a class's number is: "probability" or "score"."""
        return "probability" if self.scores == "probabilities" else "score"

    def outputs(self, table: Mapping[str, NDArray[Any]]) -> Numbers:
        """Return (n, K) probabilities or scores of classes, or (n, 1) numbers."""
        a = self.arrays
        x = np.nan_to_num((self.encoding.encoded(table) - a["mean"]) / a["spread"], nan=0.0)
        if self.estimator is not None:
            z = probabilities(self.estimator, x, None if self.classes is None else len(self.classes))
            return z if self.classes is not None else z * a["target spread"] + a["target mean"]
        z = np.einsum("nj,muj->mnu", x, a["0.weight"]) + a["0.bias"][:, None]
        for place in (2, 4):
            if f"{place}.weight" in a:
                z = np.maximum(z, 0) @ a[f"{place}.weight"].transpose(0, 2, 1) + a[f"{place}.bias"][:, None]
        if self.scores == "probabilities":
            return softmax(z, axis=-1).mean(0)
        return z.mean(0) * a["target spread"] + a["target mean"]

    def far(self, table: Mapping[str, NDArray[Any]]) -> dict[str, int]:
        """Return in how many rows a column of numbers is more than `FAR` training spreads from the training mean, where it is.

        0 and 1 are not counted: they are far from the mean of a column that is nearly always the other.
        """
        places = np.cumsum([0, *(len(column.names) for column in self.encoding.columns)])
        found: dict[str, int] = {}
        for column, place in zip(self.encoding.columns, places.tolist(), strict=False):
            if column.categories is None:
                numbers = as_numbers(table[column.name])
                distance = np.abs(numbers - self.arrays["mean"][place]) / self.arrays["spread"][place]
                count = int(((distance > FAR) & (numbers != 0) & (numbers != 1)).sum())
                found |= {column.name: count} if count else {}
        return found

    def predicted(self, table: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Return (n,) labels or numbers."""
        found = self.outputs(table)
        return found[:, 0] if self.classes is None else np.array(self.classes)[self.places(found)]

    def places(self, outputs: Numbers) -> NDArray[np.int64]:
        """Return (n,) of each row the class whose probability is highest for its share in training: cut at the base rate."""
        return (outputs / np.maximum(1.0 if self.shares is None else np.array(self.shares), 1e-300)).argmax(1)


@dataclass(frozen=True, eq=False)
class Stepping:
    """What steps from a state to a coming one.

    Args:
        names: of the features.
        arrays: mean and spread of a state; `0.weight` (U, D), `0.bias`, `2.weight`, `2.bias` of a standardised one's change.
        facts: what the card says beside: verdict, method, `skip`, the frames that a step skips, and `steps`, how many were
            judged.
    """

    names: tuple[str, ...]
    arrays: Mapping[str, NDArray[np.float64]]
    facts: Mapping[str, Any]

    def states(self, table: Mapping[str, NDArray[Any]], steps: int) -> Numbers:
        """Return (n, steps, D): where the model's steps lead from the states that a table's rows are."""
        missing = [name for name in self.names if name not in table]
        if missing:
            raise ValueError(f"A table of states should have the columns trained on. Found no {missing[0]!r}. Add it.")
        a, columns = self.arrays, [np.asarray(table[name]) for name in self.names]
        for name, values in zip(self.names, columns, strict=True):
            if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
                raise ValueError(f"States should be finite numbers. Found others in column {name!r}. Fill them first.")
        z = (np.stack(columns, 1).astype(np.float64) - a["mean"]) / a["spread"]
        found: list[Numbers] = []
        for _ in range(steps):
            z = z + np.maximum(z @ a["0.weight"].T + a["0.bias"], 0) @ a["2.weight"].T + a["2.bias"]
            found.append(z * a["spread"] + a["mean"])
        return np.stack(found, 1)


def model_of(method: str, fold: Fold, encoding: Encoding, facts: Mapping[str, Any]) -> Model:
    """Fit one of `CANDIDATES` on a fold with no site held out, to keep; the facts are the card's."""
    estimator = None
    if method == "pooled boosting":
        arrays, estimator = {}, boosted(fold.x, fold.y, fold.seed, fold.table.classes is not None)
    elif method == "pooled linear":
        arrays = _linear_arrays(linear_model(fold), fold)
    else:
        dropped = fold.dropped if method == "screening" else None
        params, _ = fold.trained(NETWORKS["pooled network" if method == "screening" else method], dropped)
        arrays = {name: values.double().numpy() for name, values in params.items()}
        if dropped is not None:
            arrays["0.weight"] = np.where(dropped, 0.0, arrays["0.weight"])
    scores = "numbers" if fold.table.classes is None else "probabilities"
    inputs, target = Scaling.of_inputs(fold.table.x[fold.trained_on]), fold.target_scaling
    scales = {} if target is None else {"target mean": target.mean, "target spread": target.spread}
    encoding, arrays, unused = _pruned(encoding, {"mean": inputs.mean, "spread": inputs.spread, **scales, **arrays})
    return Model(encoding, fold.table.classes, arrays, scores, facts, estimator, shares_of(fold.table), unused)


def shares_of(table: Table) -> tuple[float, ...] | None:
    """Return what share of the rows each class has; None of numbers."""
    return None if table.classes is None else tuple(table.y.mean(0).tolist())


def _pruned(encoding: Encoding, arrays: Mapping[str, Numbers]) -> tuple[Encoding, Mapping[str, Numbers], tuple[str, ...]]:
    """Leave out columns whose weights are all 0, such as screened ones; trees keep all, and so does what has no other."""
    if "0.weight" not in arrays:
        return encoding, arrays, ()
    widths = [len(column.names) for column in encoding.columns]
    weighed = (arrays["0.weight"] != 0).any((0, 1))
    used = [bool(weighed[start:stop].any()) for start, stop in pairwise(np.cumsum([0, *widths]))]
    if all(used) or not any(used):
        return encoding, arrays, ()
    rows = np.repeat(used, widths)
    kept = tuple(column for column, one in zip(encoding.columns, used, strict=True) if one)
    unused = tuple(column.name for column, one in zip(encoding.columns, used, strict=True) if not one)
    narrow = {name: np.ascontiguousarray(arrays[name][..., rows]) for name in ("mean", "spread", "0.weight")}
    return Encoding(kept), {**arrays, **narrow}, unused


def _linear_arrays(model: Any, fold: Fold) -> dict[str, Numbers]:  # noqa: ANN401  # scikit-learn's
    weight, bias = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if fold.table.classes is not None and len(weight) == 1:  # of two classes scikit-learn keeps the second's logit
        weight, bias = np.concatenate([np.zeros_like(weight), weight]), np.concatenate([np.zeros_like(bias), bias])
    return {"0.weight": weight[None], "0.bias": bias[None]}
