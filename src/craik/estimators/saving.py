"""A model to keep: weights as safetensors, everything else as a JSON card. No pickle is written or read.

A saved model is standardisation, then one or more linear models or networks of one hidden layer whose outputs are averaged:
what `craik fit` keeps of every candidate but boosting. Of trajectories it keeps one network, which is stepped.
"""
# scikit-learn and scipy have no stubs
# pyright: reportMissingTypeStubs=false

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from craik.estimators.candidates import NETWORKS, Fold, linear_model
from craik.estimators.tables import Column, Encoding, Numbers
from craik.nn.saving import safetensors, sha256, write_at_once

FORMAT = 1
"""Of the card; another one is refused."""

SAVED = ("pooled linear", "pooled network", "screening", "AND-mask", "conflict rule")
"""Candidates that can be kept."""


@dataclass(frozen=True, eq=False)
class Model:
    """What predicts.

    Args:
        encoding: from columns to numbers.
        classes: labels, or None for numbers.
        arrays: mean and spread of the inputs; `0.weight` (M, U, J), `0.bias`, and with a hidden layer `2.weight`, `2.bias`;
            mean and spread of a target.
        scores: "probabilities" where outputs are logits to be averaged as probabilities, else "numbers".
        facts: what the card says beside: verdict, method, data digest.
    """

    encoding: Encoding
    classes: tuple[Any, ...] | None
    arrays: Mapping[str, NDArray[np.float64]]
    scores: str
    facts: Mapping[str, Any]

    def outputs(self, table: Mapping[str, NDArray[Any]]) -> Numbers:
        """Return (n, K) probabilities or scores of classes, or (n, 1) numbers.

        Raises:
            ValueError: columns that are missing or of another kind.
        """
        a = self.arrays
        x = np.nan_to_num((self.encoding.encoded(table) - a["mean"]) / a["spread"], nan=0.0)
        z = np.einsum("nj,muj->mnu", x, a["0.weight"]) + a["0.bias"][:, None]
        if "2.weight" in a:
            z = np.maximum(z, 0) @ a["2.weight"].transpose(0, 2, 1) + a["2.bias"][:, None]
        if self.scores == "probabilities":
            return softmax(z, axis=-1).mean(0)
        return z.mean(0) * a["target spread"] + a["target mean"]

    def predicted(self, table: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Return (n,) labels or numbers."""
        found = self.outputs(table)
        return found[:, 0] if self.classes is None else np.array(self.classes)[found.argmax(1)]


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
        """Return (n, steps, D): where the model's steps lead from the states that a table's rows are.

        Raises:
            ValueError: columns that are missing, or that are no finite numbers.
        """
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
    """Fit a candidate on all sites, to keep.

    Args:
        method: one of `SAVED`.
        fold: with no site held out.
        encoding: of the table's columns.
        facts: for the card.
    """
    mean_spread = fold_scaling(fold)
    if method == "pooled linear":
        arrays = _linear_arrays(linear_model(fold), fold)
    else:
        dropped = fold.dropped if method == "screening" else None
        params, _ = fold.trained(NETWORKS["pooled network" if method == "screening" else method], dropped)
        arrays = {name: values.double().numpy() for name, values in params.items()}
        if dropped is not None:
            arrays["0.weight"] = np.where(dropped, 0.0, arrays["0.weight"])
    scores = "numbers" if fold.table.classes is None else "probabilities"
    return Model(encoding, fold.table.classes, {**mean_spread, **arrays}, scores, facts)


def fold_scaling(fold: Fold) -> dict[str, Numbers]:
    """Return the standardisation of inputs and target."""
    from craik.estimators.tables import Scaling  # noqa: PLC0415

    inputs, target = Scaling.of(fold.table.x[fold.trained_on]), fold.target_scaling
    found = {"mean": inputs.mean, "spread": inputs.spread}
    return found if target is None else {**found, "target mean": target.mean, "target spread": target.spread}


def _linear_arrays(model: Any, fold: Fold) -> dict[str, Numbers]:  # noqa: ANN401  # scikit-learn's
    weight, bias = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if fold.table.classes is not None and len(weight) == 1:  # of two classes scikit-learn keeps the second's logit
        weight, bias = np.concatenate([np.zeros_like(weight), weight]), np.concatenate([np.zeros_like(bias), bias])
    return {"0.weight": weight[None], "0.bias": bias[None]}


def save(model: Model | Stepping, folder: Path) -> Path:
    """Write a model's weights and card; return the folder.

    Raises:
        ImportError: safetensors is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = safetensors("numpy").save({name: np.ascontiguousarray(values) for name, values in model.arrays.items()})
    card = {
        "format": FORMAT,
        **_described(model),
        "weights": sha256(content),
        "versions": {name: _version(name) for name in ("craik", "torch", "scikit-learn", "numpy")},
        **model.facts,
    }
    text = json.dumps(card, indent=2, ensure_ascii=False) + "\n"
    write_at_once(folder / "weights.safetensors", content)
    write_at_once(folder / "card.json", text.encode())
    return folder


def _described(model: Model | Stepping) -> dict[str, Any]:
    if isinstance(model, Stepping):
        return {"states": list(model.names)}
    return {
        "classes": None if model.classes is None else list(model.classes),
        "scores": model.scores,
        "columns": [asdict(column) for column in model.encoding.columns],
    }


def load(folder: Path) -> Model | Stepping:
    """Read a model that `save` wrote.

    Raises:
        FileNotFoundError: no card there.
        ValueError: a card of another format, or weights that are not those of the card.
        ImportError: safetensors is not installed.
    """
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    if card.get("format") != FORMAT:
        raise ValueError(f"A model should be of format {FORMAT}. Found {card.get('format')!r} in {folder.name}. Fit it again.")
    content = (folder / "weights.safetensors").read_bytes()
    if sha256(content) != card["weights"]:
        raise ValueError(
            f"Weights should be those that the card names. Found others in {folder.name}. The file was changed: fit again."
        )
    own = {"format", "classes", "scores", "columns", "weights", "versions", "states"}
    facts = {name: value for name, value in card.items() if name not in own}
    arrays = safetensors("numpy").load(content)
    if "states" in card:
        return Stepping(tuple(card["states"]), arrays, facts)
    columns = tuple(
        Column(one["name"], None if one["categories"] is None else tuple(one["categories"]), one["missing"])
        for one in card["columns"]
    )
    classes = None if card["classes"] is None else tuple(card["classes"])
    return Model(Encoding(columns), classes, arrays, card["scores"], facts)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
