"""A model as a folder: weights as safetensors, everything else as a JSON card, trees as skops writes them. No pickle.

skops gives an object's parts and the names of their types. A file with any type beyond `TYPES` is refused before anything of
it is made, and trees are looked at before they are walked, which scikit-learn does in C without looking.
"""

import importlib
import importlib.util
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mechlearn.nn.saving import read_at_most, safetensors, sha256, write_at_once
from mechlearn.tables.reading_in import Column, Encoding
from mechlearn.tables.saving.checks import check_arrays, parsed_card
from mechlearn.tables.saving.models import Model, Stepping

FORMAT = 3
"""Of the card; another one is refused. 1 had no estimators of scikit-learn's, in 2 classes weighed the same."""

TYPES = ("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",)
"""What may be in a file of skops beside the types that skops itself trusts."""


def save(model: Model | Stepping, folder: Path) -> Path:
    """Write a model's weights and card; return the folder.

    Raises:
        TypeError: anything else, such as an estimator.
        ImportError: safetensors is not installed, or skops where it is needed.
    """
    check_kept(model)
    folder.mkdir(parents=True, exist_ok=True)
    content = safetensors("numpy").save({name: np.ascontiguousarray(values) for name, values in model.arrays.items()})
    card = {
        "format": FORMAT,
        **_described(model),
        "weights": sha256(content),
        "versions": {name: _version(name) for name in ("mechlearn", "torch", "scikit-learn", "numpy")},
        **model.facts,
    }
    if isinstance(model, Model) and model.estimator is not None:
        trees = skops().dumps(model.estimator)
        card["estimator"] = sha256(trees)
        write_at_once(folder / "estimator.skops", trees)
    text = json.dumps(sealed(card), indent=2, ensure_ascii=False) + "\n"
    write_at_once(folder / "weights.safetensors", content)
    write_at_once(folder / "card.json", text.encode())
    return folder


def check_kept(model: object) -> None:
    """Reject what cannot be kept as a folder."""
    if not isinstance(model, Model | Stepping):
        raise TypeError(
            f"What `mechlearn fit` makes can be saved: a Model or a Stepping. Found {type(model).__name__}. Keep an estimator "
            "as scikit-learn's are kept; of a network of yours keep the state_dict() of each of networks_."
        )


