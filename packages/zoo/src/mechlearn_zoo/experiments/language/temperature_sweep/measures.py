"""Generators' curves over temperatures in one seed's rows, and how they compare."""

import numpy as np

from claimlab import Rows
from mechlearn_zoo.methods.language.temperature import Curve, Point, dominance


def curve(rows: Rows, arm: str) -> Curve:
    """Return an arm's curve: NLL_oracle as quality, NLL_test as diversity."""
    some = rows.where(kind="point", arm=arm)
    return tuple(Point(*one) for one in zip(some["temperature"], some["oracle"], some["test"], strict=True))


def dominated(rows: Rows) -> float | None:
    """Return the share of the common range in which maximum likelihood has the better quality."""
    one, other = curve(rows, "mle"), curve(rows, "seqgan")
    found = dominance(one, other) if len(one) > 1 and len(other) > 1 else None
    return None if found is None else found.share


def ranks(values: list[float]) -> np.ndarray:
    """Return the ranks of numbers, none of them equal."""
    return np.argsort(np.argsort(values)).astype(float)


def monotone(rows: Rows) -> float | None:
    """Return the smaller of two rank correlations with T, of NLL_oracle and of -self-BLEU, least over arms."""
    found: list[float] = []
    for some in rows.where(kind="point").by("arm").values():
        order = ranks(some["temperature"])
        for key, sign in {"oracle": 1, "self_bleu": -1}.items():
            found.append(float(np.corrcoef(order, ranks([sign * one for one in some[key]]))[0, 1]))
    return min(found, default=None)
