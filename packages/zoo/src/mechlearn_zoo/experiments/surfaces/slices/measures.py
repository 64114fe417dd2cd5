"""What the claims of slices measure, of a seed's rows; the table has medians over seeds, and means of Kendall's tau."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.stats import kendalltau  # pyright: ignore[reportMissingTypeStubs]

from claimlab import Rows, number

CONVEX = 0.5
"""Below this share of the plane a surface counts as convex: over most of it curvature is upward in all but small parts."""


def turned(rows: Rows) -> float | None:
    """Return log(small batch's raw width / large batch's) with weight decay, counted along its sign without.

    It is below 0 where weight decay turns the comparison round, and not where it only brings the two closer.
    """
    widths = {(row["batch"], number(row, "decay")): number(row, "width") for row in rows.where(kind="width", normalise="none")}
    if not widths:
        return None
    small, large = sorted({int(str(batch)) for batch, _ in widths})
    without, within = (
        float(np.log(widths[small, decay] / widths[large, decay])) for decay in sorted({key[1] for key in widths})
    )
    return within * float(np.sign(without))


def rank(normalise: str) -> Callable[[Rows], float | None]:
    """Return what measures Kendall's tau between sharpness (1 / width) and test error over a seed's four networks."""

    def tau(rows: Rows) -> float | None:
        errors = {(row["batch"], row["decay"]): number(row, "test_error") for row in rows.where(kind="network")}
        some = rows.where(kind="width", normalise=normalise)
        widths = {(row["batch"], row["decay"]): number(row, "width") for row in some}
        if not errors or not widths:
            return None
        found = float(cast(Any, kendalltau([-widths[key] for key in errors], list(errors.values()))).statistic)
        return 0.0 if np.isnan(found) else found

    return tau


def convex_with(rows: Rows) -> float | None:
    """Return the lesser of two margins by which the share of the plane with a small least curvature is less with shortcuts.

    Than without them, and than `CONVEX`.
    """
    without, within = (rows.where(kind="convexity", shortcuts=shortcuts)["share"] for shortcuts in (False, True))
    return min(without[0], CONVEX) - within[0] if without and within else None


def two_directions(rows: Rows) -> float | None:
    """Return the share of a path's variance in two directions, mean over a seed's networks."""
    return _share(rows, "path")


def beyond_a_walk(rows: Rows) -> float | None:
    """Return the same less a random walk's."""
    path, walk = (_share(rows, name) for name in ("path", "walk"))
    return None if path is None or walk is None else path - walk


def _share(rows: Rows, name: str) -> float | None:
    some = rows.where(kind="path")
    return float(np.mean(np.add(some[f"{name}1"], some[f"{name}2"]))) if some else None
