"""Are probabilities what they say they are, site by site? Of rows that the model had not seen.

Classes weigh what they are in training of any candidate, so that probabilities are compared with what happened as they are.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in import Numbers, Table

PARTS, FEW = 8, 20
"""Points of the curve; rows below which a slope is not said."""

CHOSEN = "the class chosen being right"


class Pairs(NamedTuple):
    """What was said, and what happened.

    Attributes:
        said: (n,) probability of the event, or the predicted number; NaN where a row was not judged.
        found: (n,) 1 where the event happened, or the number.
        event: of what, in words.
    """

    said: Numbers
    found: Numbers
    event: str


def calibrated(table: Table, prediction: Numbers, method: str) -> dict[str, Any]:
    """Return a table by site and a curve over all judged rows, as plain values."""
    said = by_site(table, pairs_of(table, prediction))
    return {"calibration": {"method": method, "rows_only": False, "numbers": False, **said}}


def by_site(table: Table, pairs: Pairs) -> dict[str, Any]:
    """Return what was said and found at each site of a table, and the curve."""
    judged = np.isfinite(pairs.said)
    sites = [
        _site(name, pairs, judged & (table.site == e), table.classes is not None)
        for e, name in enumerate(table.sites)
        if bool((judged & (table.site == e)).any())
    ]
    return {"event": pairs.event, "sites": sites, "curve": curve(pairs)}


def pairs_of(table: Table, prediction: Numbers) -> Pairs:
    """Return what was said of each row and what happened: of two classes the second, of more the one chosen.

    Args:
        table: with the target.
        prediction: (n, K) probabilities, or numbers cut off at 0 and 1 in their place; NaN where a row was not judged.
    """
    if table.classes is None:
        return Pairs(prediction[:, 0], table.y[:, 0], "the target")
    said = np.clip(prediction, 0, 1)
    said = said / np.maximum(said.sum(1, keepdims=True), 1e-300)
    if len(table.classes) == 2:
        return Pairs(said[:, 1], table.y[:, 1], str(table.classes[1]))
    chosen = np.nan_to_num(said).argmax(1)
    rows = np.arange(len(chosen))
    return Pairs(said[rows, chosen], table.y[rows, chosen], CHOSEN)


def _site(name: str, pairs: Pairs, rows: NDArray[np.bool_], classes: bool) -> dict[str, Any]:
    said, found = pairs.said[rows], pairs.found[rows]
    slope = _slope(said, found, classes) if rows.sum() >= FEW else None
    return {"name": name, "rows": int(rows.sum()), "said": float(said.mean()), "found": float(found.mean()), "slope": slope}


def _slope(said: Numbers, found: Numbers, classes: bool) -> float | None:
    """Of the outcome on what was said: 1 where it can be believed, below 1 where the model is too sure.

    Of probabilities it is logistic on their logits (Cox 1958), by Newton's method on standardised ones, so that a model that
    says nearly the same of all rows settles, too. None where there is none: what was said is the same in all rows, what
    happened is, or what was said parts the one from the other without an error, so that any slope is too small.
    """
    if not classes:
        centred = said - said.mean()
        return float(centred @ found / (centred @ centred)) if (centred @ centred) > 0 else None
    if len(np.unique(found)) < 2:
        return None
    inside = np.clip(said, 1e-6, 1 - 1e-6)
    logits = np.log(inside / (1 - inside))
    spread = float(logits.std())
    yes, no = logits[found > 0.5], logits[found <= 0.5]
    if spread <= 1e-12 or yes.min() >= no.max() or yes.max() <= no.min():
        return None
    x = np.column_stack([np.ones(len(said)), (logits - logits.mean()) / spread])
    weights = np.zeros(2)
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        curvature = x.T @ (x * (p * (1 - p))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, x.T @ (found - p))
        weights = weights + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            return float(weights[1]) / spread
    return None


def curve(pairs: Pairs) -> list[tuple[float, float]]:
    """Return (said, found), means of as many rows each, from least to most."""
    judged = np.isfinite(pairs.said)
    said, found = pairs.said[judged], pairs.found[judged]
    order = np.argsort(said, kind="stable")
    parts = [part for part in np.array_split(order, min(PARTS, max(1, len(order) // FEW))) if len(part)]
    return [(float(said[part].mean()), float(found[part].mean())) for part in parts]