def sealed(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return a card with its own digest, of everything else on it."""
    rest = {name: value for name, value in card.items() if name != "card"}
    return {**rest, "card": sha256(json.dumps(rest, sort_keys=True).encode())}


def _described(model: Model | Stepping) -> dict[str, Any]:
    if isinstance(model, Stepping):
        return {"states": list(model.names)}
    return {
        "classes": None if model.classes is None else list(model.classes),
        "scores": model.scores,
        "shares": None if model.shares is None else list(model.shares),
        "columns": [asdict(column) for column in model.encoding.columns],
        "unused": list(model.unused),
    }


def load(folder: Path) -> Model | Stepping:
    """Read a model that `save` wrote.

    Raises:
        FileNotFoundError: no card there.
        ValueError: a card of another format, weights that are not those of the card, or trees of types or with branches that
            none of ours has; weights that are not finite, or not of the card's shapes.
        ImportError: safetensors is not installed, or skops where it is needed.
    """
    card = _card(folder / "card.json")
    if card.get("format") != FORMAT:
        raise ValueError(f"A model should be of format {FORMAT}. Found {card.get('format')!r} in {folder.name}. Fit it again.")
    if sealed(card)["card"] != card.get("card"):
        raise ValueError(f"A card should be as it was written. Found {folder.name}'s changed. Fit again.")
    card = parsed_card(card, folder.name)
    model = _made(folder, card, _weights(folder, card))
    check_arrays(model, folder.name)
    return model


def _weights(folder: Path, card: Mapping[str, Any]) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    content = _as_named(folder / "weights.safetensors", card["weights"])
    try:
        return safetensors("numpy").load(content)
    except ImportError:
        raise
    except Exception as error:  # safetensors has an error of its own, which is no ValueError
        raise ValueError(f"Weights should be safetensors'. Found {error} in {folder.name}. Fit again.") from None


def _made(folder: Path, card: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Model | Stepping:
    own = {"format", "classes", "scores", "shares", "columns", "unused"}
    own |= {"weights", "versions", "states", "estimator", "card"}
    facts = {name: value for name, value in card.items() if name not in own}
    if "states" in card:
        return Stepping(tuple(card["states"]), arrays, facts)
    columns = tuple(
        Column(one["name"], None if one["categories"] is None else tuple(one["categories"]), one["missing"])
        for one in card["columns"]
    )
    classes = None if card["classes"] is None else tuple(card["classes"])
    estimator = None
    if "estimator" in card:
        wide = sum(len(one.names) for one in columns)
        estimator = _estimator(_as_named(folder / "estimator.skops", card["estimator"]), wide, folder.name)
    shares = None if card["shares"] is None else tuple(card["shares"])
    return Model(Encoding(columns), classes, arrays, card["scores"], facts, estimator, shares, tuple(card["unused"]))


def _card(path: Path) -> Mapping[str, Any]:
    try:
        card = json.loads(read_at_most(path, 2**24))
    except RecursionError:
        raise ValueError(f"A card should be flat. Found JSON nested too deeply in {path.parent.name}. Fit again.") from None
    except ValueError as error:
        raise ValueError(
            f"A card should be JSON. Found {error} in {path.parent.name}. The file was changed: fit again."
        ) from None
    if not isinstance(card, dict):
        raise ValueError(f"A card should be a JSON object. Found {type(card).__name__} in {path.parent.name}. Fit again.")
    return card


def _as_named(path: Path, wanted: str) -> bytes:
    content = read_at_most(path, 2**31)
    if sha256(content) != wanted:
        raise ValueError(
            f"Weights should be those that the card names. Found others in {path.parent.name}. The file was changed: fit again."
        )
    return content


def skops() -> Any:  # noqa: ANN401  # a module of an optional package
    """Return skops.io."""
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:
        raise ImportError(
            "Keeping boosted trees needs skops, which is not installed; pip install 'mechlearn[tables,integrations]'."
        ) from error


def can_keep(method: str) -> bool:
    """Return whether a candidate can be kept here: trees need skops."""
    return method != "pooled boosting" or importlib.util.find_spec("skops") is not None


def _estimator(content: bytes, columns: int, name: str) -> Any:  # noqa: ANN401  # scikit-learn's
    io = skops()
    try:
        foreign = sorted(set(io.get_untrusted_types(data=content)) - {*TYPES})
        if foreign:
            raise ValueError(
                f"A kept estimator should be made of boosted trees. Found {foreign[0]} in {name}. Such a file is not opened."
            )
        model = io.loads(content, trusted=list(TYPES))
    except (KeyError, TypeError, AttributeError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"A kept estimator should be skops'. Found {error} in {name}. Fit again.") from None
    if type(model).__name__ not in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
        raise ValueError(f"A kept estimator should be boosted trees. Found {type(model).__name__} in {name}. Fit again.")
    for tree in (tree for stage in model._predictors for tree in stage):
        _check_tree(tree.nodes, columns, name)
    return model


def _check_tree(nodes: Any, columns: int, name: str) -> None:  # noqa: ANN401  # a record array
    """Reject branches that lead nowhere or back, columns that there are none of, and categories, which none of ours has."""
    inner = nodes[nodes["is_leaf"] == 0]
    own = np.flatnonzero(nodes["is_leaf"] == 0)
    forward = all(((inner[side] > own) & (inner[side] < len(nodes))).all() for side in ("left", "right"))
    if not (len(nodes) and forward and (inner["feature_idx"] < columns).all() and not inner["is_categorical"].any()):
        raise ValueError(f"A tree's branches should lead down, by columns that there are. Found others in {name}. Fit again.")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
