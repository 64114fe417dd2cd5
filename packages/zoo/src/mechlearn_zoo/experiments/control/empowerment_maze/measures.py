"""Numbers of one seed's empowerment, in bits."""

import numpy as np

from claimlab import Rows


def largest_error(rows: Rows) -> float | None:
    """Return the largest error of the formula for open grids."""
    return max(rows.where(kind="formula")["error"], default=None)


def centrality(rows: Rows) -> float | None:
    """Return Spearman's rho with closeness centrality over cells, at the longest horizon."""
    some = rows.where(kind="centrality")
    return some["rho"][-1] if some else None


def steepest_rise(rows: Rows) -> float | None:
    """Return the largest change of mean empowerment from one level of noise to the next."""
    return max(np.diff(rows.where(kind="sensor")["bits"]), default=None)
