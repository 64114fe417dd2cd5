"""Are probabilities what they say they are, site by site? Of rows that the model had not seen.

Classes weigh what they are in training of any candidate, so that probabilities are compared with what happened as they are.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading_in import Numbers, Table
from mechlearn.tables.scores import slope_of

PARTS, FEW = 8, 20
"""Points of the curve; rows below which a slope is not said."""

CHOSEN = "the class chosen being right"


class Pairs(NamedTuple):
    """What was said, and what happened.

    Both are (n,): the probability of an event and 1 where it happened, or numbers; what was said is NaN where a row was not
    judged. The event is in words.
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

    A prediction (n, K) has probabilities, or numbers cut off at 0 and 1 in their place; NaN where a row was not judged.
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
    slope = slope_of(said, found, classes) if rows.sum() >= FEW else None
    return {"name": name, "rows": int(rows.sum()), "said": float(said.mean()), "found": float(found.mean()), "slope": slope}


def curve(pairs: Pairs) -> list[tuple[float, float]]:
    """Return (said, found), means of as many rows each, from least to most."""
    judged = np.isfinite(pairs.said)
    said, found = pairs.said[judged], pairs.found[judged]
    order = np.argsort(said, kind="stable")
    parts = [part for part in np.array_split(order, min(PARTS, max(1, len(order) // FEW))) if len(part)]
    return [(float(said[part].mean()), float(found[part].mean())) for part in parts]
