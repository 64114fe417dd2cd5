"""What the claims of descent on two loss surfaces measure, of a seed's rows; the table has medians over seeds."""

import numpy as np

from claimlab import Rows


def either_alone(rows: Rows) -> float | None:
    """Return the larger share of starts, of A alone and B alone, that ends in the inconsistent minimum.

    A valley's floor passes through the minimum, so that a share of starts ends within `run.CLOSE` of it by chance.
    """
    return max(_alone(rows)["patchwork"], default=None)


def each_alone(rows: Rows) -> float | None:
    """Return the lesser share of starts, of A alone and B alone, that ends in the consistent minimum."""
    return min(_alone(rows)["consistent"], default=None)


def _alone(rows: Rows) -> Rows:
    return rows.where(lambda row: row.get("method") in ("A alone", "B alone"), kind="outcome")


def more_consistent(rows: Rows) -> float | None:
    """Return the share of starts that end in the consistent minimum, the lesser of both rules', less the mean's."""
    rules, mean = ("geometric mean", "AND-mask"), rows.where(kind="outcome", method="mean")["consistent"]
    found = [share for rule in rules for share in rows.where(kind="outcome", method=rule)["consistent"]]
    return min(found) - mean[0] if len(found) == len(rules) and mean else None


def fade(rows: Rows) -> float | None:
    """Return the largest change of the ratio of the gradients at a step of growing inconsistency."""
    fading = sorted(zip(*(rows.where(kind="fading")[key] for key in ("k", "ratio")), strict=True))
    return max(np.diff([ratio for _, ratio in fading]).tolist(), default=None)
