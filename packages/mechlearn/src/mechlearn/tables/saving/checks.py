"""What a model's folder may hold: anybody may have written it, so that its card and its arrays are checked before use."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.saving.models import Model, Stepping

LONGEST = 100_000
"""Letters of one text of a card, classes, columns and categories of one column, and steps ahead."""


def parsed_card(card: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a folder's card, as JSON has it, if every entry has the type that it should have."""
    _check_texts(card, name)
    for key in ("weights", *(["estimator"] if "estimator" in card else [])):
        _expect(isinstance(card.get(key), str), f"have a digest of {key}", card.get(key), name)
    if "states" in card:
        _expect(_are_names(card["states"]), "name its states, each once", card["states"], name)
        for key, least in (("steps", 1), ("skip", 0)):
            number: Any = card.get(key)
            _expect(_is_number(number) and least <= number <= LONGEST, f"have a number of {key}", number, name)
        return card
    for key in ("classes", "scores", "shares", "columns", "unused"):
        _expect(key in card, f"have `{key}`", "none", name)
    classes, shares = card["classes"], card["shares"]
    _expect(card["scores"] in ("probabilities", "numbers"), "say probabilities or numbers of `scores`", card["scores"], name)
    fine = classes is None or (_are_labels(classes) and len(classes) > 1)
    _expect(fine, "have two classes or more, each once", classes, name)
    some = shares is None or (classes is not None and _are_shares(shares) and len(shares) == len(classes))
    _expect(some, "have a share in [0, 1] for each class, 1 in all", shares, name)
    _expect(bool(_listed(card["columns"])), "have columns", card["columns"], name)
    for one in card["columns"]:
        fits = isinstance(one, dict) and set(one) == {"name", "categories", "missing"} and isinstance(one["name"], str)
        fits = fits and isinstance(one["missing"], bool) and (one["categories"] is None or _are_names(one["categories"]))
        _expect(fits, "say name, categories and missing of each column", one, name)
    _expect(_are_names([one["name"] for one in card["columns"]]), "name each column once", "one twice", name)
    _expect(not card["unused"] or _are_names(card["unused"]), "name unused columns", card["unused"], name)
    return card


def check_arrays(model: Model | Stepping, name: str) -> None:
    """Reject weights of a folder that are not finite numbers of the shapes that the card asks for."""
    arrays = dict(model.arrays)
    for key, values in arrays.items():
        finite = values.dtype.kind in "fiu" and bool(np.isfinite(values).all())
        _expect(finite, "be finite", f"others in {key!r}", name, "Weights")
        spread = "spread" not in key or bool((values > 0).all())
        _expect(spread, "have positive spreads", f"others in {key!r}", name, "Weights")
    for key, shape in _shapes(model, arrays).items():
        found = arrays.pop(key).shape if key in arrays else "none"
        _expect(found == shape, f"have {key!r} of shape {shape}", found, name, "Weights")
    _expect(not arrays, "have a name that the model knows", sorted(arrays)[:1], name, "Weights")


def _shapes(model: Model | Stepping, arrays: Mapping[str, NDArray[Any]]) -> dict[str, tuple[int, ...]]:
    """The shape of each array that a model should have."""
    inputs = len(model.names) if isinstance(model, Stepping) else len(model.encoding.names)
    shapes: dict[str, tuple[int, ...]] = {"mean": (inputs,), "spread": (inputs,)}
    if isinstance(model, Stepping):
        hidden = _first(arrays, "0.bias")
        return {**shapes, "0.weight": (hidden, inputs), "0.bias": (hidden,), "2.weight": (inputs, hidden), "2.bias": (inputs,)}
    outputs = 1 if model.classes is None else len(model.classes)
    if model.classes is None or model.scores == "numbers":
        wide = arrays["target mean"].shape if "target mean" in arrays else (1,)
        shapes |= dict.fromkeys(("target mean", "target spread"), wide if wide in ((), (1,), (outputs,)) else (outputs,))
    if model.estimator is not None:
        return shapes
    members, before = _first(arrays, "0.weight"), inputs
    for place in count(0, 2):
        last = place == 4 or f"{place + 2}.weight" not in arrays
        units = outputs if last else _first(arrays, f"{place}.bias", axis=1)
        shapes |= {f"{place}.weight": (members, units, before), f"{place}.bias": (members, units)}
        before = units
        if last:
            return shapes
    raise AssertionError  # count has no end


def _first(arrays: Mapping[str, NDArray[Any]], key: str, axis: int = 0) -> int:
    """The length of an axis, at least 1; 1 if there is none."""
    return max(1, arrays[key].shape[axis]) if key in arrays and arrays[key].ndim > axis else 1


def _check_texts(value: object, name: str) -> None:
    """Reject texts that a terminal would obey, and numbers that are none."""
    if isinstance(value, str):
        fine = len(value) <= LONGEST and not any(c < " " and c not in "\t\n\r" for c in value) and not _C1 & {*value}
        _expect(fine, f"have texts without control characters, of at most {LONGEST:,} letters", value, name)
    elif isinstance(value, dict):
        for key, one in value.items():
            _check_texts(key, name)
            _check_texts(one, name)
    elif isinstance(value, list):
        for one in value:
            _check_texts(one, name)
    elif isinstance(value, float | int):
        _expect(_is_number(value) or isinstance(value, bool), "have finite numbers", value, name)


_C1 = frozenset(map(chr, range(127, 160)))


def _expect(fine: bool, rule: str, found: object, name: str, what: str = "A model's card") -> None:
    if not fine:
        shown = found if isinstance(found, str) and found.isprintable() else repr(found)
        raise ValueError(f"{what} should {rule}. Found {shown[:80]} in {name}. Fit again.")


def _listed(value: object) -> Sequence[Any]:
    """A list that is not too long; nothing of anything else."""
    return value if isinstance(value, list) and len(value) <= LONGEST else ()


def _are_labels(value: object, kinds: Any = str | bool | int | float) -> bool:  # noqa: ANN401  # a union is no type
    some = _listed(value)
    return all(isinstance(one, kinds) for one in some) and len({*some}) == len(some) > 0


def _are_names(value: object) -> bool:
    return _are_labels(value, str)


def _are_shares(value: object) -> bool:
    some = _listed(value)
    return all(_is_number(one) and 0 <= one <= 1 for one in some) and abs(sum(some) - 1) < 1e-6


def _is_number(value: Any) -> bool:  # noqa: ANN401  # whatever JSON holds
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
