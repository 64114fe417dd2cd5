"""What the claims of ILC across algorithms and classes measure, of a seed's rows; the table has medians over seeds."""

import numpy as np
from scipy.stats import rankdata  # pyright: ignore[reportMissingTypeStubs]

from claimlab import Rows, number

DRAWN = ("perceptron", "convolution")
"""Starts of which an untrained network has learnt nothing: a pre-trained one has learnt other digits."""


def ranks(rows: Rows) -> float | None:
    """Return Spearman's correlation of regularised loss and accuracy at a new site over trained cells.

    Cells that are level share their mean rank. Where all are, nothing is ranked, and the correlation counts as 0.
    """
    some = rows.where(lambda row: row["method"] != "untrained")
    if len(some) < 3:
        return None
    columns = [rankdata(some[key]) for key in ("regularised_walked", "accuracy")]
    return float(np.corrcoef(columns)[0, 1]) if all(np.ptp(column) > 0 for column in columns) else 0.0


def untrained(rows: Rows) -> float | None:
    """Return by how much the least regularised loss of a network as it was drawn exceeds the greatest of a trained one."""
    drawn = [number(row, "regularised_walked") for row in rows if row["method"] == "untrained" and row["start"] in DRAWN]
    trained = rows.where(lambda row: row["method"] != "untrained")["regularised_walked"]
    return min(drawn) - max(trained) if drawn and trained else None
