"""How correlations are measured; medians over seeds."""

import numpy as np

from claimlab import EachSeed, Row, Rows, number

ENOUGH = 0.01
"""Share of the components that a correlation asks for; figure and claims leave out masks that keep fewer.

A mask that asks for full agreement keeps a handful of some 140,000. A correlation over so few is one of the few weights that
happened to be kept, and not of the gradient: its sign turns between five of them and a thousand.
"""


def telling(rows: Rows, method: str, layer: str = "") -> Rows:
    """Return a method's rows in which enough components are left, of all or of the layer "first_", to say something.

    Enough are `ENOUGH` of what averaging leaves of the same seed.

    Args:
        rows: of any seeds.
        method: `and-mask` or `xor-mask`.
        layer: "" or "first_".
    """
    averages = rows.where(method="and-mask", threshold=0.0)
    asked = {row["seed"]: ENOUGH * number(row, f"{layer}left") for row in averages}
    some = rows.where(method=method).where(lambda row: number(row, f"{layer}left") >= asked.get(row["seed"], float("inf")))
    return some.where(lambda row: all(row[key] is not None for key in (f"{layer}mechanism", f"{layer}shortcut")))


def strictest(rows: Rows, method: str, layer: str = "") -> Row | None:
    """Return one seed's row of the strictest mask that tells: the AND-mask's greatest threshold, the XOR-mask's least."""
    pick = max if method == "and-mask" else min
    return pick(telling(rows, method, layer), key=lambda row: number(row, "threshold"), default=None)


def _average(rows: Rows) -> Row | None:
    return next(iter(rows.where(method="and-mask", threshold=0.0)), None)


def _lead(row: Row | None) -> float | None:
    return number(row, "mechanism") - number(row, "shortcut") if row else None


def lead_of_average(rows: Rows) -> float | None:
    """Return by how much the correlation with the mechanism exceeds that with the shortcuts in one seed's average."""
    return _lead(_average(rows))


def lead_of_strictest(rows: Rows) -> float | None:
    """Return the same at the strictest AND-mask that tells."""
    return _lead(strictest(rows, "and-mask"))


def _less(end: Row | None, average: Row | None, key: str) -> float | None:
    return number(end, key) - number(average, key) if end and average else None


def change(method: str, signal: str, layer: str = "") -> EachSeed:
    """Return a measure: a correlation's change from averaging to the strictest mask that tells."""
    return EachSeed(lambda rows: _less(strictest(rows, method, layer), _average(rows), layer + signal), np.median)


def sharper(rows: Rows) -> float | None:
    """Return one seed's change of the mechanism's correlation less that of the shortcuts' at the strictest XOR-mask."""
    end, average = strictest(rows, "xor-mask"), _average(rows)
    mechanism, shortcut = (_less(end, average, signal) for signal in ("mechanism", "shortcut"))
    return mechanism - shortcut if mechanism is not None and shortcut is not None else None


def unmoved(rows: Rows) -> float | None:
    """Return one seed's change of the correlation with the shortcuts from averaging to PCGrad."""
    return _less(next(iter(rows.where(method="pcgrad")), None), _average(rows), "shortcut")
